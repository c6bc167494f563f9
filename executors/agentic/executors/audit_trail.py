"""The newest decisions of a project: those that are rows, and those that stand in the events of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, decisions_of
from agentic.core.graph.errors import CorruptContentError
from agentic.core.ledger import EventBatch, UnknownRunError
from agentic.core.ledger.batches import read_batch
from agentic.core.types import RunId
from agentic.mappers.audit import AUDIT, DecisionFilter, newest_decisions
from agentic.mappers.ledger_reading import LedgerReader
from agentic.mappers.ledger_sql import EVENTS, RUNS

_BATCHES_AT_A_TIME = 200


def audit_trail(session: Session, project_id: str, wanted: DecisionFilter, limit: int) -> list[Decision]:
    """Return the newest decisions that are wanted, the newest last.

    Args:
        session: Sees one state of the database.
        project_id: Where they were made.
        wanted: Which ones.
        limit: No more than this.
    """
    found = _Newest(limit)
    for decision in newest_decisions(session, project_id, wanted, limit):
        found.add(decision)
    for run_id, updated_at in _runs(session, project_id, wanted):
        if found.is_older(updated_at):
            break
        _read_run(session, project_id, run_id, wanted, found)
    return found.in_order()


def find_subject(session: Session, project_id: str, name: str) -> str:
    """Return the run that is called ``name`` or begins so; also one that was removed, if decisions are left.

    Raises:
        UnknownRunError: There is none.
        LedgerError: There are several.
    """
    try:
        return LedgerReader(session, project_id).run(name).run_id
    except UnknownRunError:
        subject = AUDIT.c.subject
        named = or_(subject == name, subject.startswith(name, autoescape=True))
        query = select(subject).where(AUDIT.c.project_id == project_id, named).order_by(subject).limit(1)
        found = session.scalar(query)
        if found is None:
            raise
        return str(found).partition("/")[0]


@dataclass(slots=True)
class _Newest:
    """The newest decisions so far, each once; the oldest of them goes when there are too many."""

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
        """Whether what was decided then is older than all of as many as are wanted."""
        return len(self.order) >= self.limit and time < self.order[0][0]

    def in_order(self) -> list[Decision]:
        """Return them, the newest last; those of one run in the order it made them."""
        kept = [self.known[name] for _, _, name in self.order]
        return sorted(kept, key=_place)


def _place(decision: Decision) -> tuple[float, str, int]:
    run_id, _, sequence = decision.id.rpartition(":")
    return (decision.time, run_id, int(sequence) if sequence.isdecimal() else 0)


def _runs(session: Session, project_id: str, wanted: DecisionFilter) -> Iterator[tuple[str, float]]:
    """Yield the runs that may hold decisions, the newest change first, each with those inside it."""
    query = select(RUNS.c.run_id, RUNS.c.updated_at).where(RUNS.c.project_id == project_id)
    if wanted.run_id is not None:
        within = RUNS.c.run_id.startswith(f"{wanted.run_id}/", autoescape=True)
        query = query.where(or_(RUNS.c.run_id == wanted.run_id, within))
    if wanted.since is not None:
        query = query.where(RUNS.c.updated_at >= wanted.since)
    rows = session.execute(query.order_by(RUNS.c.updated_at.desc())).all()
    inside = _inside(session, project_id, {run_id for run_id, _ in rows})
    for run_id, updated_at in rows:
        yield run_id, updated_at
        yield from ((name, updated_at) for name in inside.get(run_id, ()))


def _inside(session: Session, project_id: str, rows: set[str]) -> dict[str, list[str]]:
    """Return the runs that only events tell of, by the run whose process they went on in."""
    names = select(EVENTS.c.run_id).where(EVENTS.c.project_id == project_id, EVENTS.c.run_id.contains("/"))
    found: dict[str, list[str]] = {}
    for name in session.scalars(names.distinct()):
        around = name
        while around and around not in rows:
            around = around.rpartition("/")[0]
        if around and around != name:
            found.setdefault(around, []).append(name)
    return found


def _read_run(session: Session, project_id: str, run_id: str, wanted: DecisionFilter, found: _Newest) -> None:
    """Read the decisions of a run backwards, as far as they may be among the newest."""
    for batch in _backwards(session, project_id, RunId(run_id)):
        try:
            events = list(read_batch(batch))
        except (CorruptContentError, ValueError):
            continue
        for decision in decisions_of(events):
            if wanted.takes(decision):
                found.add(decision)
        newest = max((event.time for event in events), default=0.0)
        if found.is_older(newest) or (wanted.since is not None and newest < wanted.since):
            return


def _backwards(session: Session, project_id: str, run_id: RunId) -> Iterator[EventBatch]:
    columns = EVENTS.c
    before: int | None = None
    while True:
        query = select(columns.first, columns.last, columns.text).where(
            columns.project_id == project_id, columns.run_id == run_id
        )
        if before is not None:
            query = query.where(columns.last < before)
        rows = session.execute(query.order_by(columns.last.desc()).limit(_BATCHES_AT_A_TIME)).all()
        for first, last, text in rows:
            yield EventBatch(run_id=run_id, first=first, last=last, text=text)
            before = last
        if len(rows) < _BATCHES_AT_A_TIME:
            return
