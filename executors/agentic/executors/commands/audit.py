"""``agentic audit``: decisions, their authors and reasons."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.audit import Decision, DecisionKind
from agentic.core.cli import print_json, print_rows, write_json
from agentic.core.cli.texts import visible
from agentic.executors.commands.runs.steering import Desk, opened_desk, say
from agentic.executors.commands.runs.views import shown_id, shown_time
from agentic.executors.commands.shared.moments import moment_of
from agentic.executors.commands.shared.options import AsJson, InProject

if TYPE_CHECKING:
    from agentic.mappers.audit import DecisionFilter

COLUMNS = ("time", "kind", "subject", "who", "decision")

_LOOK_S = 1.0
_OVERLAP_S = 30.0
"""A decision may become visible this long after its time: clocks differ, and transactions take time."""


def audit(  # noqa: PLR0913  # one parameter for each option
    *,
    run: Annotated[str | None, typer.Option(metavar="ID", help="Filter by run: id or unique prefix.")] = None,
    kind: Annotated[
        list[DecisionKind] | None,
        typer.Option(metavar="KIND", help="Filter by kind, e.g. run.failed. Repeatable."),
    ] = None,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="Filter by user, schedule:NAME, or engine.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Start time: 2h ago, or 2026-05-01T12:00 in UTC.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show the latest N.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", help="Follow new ones until Ctrl-C.")] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show decisions in runs, about runs and about the configuration: who, when, why; newest last."""
    from agentic.mappers.audit import DecisionFilter

    with opened_desk(project) as desk:
        wanted = DecisionFilter(
            run_id=None if run is None else _subject(desk, run),
            kinds=frozenset(kind or ()),
            who=who,
            since=None if since is None else moment_of(desk, since),
        )
        found = _look(desk, wanted, limit)
        if not follow:
            if as_json:
                print_json([decision_data(decision, desk.project) for decision in found])
            else:
                print_rows(f"Decisions in {desk.project}", COLUMNS, list(map(decision_row, found)))
            return
        try:
            _show_lines(found, desk.project, as_json=as_json)
            for new in _news(desk, wanted, found):
                _show_lines(new, desk.project, as_json=as_json)
        except KeyboardInterrupt:  # the usual way to end it
            return


def decision_data(decision: Decision, project: str) -> dict[str, object]:
    """Return a decision for scripts, in the format of the bus."""
    return {"project": project, **decision.model_dump(mode="json")}


def decision_row(decision: Decision) -> dict[str, object]:
    """Return a decision for people; ``decision`` has its kind and reason."""
    why = f" ({visible(decision.reason)})" if decision.reason else ""
    return {
        "time": shown_time(decision.time),
        "kind": str(decision.kind),
        "subject": shown_id(decision.subject),
        "who": visible(decision.who),
        "decision": f"{visible(decision.what)}{why}",
    }


def _look(desk: Desk, wanted: DecisionFilter, limit: int) -> list[Decision]:
    from agentic.executors.durable.publish.audit_trail import audit_trail

    with desk.database.reading() as session:
        return audit_trail(session, desk.project_id, wanted, limit)


def _news(desk: Desk, wanted: DecisionFilter, seen: Sequence[Decision]) -> Iterator[list[Decision]]:
    """Yield new decisions from now on, forever."""
    known = {decision.id: decision.time for decision in seen}
    while True:
        time.sleep(_LOOK_S)
        since = max(known.values(), default=wanted.since or time.time()) - _OVERLAP_S
        found = _look(desk, replace(wanted, since=max(since, wanted.since or 0.0)), sys.maxsize)
        yield [decision for decision in found if decision.id not in known]
        known = {decision.id: decision.time for decision in found} or known


def _show_lines(decisions: Sequence[Decision], project: str, *, as_json: bool) -> None:
    for decision in decisions:
        if as_json:
            write_json(decision_data(decision, project))
        else:
            row = decision_row(decision)
            say("  ".join(str(row[column]) for column in COLUMNS))
    sys.stdout.flush()


def _subject(desk: Desk, name: str) -> str:
    from agentic.executors.durable.publish.audit_trail import find_subject

    with desk.database.reading() as session:
        return find_subject(session, desk.project_id, name)
