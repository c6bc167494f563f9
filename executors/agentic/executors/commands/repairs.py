"""``agentic repairs``: proposed repairs of pipelines, their evidence, and the decisions about them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.audit import acting_user
from agentic.core.cli import print_json, print_rows
from agentic.core.masking import masked_data
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.executors.commands.crawls import answer_held
from agentic.executors.commands.runs.steering import Desk, opened_desk, say
from agentic.executors.commands.runs.views import shown_id, untyped
from agentic.executors.commands.shared.completing import agent_names
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError, write_file
from agentic.executors.commands.shared.repaired_agents import executor_of
from agentic.executors.commands.shared.yaml_text import yaml_text

if TYPE_CHECKING:
    from agentic.core.pipeline.repairs.proposals import Repair
    from agentic.core.pipeline.repairs.requests import StoredRepair
    from agentic.mappers.runs.requests import OpenRequest

repairs = typer.Typer(help="Show, accept, reject and undo repairs of pipelines.", no_args_is_help=True)

ASKED_WITH = "agentic.core.pipeline.drift.incidents.RepairAnswer"
_CHARS = 34
_WIDTH = 76

RepairId = Annotated[str, typer.Argument(metavar="REPAIR", help="Id or unique prefix.")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="Agent.", autocompletion=agent_names)]
By = Annotated[str, typer.Option(metavar="NAME", help="Name for the record. Default: your user name.")]


@repairs.command("list")
def list_them(*, project: InProject = None, as_json: AsJson = False) -> None:
    """List the repairs of all pipelines, the newest first."""
    from agentic.mappers.catalog.repairs import list_repairs, stored_repair

    with opened_desk(project) as desk, desk.database.reading() as session:
        rows = [
            {
                "repair": row.id,
                "agent": agent,
                "state": str(row.state),
                "fields": ", ".join(one.subject for one in stored_repair(row).request.repairs),
                "version": row.version,
                "created_at": row.created_at,
            }
            for row, agent in list_repairs(session, desk.project_id)
        ]
    shown = rows if as_json else [{**row, "repair": shown_id(str(row["repair"]))} for row in rows]
    columns = ["repair", "agent", "state", "fields", "version", "created_at"]
    print_rows(f"Repairs of {desk.project}", columns, shown, as_json=as_json)


@repairs.command()
def show(repair: RepairId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show the changes of a repair, and the evidence for it."""
    with opened_desk(project) as desk:
        show_repair(desk, repair, as_json=as_json)


@repairs.command()
def accept(repair: RepairId, *, by: By = "", project: InProject = None) -> None:
    """Make a new version of the pipeline with a repair; a crawl that waits for it continues."""
    with opened_desk(project) as desk:
        accept_repair(desk, repair, by or acting_user())


@repairs.command()
def reject(repair: RepairId, *, by: By = "", project: InProject = None) -> None:
    """Refuse a repair. Pages that are held stay held until `agentic crawls release`."""
    from agentic.core.pipeline.repairs.requests import ProposalState
    from agentic.mappers.catalog.repairs import find_repair, reject_repair

    with opened_desk(project) as desk:
        with desk.database.writing() as session:
            row, agent = find_repair(session, desk.project_id, repair)
            reason = "agentic repairs reject"
            stored = reject_repair(session, agent, row.id, who=by or acting_user(), reason=reason)
            run = row.run
        if stored.state is not ProposalState.REJECTED:
            raise OptionError(f"repair {shown_id(stored.id)} is {stored.state.value} already")
        say(f"repair {shown_id(stored.id)} is rejected")
        if _questions(desk, run, stored.id):
            say(f"its pages are held; continue with: agentic crawls release {shown_id(run)}")


@repairs.command()
def versions(agent: AgentName, *, project: InProject = None, as_json: AsJson = False) -> None:
    """List the versions of an agent's pipeline, the newest first; the newest is in effect."""
    from agentic.mappers import find_agent
    from agentic.mappers.catalog.repairs import changes_of, list_versions

    with opened_desk(project) as desk, desk.database.reading() as session:
        owner = find_agent(session, desk.project_id, agent)
        rows = [
            {
                "version": one.version,
                "repair": one.repair_id,
                "changes": len(changes_of(one)),
                "by": one.created_by,
                "created_at": one.created_at,
            }
            for one in list_versions(session, owner)
        ]
    shown = rows if as_json else [{**row, "repair": shown_id(str(row["repair"] or "-"))} for row in rows]
    columns = ["version", "repair", "changes", "by", "created_at"]
    print_rows(f"Versions of the pipeline of {owner.agent_name}", columns, shown, as_json=as_json)


