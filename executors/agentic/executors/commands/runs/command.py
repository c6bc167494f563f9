"""``agentic runs``: lists, shows, steers and prunes durable runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from agentic.core.cli import print_json, print_rows
from agentic.core.graph import RunStatus
from agentic.core.graph.errors import RunEndedError
from agentic.core.types import RunId
from agentic.executors.commands.runs.steering import Desk, opened_desk, say
from agentic.executors.commands.runs.views import minute
from agentic.executors.commands.runs.watching import Every, Once, watch_run
from agentic.executors.commands.shared.options import AsJson, InProject
from agentic.executors.commands.shared.statuses import STATUS_STYLES

runs = typer.Typer(help="Manage runs (submitted workflows and executions).", no_args_is_help=True)

COLUMNS = ("run", "of", "state", "step", "created", "updated")

Run = Annotated[str, typer.Argument(metavar="RUN", help="Run id or unique prefix.")]
Reason = Annotated[str, typer.Option(help="Reason, for the record.")]


@runs.command("list")
def list_them(
    *,
    status: Annotated[RunStatus | None, typer.Option(help="Filter by status.")] = None,
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help="Filter by workflow.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show the latest N.")] = 20,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Last id of the previous page.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the runs of a project, newest first, without child runs.

    Shows which runs are stuck: no worker has their code, or no worker serves
    their queue.
    """
    from agentic.executors.commands.runs.views import goes_on, run_row
    from agentic.mappers import list_agents
    from agentic.mappers.runs.reading import LedgerReader

    with opened_desk(project) as desk, desk.database.reading() as session:
        reader = LedgerReader(session, desk.project_id)
        last = None if after is None else reader.run(after)
        found = reader.runs(status=status, workflow=workflow, limit=limit, after=last)
        agents = {each.id: each.agent_name for each in list_agents(session, desk.project_id)}
        rows = [run_row(run, agents, reader.backlog(run) if goes_on(run) else None) for run in found]
    shown = rows if as_json else list(map(_for_people, rows))
    styles = [STATUS_STYLES.get(str(row["status"])) for row in rows]
    print_rows(f"Runs of {desk.project}", COLUMNS, shown, as_json=as_json, styles={"state": styles})


def _for_people(row: Mapping[str, object]) -> dict[str, object]:
    """Return a run for a table of 80 columns; times are in UTC.

    If a run was created and updated on the same day, the day appears once.
    """
    created, updated = minute(row["created_at"]), minute(row["updated_at"])
    day = created.partition(" ")[0]
    return {
        "run": row["short_id"],
        "of": row["short_workflow"],
        "state": row["state"],
        "step": row["superstep"],
        "created": created,
        "updated": updated.removeprefix(f"{day} ") if day else updated,
    }


