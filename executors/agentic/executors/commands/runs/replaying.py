"""The events of durable runs for ``agentic events replay``, from the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentic.core.cli.replay.sources import RunEvents
from agentic.core.types import RunId
from agentic.executors.commands.runs.steering import opened_desk

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.graph import WorkflowEvent
    from agentic.executors.commands.runs.steering import Desk

_ALL = 2**31 - 1


def in_ledger(run: str, project: str | None) -> RunEvents:
    """Find a run in the ledger; see :class:`agentic.core.cli.replay.sources.EventSource`.

    Raises:
        UnknownRunError: The ledger has no such run.
        LedgerError: Several match.
        DatabaseNotMigratedError: The database lacks tables, or does not exist yet.
        DatabaseUnavailableError: It cannot be reached.
        UnknownProjectError: The project does not exist.
    """
    from agentic.core.ledger import UnknownRunError

    outermost, slash, within = run.partition("/")
    with opened_desk(project) as desk:
        run_id = RunId(f"{desk.find(outermost).run_id}{slash}{within}")
        events = tuple(_events(desk, run_id))
    if not events:
        raise UnknownRunError(run_id)
    return RunEvents(run_id=run_id, project=desk.project, events=events, sources=("the ledger",))


def _events(desk: Desk, run_id: RunId) -> Iterator[WorkflowEvent]:
    """Yield the events of a run, then of the runs within it."""
    from agentic.core.ledger.batches import read_batch
    from agentic.mappers.runs.reading import LedgerReader

    with desk.database.reading() as session:
        reader = LedgerReader(session, desk.project_id)
        for name in (run_id, *_within(session, desk.project_id, run_id)):
            for batch in reader.events(name, after=0, limit=_ALL):
                yield from read_batch(batch)


def _within(session: Session, project_id: str, run_id: RunId) -> Sequence[RunId]:
    """Return the runs within a run; some have no row of their own, only events."""
    from sqlalchemy import select

    from agentic.mappers.database.prefixes import is_within
    from agentic.mappers.ledger.sql import EVENTS

    columns = EVENTS.c
    query = select(columns.run_id).where(columns.project_id == project_id, is_within(columns.run_id, run_id))
    query = query.distinct()
    return [RunId(name) for name in session.scalars(query)]