@repairs.command()
def rollback(
    agent: AgentName,
    *,
    to: Annotated[
        int | None,
        typer.Option(min=0, help="Version to go back to; 0: as written. Default: before the newest repair."),
    ] = None,
    by: By = "",
    project: InProject = None,
) -> None:
    """Undo the newest repair of an agent's pipeline, as a new version."""
    from agentic.mappers import find_agent
    from agentic.mappers.catalog.repairs import roll_back

    with opened_desk(project) as desk, desk.database.writing() as session:
        owner = find_agent(session, desk.project_id, agent)
        version = roll_back(session, owner, to=to, who=by or acting_user())
    like = (
        "without the newest repair" if to is None else f"as version {to} was" if to else "as it was written"
    )
    say(f"version {version} of the pipeline of {owner.agent_name} is in effect: {like}")


@repairs.command()
def export(
    agent: AgentName,
    *,
    out: Annotated[Path | None, typer.Option(help="Write the pipeline to this YAML file.")] = None,
    project: InProject = None,
) -> None:
    """Print an agent's pipeline with its repairs, to keep it as your file."""
    import sys

    from agentic.core.masking import told
    from agentic.core.pipeline.repairs.versions import repaired_spec
    from agentic.mappers import find_agent
    from agentic.mappers.catalog.pipelines import as_written
    from agentic.mappers.catalog.repairs import changes_of, newest_version

    with opened_desk(project) as desk, desk.database.reading() as session:
        owner = find_agent(session, desk.project_id, agent)
        changes = changes_of(newest_version(session, owner))
        data, fitting = repaired_spec(as_written(executor_of(owner).pipeline()), changes)
    if out is None:
        sys.stdout.write(yaml_text(told(data)))
        return
    write_file(out, yaml_text(data).encode(), "--out")
    say(f"wrote {out} with {len(fitting)} repaired places; run it with: agentic run {out}")


def show_repair(desk: Desk, repair: str, *, as_json: bool = False) -> None:
    """Print a repair.

    Args:
        desk: Of its project.
        repair: Its id, or a unique prefix.
        as_json: Print JSON.

    Raises:
        UnknownRepairError: No repair matches, or several do.
    """
    from agentic.mappers.catalog.repairs import find_repair, stored_repair

    with desk.database.reading() as session:
        row, agent = find_repair(session, desk.project_id, repair)
        stored, run = stored_repair(row), row.run
        name, decided_by = agent.agent_name, row.decided_by
    if as_json:
        facts = {"agent": name, "run_id": run or None, "decided_by": decided_by}
        print_json(masked_data({**stored.model_dump(mode="json"), **facts}))
        return
    _show(stored, name, run, decided_by)


def accept_repair(desk: Desk, repair: str, who: str) -> None:
    """Apply a repair, and answer the crawl that waits for it.

    If this process dies in between, a second call answers.

    Args:
        desk: Of its project.
        repair: Its id, or a unique prefix.
        who: Who decides.

    Raises:
        UnknownRepairError: No repair matches, or several do.
        OptionError: It cannot be applied.
    """
    from agentic.mappers.catalog.pipelines import as_written
    from agentic.mappers.catalog.repairs import apply_repair, find_repair

    with desk.database.writing() as session:
        row, agent = find_repair(session, desk.project_id, repair)
        spec = as_written(executor_of(agent).pipeline())
        stored = apply_repair(session, agent, row.id, spec, who=who, reason="agentic repairs accept")
        run, name = row.run, agent.agent_name
    _check_applied(stored)
    say(f"version {stored.version} of the pipeline of {name} has the repair")
    say(f"undo it with: agentic repairs rollback {name}")
    _answer(desk, stored, run, who)


