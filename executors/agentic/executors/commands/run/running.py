"""Runs an agent or a pipeline in this process, and stops it at Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import typer

from agentic.core.cli import console, err_console, print_json
from agentic.core.masking import mask_known
from agentic.core.settings import Settings
from agentic.core.terminal import harmless
from agentic.executors.commands.run.outcome import PARTIAL_EXIT_CODE, print_outcome
from agentic.executors.errors import ExecutionNotRunnableError

if TYPE_CHECKING:
    from rich.console import Console

    from agentic.executors.agents.runner import ExecutionOutcome
    from agentic.executors.exports.exporting import Export, Exported
    from agentic.executors.workers.dispatch import CeleryDispatcher
    from agentic.mappers import AgentModel, Database, ExecutionModel


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """The output of a run, besides its rows in the database.

    Attributes:
        is_quiet: Show neither progress nor outcome, but still errors.
        export: The target for its rows.
        again: The command that continues it; by default with the execution's id.
        exits: Whether the command ends with the exit code of a partial execution.
    """

    is_quiet: bool = False
    export: Export | None = None
    again: str | None = None
    exits: bool = True

    @property
    def people(self) -> Console | None:
        """The console that shows the outcome: not the target of rows."""
        if self.is_quiet:
            return None
        takes_stdout = self.export is not None and self.export.target.is_stdout
        return err_console if takes_stdout else console


SEEN = RunOutput()


def run_here(
    agent: AgentModel,
    execution: ExecutionModel | None = None,
    *,
    database: Database,
    settings: Settings,
    as_json: bool,
    output: RunOutput = SEEN,
) -> None:
    """Run an agent in this process, with progress on standard error, and print its results.

    Args:
        agent: The agent.
        execution: One of its executions, to run (again); by default a new one.
        database: Holds both.
        settings: The settings of this process.
        as_json: Print JSON, for scripts.
        output: The output to show.

    Raises:
        ExecutionFailedError: It failed.
        ExportError: Its rows cannot be written; if this was known before, it did not run.
        ExecutionNotRunnableError: It has succeeded.
        Exit: With ``PARTIAL_EXIT_CODE``, if it succeeded in part.
    """
    from agentic.executors.agents.local import run_locally
    from agentic.executors.commands.run.progress import shown_progress
    from agentic.mappers import create_execution

    if output.export is not None:
        _check(output.export, agent)
    if execution is not None:
        check_unfinished(execution)
    else:
        with database.writing() as session:
            execution = create_execution(session, agent)
    with (
        interruptions_told(database, execution, output.again),
        shown_progress(agent.agent_name, quiet=output.is_quiet) as hear,
    ):
        outcome = run_locally(execution, database=database, settings=settings, on_event=hear)
    if not output.is_quiet:
        _tell_unsent(database, execution)
    exported = None if output.export is None else _export(output.export, outcome, agent, database)
    print_outcome(
        outcome, agent=agent, database=database, as_json=as_json, where=output.people, exported=exported
    )
    if output.exits and outcome.status == "partial":
        raise typer.Exit(PARTIAL_EXIT_CODE)


def _tell_unsent(database: Database, execution: ExecutionModel) -> None:
    """Print on standard error the notifications that could not be sent: a terminal shows no logs."""
    from agentic.mappers.notifications.outbox import list_notifications

    with database.reading() as session:
        found = list_notifications(session, execution.project_id, execution_id=execution.id)
    unsent = {rule: row.reason for row, rule in found if row.state != "sent" and row.reason}
    for rule, reason in unsent.items():
        line = f"notification {rule} was not sent: {reason}; see `agentic notifications deliveries {rule}`"
        err_console.print(harmless(line), style="yellow", markup=False, highlight=False, soft_wrap=True)


def check_unfinished(execution: ExecutionModel) -> None:
    """Refuse to repeat an execution that succeeded.

    Raises:
        ExecutionNotRunnableError: It has succeeded.
    """
    from agentic.mappers import ExecutionStatus

    if execution.status is ExecutionStatus.SUCCEEDED:
        raise ExecutionNotRunnableError(execution.id, "it has succeeded; start a new one with `agentic run`")
    if execution.outcome is not None:
        raise ExecutionNotRunnableError(
            execution.id,
            f"all its steps have run, and it is {execution.status}; fetch failed pages again with `agentic "
            f"executions retry {execution.id} --failed`, or start a new one with `agentic run`",
        )


def _check(export: Export, agent: AgentModel) -> None:
    from agentic.executors.exports.exporting import check_export

    check_export(export, agent.agent_platform)


def _export(
    export: Export, outcome: ExecutionOutcome, agent: AgentModel, database: Database
) -> Exported | None:
    """Write the rows of an execution that has ended; half of the rows would look like all of them."""
    from agentic.executors.exports.exporting import export_rows
    from agentic.executors.exports.targets import while_read
    from agentic.mappers import ExecutionStatus, find_execution

    if outcome.status not in {ExecutionStatus.SUCCEEDED, ExecutionStatus.PARTIAL}:
        line = (
            f"{export.target} was not written because the execution is {outcome.status}; export stored "
            f"rows with `agentic executions export {outcome.execution_id} --out FILE`"
        )
        err_console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
        return None
    with database.reading() as session:
        execution = find_execution(session, agent.project_id, outcome.execution_id)
    return while_read(partial(export_rows, export, database, execution, agent))


def checked_dispatcher(settings: Settings) -> CeleryDispatcher:
    """Return the dispatcher to the workers, once their broker has answered.

    Raises:
        BrokerUnavailableError: It has not answered.
    """
    from agentic.executors.celery import make_app
    from agentic.executors.workers.dispatch import CeleryDispatcher

    dispatcher = CeleryDispatcher(make_app(settings))
    dispatcher.check()
    return dispatcher


def print_queued(execution: ExecutionModel, agent: AgentModel, *, as_json: bool) -> None:
    """Print how to find an execution that a worker will run."""
    if as_json:
        print_json({"execution_id": execution.id, "agent_id": agent.id, "status": "queued"})
        return
    where = f"see `agentic executions show {execution.id}`"
    line = f"queued execution {execution.id} of agent {agent.agent_name}; {where}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)


STORED = frozenset({"inserted", "updated", "unchanged"})


@contextmanager
def interruptions_told(database: Database, execution: ExecutionModel, again: str | None) -> Iterator[None]:
    """If the block is interrupted, print on standard error the kept results, and the command that continues.

    An execution whose run had not begun ends as cancelled.

    Args:
        database: Holds the execution.
        execution: The execution that runs in the block.
        again: The command; by default with the execution's id.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        command = again or f"agentic executions retry {execution.id}"
        line = f"stopped: {_kept(database, execution)}; continue with: {command}"
        err_console.print(mask_known(line), style="yellow", markup=False, highlight=False, soft_wrap=True)
        raise


def _kept(database: Database, execution: ExecutionModel) -> str:
    """End the execution if its run has not begun; return its kept results as text."""
    from agentic.mappers.catalog.execution_counts import counts_so_far
    from agentic.mappers.catalog.executions import cancel_unbegun, find_execution
    from agentic.mappers.tables.core import CrawlModel

    with database.writing() as session:
        cancel_unbegun(session, execution.project_id, execution.id)
        now = find_execution(session, execution.project_id, execution.id)
        counts = counts_so_far(session, now.project_id, [now])[now.id]
        crawl = session.get(CrawlModel, (now.project_id, now.id))
    pages = [f"{crawl.done:,} of {crawl.total:,} pages"] if crawl is not None and crawl.total else []
    stored = [count for name, count in counts.items() if name in STORED and isinstance(count, int)]
    rows = [f"{sum(stored):,} rows"] if any(stored) else []
    if pages or rows:
        left = crawl.total - crawl.done - crawl.failed if crawl is not None else 0
        rest = f", {left:,} {'page is' if left == 1 else 'pages are'} left" if left else ""
        return f"{' and '.join([*pages, *rows])} are kept{rest}"
    return "finished steps are kept" if now.started_at is not None else "nothing had started"
