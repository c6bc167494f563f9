"""The newest decisions of a project, from the rows of the audit and from the events of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

from sqlalchemy import ColumnElement, false, literal_column, or_, select
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, decisions_of
from agentic.core.audit.deriving import DECIDING, telling
from agentic.core.graph.errors import CorruptContentError
from agentic.core.ledger import EventBatch, UnknownRunError
from agentic.core.ledger.batches import read_batch
from agentic.core.types import RunId
from agentic.mappers.audit import AUDIT, DecisionFilter, newest_decisions
from agentic.mappers.database.prefixes import begins_with, is_within
from agentic.mappers.ledger.sql import EVENTS
from agentic.mappers.runs.reading import LedgerReader

_BATCHES_AT_A_TIME = 200


def audit_trail(session: Session, project_id: str, wanted: DecisionFilter, limit: int) -> list[Decision]:
    """Return the newest matching decisions, the newest last.

    Args:
        session: Sees one state of the database.
        project_id: Their project.
        wanted: The filter.
        limit: Maximum number.
    """
    found = _Newest(limit)
    for decision in newest_decisions(session, project_id, wanted, limit):
        found.add(decision)
    for decided_at, batch in _batches(session, project_id, wanted):
        if found.is_older(decided_at):
            break
        for decision in _decisions(batch):
            if wanted.takes(decision):
                found.add(decision)
    return found.in_order()


def find_subject(session: Session, project_id: str, name: str) -> str:
    """Return the run with this id or prefix; also a removed run, if decisions about it are left.

    Raises:
        UnknownRunError: No run matches.
        LedgerError: Several runs match.
    """
    try:
        return LedgerReader(session, project_id).run(name).run_id
    except UnknownRunError:
        subject = AUDIT.c.subject
        named = or_(subject == name, begins_with(subject, name))
        query = select(subject).where(AUDIT.c.project_id == project_id, named).order_by(subject).limit(1)
        found = session.scalar(query)
        if found is None:
            raise
        return str(found).partition("/")[0]


@dataclass(slots=True)
class _Newest:
    """The newest decisions so far, each once; the oldest is dropped when there are too many."""

    limit: int
    known: dict[str, Decision] = field(default_factory=dict)
    order: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, decision: Decision) -> None:
        """Keep a decision, if it is among the newest."""
        if decision.id in self.known or self.is_older(decision.time):
            return
        entry = (decision.time, len(self.known), decision.id)
        self.known[decision.id] = decision
        if len(self.order) < self.limit:
            heappush(self.order, entry)
        else:
            heappushpop(self.order, entry)

    def is_older(self, time: float) -> bool:
        """Whether a decision of that time is too old to be among the newest."""
        return len(self.order) >= self.limit and time < self.order[0][0]

    def in_order(self) -> list[Decision]:
        """Return them, the newest last; decisions of one run stay in their order."""
        kept = [self.known[name] for _, _, name in self.order]
        return sorted(kept, key=_place)


def _place(decision: Decision) -> tuple[float, str, int]:
    run_id, _, sequence = decision.id.rpartition(":")
    return (decision.time, run_id, int(sequence) if sequence.isdecimal() else 0)


def _batches(session: Session, project_id: str, wanted: DecisionFilter) -> Iterator[tuple[float, EventBatch]]:
    """Yield the event batches that may hold matching decisions, each with its time, the newest first."""
    columns = EVENTS.c
    kinds = telling(wanted.kinds, wanted.who)
    query = select(columns.decided_at, columns.run_id, columns.first, columns.last, columns.text).where(
        columns.project_id == project_id,
        columns.decided_at.is_not(None),
        or_(false(), *(columns.deciding.contains(f" {kind} ", autoescape=True) for kind in sorted(kinds))),
    )
    if wanted.since is not None:
        query = query.where(columns.decided_at >= wanted.since)
    newest: ColumnElement[float] = columns.decided_at
    if wanted.run_id is not None:
        query = query.where(or_(columns.run_id == wanted.run_id, is_within(columns.run_id, wanted.run_id)))
        newest += literal_column("0")  # or the index of all decisions would be read for one run's few
    query = query.order_by(newest.desc())
    # Read lazily: a query for the newest few does not read a year.
    with session.execute(query, execution_options={"yield_per": _BATCHES_AT_A_TIME}) as rows:
        for decided_at, run_id, first, last, text in rows:
            yield decided_at, EventBatch(run_id=RunId(run_id), first=first, last=last, text=text)


def _decisions(batch: EventBatch) -> Sequence[Decision]:
    try:
        return decisions_of(read_batch(batch, DECIDING))
    except (CorruptContentError, ValueError):
        return ()