def _check_applied(stored: StoredRepair) -> None:
    from agentic.core.pipeline.repairs.requests import ProposalState

    if stored.state is ProposalState.APPLIED:
        return
    why = {
        ProposalState.SUPERSEDED: "superseded: the pipeline was changed at the same places since",
        ProposalState.ABSTAINED: "without a proposal: no field has a sure new place",
    }.get(stored.state, f"{stored.state.value} already")
    raise OptionError(f"repair {shown_id(stored.id)} is {why}; see `agentic repairs list`")


def _answer(desk: Desk, stored: StoredRepair, run: str, who: str) -> None:
    """Continue the crawl that waits for a repair, unless it waits for another one, too."""
    asked = _questions(desk, run, stored.id)
    if not asked:
        return
    waits_for = _undecided(desk, asked)
    if waits_for:
        say(f"run {shown_id(run)} also waits for: {', '.join(map(shown_id, waits_for))}")
        return
    answers: dict[str, JSONValue] = {one.id: "repair" for one in asked}
    if advice := answer_held(desk, run, answers, who):
        say(advice)
        return
    say(f"run {shown_id(run)} continues on a worker")
    say(f"without a worker, continue with: agentic executions retry {shown_id(run)}")


def _questions(desk: Desk, run: str, repair_id: str) -> Sequence[OpenRequest]:
    from agentic.core.types import RunId
    from agentic.mappers.runs.requests import open_requests

    if not run:
        return ()
    with desk.database.reading() as session:
        found = open_requests(session, project_id=desk.project_id, run_id=RunId(run))
        return [one for one in found if one.response_type == ASKED_WITH and repair_id in _repairs_in(one)]


def _repairs_in(asked: OpenRequest) -> Sequence[str]:
    question = untyped(asked.question)
    found = question.get("repairs") if isinstance(question, dict) else None
    return [str(one) for one in found] if isinstance(found, list) else []


def _undecided(desk: Desk, asked: Sequence[OpenRequest]) -> Sequence[str]:
    from agentic.core.pipeline.repairs.requests import ProposalState
    from agentic.mappers.catalog.repairs import find_repair

    with desk.database.reading() as session:
        rows = [find_repair(session, desk.project_id, one)[0] for ask in asked for one in _repairs_in(ask)]
        return [row.id for row in rows if row.state is ProposalState.PROPOSED]


def _show(stored: StoredRepair, agent: str, run: str, decided_by: str | None) -> None:
    from agentic.core.pipeline.repairs.requests import ProposalState

    request = stored.request
    by = f" by {decided_by}" if decided_by else ""
    version = f", version {stored.version}" if stored.version else ""
    say(f"repair {shown_id(stored.id)} of {agent} is {stored.state.value}{by}{version}")
    if request.why:
        say(harmless(f"  {request.why}"))
    if run:
        say(f"  worked out by {shown_id(run)}; {request.checked} other pages prove it")
    for one in request.repairs:
        _show_part(one)
    if stored.state is ProposalState.PROPOSED:
        say(f"agentic repairs accept {shown_id(stored.id)}")


def _show_part(part: Repair) -> None:
    from agentic.core.pipeline.repairs.proposals import RepairAbstention

    if isinstance(part, RepairAbstention):
        say(harmless(f"  {part.subject}: not found"))
        _say_wrapped(part.reason)
        return
    say(harmless(f"  {part.subject}: score {part.score:.2f}, runner-up {part.runner_up:.2f}"))
    _say_wrapped(part.note)
    for one in part.evidence:
        same = "as stored" if str(one.old) == str(one.new) else f"stored: {_short(one.old)}"
        say(harmless(f"    {_short(one.new)} ({same}) on {_path(one.url)}"))


def _say_wrapped(text: str) -> None:
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        say(harmless(f"    {line}"))


def _short(value: JSONValue) -> str:
    text = "nothing" if value is None else " ".join(str(value).split())
    return text if len(text) <= _CHARS else f"{text[: _CHARS - 1]}…"


def _path(url: str) -> str:
    path = url.split("/", 3)[-1]
    return f"/{path}" if len(path) <= _CHARS else f"…{path[-_CHARS:]}"