@runs.command()
def show(run: Run, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show the state of a run: current work, open requests and latest events."""
    with opened_desk(project) as desk:
        watch_run(desk, desk.find(run).run_id, once=True, as_json=as_json)


@runs.command()
def watch(
    run: Run, *, once: Once = False, every: Every = 0.5, project: InProject = None, as_json: AsJson = False
) -> None:
    """Show the progress of a run until it ends; exit code 1 unless it completes."""
    with opened_desk(project) as desk:
        watch_run(desk, desk.find(run).run_id, once=once, every_s=every, as_json=as_json)


@runs.command()
def cancel(run: Run, *, reason: Reason = "cancelled by hand", project: InProject = None) -> None:
    """Cancel a run; running handlers are notified within seconds."""
    with opened_desk(project) as desk:
        run_id = desk.find(run).run_id
        say(f"run {run_id} is {cancel_run(desk, run_id, reason)}")


@runs.command()
def pause(run: Run, *, project: InProject = None) -> None:
    """Pause a run: no new activations until it is resumed. Running ones finish."""
    run_id = _pause(run, project, is_paused=True)
    say(f"run {run_id} is paused; continue with `agentic runs resume {run_id}`")


@runs.command()
def resume(run: Run, *, project: InProject = None) -> None:
    """Resume a paused run."""
    say(f"run {_pause(run, project, is_paused=False)} is resumed")


@runs.command()
def retry(run: Run, *, project: InProject = None) -> None:
    """Continue a failed or cancelled run, or rerun activations held for review after a crash."""
    from agentic.executors.durable.runs.control import retry as run_again

    with opened_desk(project) as desk:
        found = desk.find(run)
        count = desk.decide(lambda service: run_again(service.host, found.run_id))
    what = (
        f"{count} activations of run {found.run_id} run again" if count else f"run {found.run_id} continues"
    )
    say(f"{what}; see `agentic runs watch {found.run_id}`")


@runs.command()
def prune(
    *,
    older_than: Annotated[str, typer.Option(metavar="TIME", help="Minimum age since their end: 30d, 12h.")],
    unpublished: Annotated[
        bool, typer.Option("--unpublished", help="Include runs with unpublished events.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; remove nothing.")] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Remove old ended runs from the ledger; data they stored elsewhere stays."""
    from agentic.executors.schedules.times import read_interval

    older_than_s = read_interval(older_than)
    with opened_desk(project) as desk:
        pruned = prune_runs(desk, older_than_s, even_unpublished=unpublished, is_dry=dry_run)
    if as_json:
        print_json(asdict(pruned))
    else:
        say(str(pruned))


def cancel_run(desk: Desk, run_id: RunId, reason: str) -> str:
    """Request a run's cancellation, and return its progress as text.

    Raises:
        UnknownRunError: The run does not exist.
        RunEndedError: It has ended.
    """
    desk.find(run_id)
    is_asked = desk.decide(lambda service: service.handle(run_id).cancel(reason))
    status = desk.find(run_id).status  # the current one: it may have ended since the look
    if not is_asked:
        raise RunEndedError(run_id, status, "be cancelled")
    is_over = status is RunStatus.CANCELLED
    return "cancelled" if is_over else "cancelled once its handlers stop"


def _pause(run: str, project: str | None, *, is_paused: bool) -> str:
    with opened_desk(project) as desk:
        found = desk.find(run)
        if not desk.decide(lambda service: service.handle(found.run_id).pause(is_paused=is_paused)):
            raise RunEndedError(found.run_id, desk.find(found.run_id).status, "be paused or resumed")
    return found.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The result of a pruning.

    Attributes:
        runs: Runs that were removed, or would be.
        rows: Rows that were removed.
        held: Old runs that stay because some of their events are not published yet.
        is_dry: Whether nothing was removed.
    """

    runs: int
    rows: int
    held: int
    is_dry: bool

    def __str__(self) -> str:
        said = f"{self.runs} runs {'would be ' if self.is_dry else ''}removed, {self.rows} rows"
        if not self.held:
            return said
        return (
            f"{said}; {self.held} stay because some of their events are not published yet: check NATS and "
            "`agentic reconcile`, or add --unpublished"
        )


def prune_runs(desk: Desk, older_than_s: float, *, even_unpublished: bool, is_dry: bool) -> Pruned:
    """Remove runs that ended long ago; child runs go with their parents.

    Args:
        desk: Holds the runs.
        older_than_s: Minimum time since their end.
        even_unpublished: Also runs with unpublished events.
        is_dry: Only count.
    """
    from agentic.core.garbage import tune_gc
    from agentic.executors.commands.run.progress import progress_bars
    from agentic.mappers.runs.retention import Retention

    tune_gc()
    retention = Retention(desk.database, desk.project_id, older_than_s)
    run_count = row_count = held_count = 0
    with progress_bars() as bars:
        bar = bars.add_task("runs", total=None, facts="")
        for page in retention.pages(even_unpublished=even_unpublished):
            run_count += len(page.runs)
            held_count += page.held_count
            row_count += 0 if is_dry or not page.runs else retention.remove(*page.runs)
            bars.update(bar, advance=len(page.runs), facts=f"{run_count} runs, {row_count} rows")
    return Pruned(runs=run_count, rows=row_count, held=held_count, is_dry=is_dry)
