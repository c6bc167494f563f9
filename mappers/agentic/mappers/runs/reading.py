"""Reads the ledger for people, beside its writers, in small pieces for runs of any length."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import ColumnElement, func, null, select
from sqlalchemy.orm import Session

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import (
    ActivationRow,
    ActivationStatus,
    EventBatch,
    LedgerError,
    RunRow,
    UnknownRunError,
)
from agentic.core.types import RunId
from agentic.mappers.database.prefixes import begins_with, follows
from agentic.mappers.ledger.activation_statements import ACTIVATION_COLUMNS
from agentic.mappers.ledger.rows import activation_row, read_run
from agentic.mappers.ledger.run_statements import RUN_COLUMNS
from agentic.mappers.ledger.sql import ACTIVATIONS, EVENTS, NOW, RUNS

_LARGE = frozenset({"progress", "result"})
_LIGHT_COLUMNS = [null().label(one.name) if one.name in _LARGE else one for one in ACTIVATION_COLUMNS]

_LOOKED_AT = 1_000
"""How many activations of a run are read to see whether it is active."""

IS_OUTERMOST = RUNS.c.parent_run_id.is_(None)
"""Condition: no other run waits for the end of this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Waiting work of a run and its child runs, while no worker is on it.

    Attributes:
        queue: Queue with the longest wait.
        waits_s: How long this work could have been claimed.
        note: Why the last worker that tried did not do it.
    """

    queue: str
    waits_s: float
    note: str | None


class LedgerReader:
    """Reads the ledger of a project.

    Args:
        session: Sees one state of the database.
        project_id: Owns the runs; the runs of other projects are invisible.
    """

    def __init__(self, session: Session, project_id: str) -> None:
        self._session = session
        self._project_id = project_id

    def now(self) -> float:
        """Return the database's clock, in seconds since the epoch."""
        return self._session.scalars(select(NOW)).one()

    def run(self, name: str) -> RunRow:
        """Return the run with the id ``name``, else the one run with this prefix that is not a child run.

        Raises:
            UnknownRunError: It does not exist.
            LedgerError: There are several, or the name is empty.
        """
        if not name:  # a prefix of every id
            raise LedgerError("the id is empty; give an id or prefix, see `agentic executions list`")
        exactly = self._runs(RUNS.c.run_id == name)
        found = exactly or self._begun_so(name)
        if not found:
            raise UnknownRunError(RunId(name))
        if len(found) > 1:
            raise LedgerError(f"several runs begin with {name!r}; use a longer prefix")
        return found[0]

    def named(self, run_ids: Collection[RunId]) -> Mapping[RunId, RunRow]:
        """Return the existing runs among these, by id."""
        return {run.run_id: run for run in self._runs(RUNS.c.run_id.in_(run_ids), limit=len(run_ids))}

    def runs(
        self, *, status: RunStatus | None, workflow: str | None, limit: int, after: RunRow | None = None
    ) -> Sequence[RunRow]:
        """Return runs except child runs, the newest first.

        Args:
            status: Only runs with this status.
            workflow: Only runs of this workflow.
            limit: Maximum number.
            after: Only runs after this one in that order: the last one of the previous page.
        """
        where: list[ColumnElement[bool]] = [IS_OUTERMOST]
        if status is not None:
            where.append(RUNS.c.status == status)
        if workflow is not None:
            where.append(RUNS.c.workflow == workflow)
        if after is not None:
            where.append(follows(RUNS.c.created_at, after.created_at, RUNS.c.run_id, after.run_id))
        if workflow is None or status is not None:
            return self._runs(*where, limit=limit)
        # The index of a workflow's runs is ordered within each status: take the newest of each, then of all.
        of_each = [self._runs(*where, RUNS.c.status == one, limit=limit) for one in RunStatus]
        found = sorted(chain.from_iterable(of_each), key=lambda run: (-run.created_at, run.run_id))
        return found[:limit]

    def family(self, run_id: RunId, limit: int) -> list[RunId]:
        """Return a run, and up to ``limit`` child runs that it or its child runs wait for now."""
        found, newest = [run_id], [run_id]
        while newest and len(found) <= limit:
            query = select(ACTIVATIONS.c.waits_for).where(
                ACTIVATIONS.c.project_id == self._project_id,
                ACTIVATIONS.c.run_id.in_(newest),
                ACTIVATIONS.c.finished_at.is_(None),
                ACTIVATIONS.c.waits_for.is_not(None),
            )
            newest = [RunId(child) for child in self._session.scalars(query.limit(limit)) if child]
            found += newest
        return found[: limit + 1]

    def backlog(self, run: RunRow) -> Backlog | None:
        """Return the work that waits for a worker; None while one works, or if nothing can be claimed."""
        columns = ACTIVATIONS.c
        query = select(columns.status, columns.queue, columns.not_before, columns.note, NOW).where(
            *self._of_runs(self.family(run.run_id, _LOOKED_AT)),
            columns.finished_at.is_(None),
            columns.status.in_((ActivationStatus.RUNNING, ActivationStatus.PENDING)),
        )
        rows = self._session.execute(query.order_by(columns.not_before).limit(_LOOKED_AT)).all()
        if not rows or any(status == ActivationStatus.RUNNING for status, *_ in rows):
            return None
        _, queue, not_before, _, now = rows[0]
        note = run.note or next((note for *_, note, _ in rows if note), None)
        return Backlog(queue=queue, waits_s=now - not_before, note=note)

    def counts(self, run_ids: Collection[RunId]) -> Mapping[ActivationStatus, int]:
        """Return the number of activations of runs, by status."""
        status = ACTIVATIONS.c.status
        query = select(status, func.count()).where(*self._of_runs(run_ids)).group_by(status)
        return {ActivationStatus(found): count for found, count in self._session.execute(query)}

    def crash_count(self, run_ids: Collection[RunId]) -> int:
        """Return how often workers died while they ran activations of runs."""
        query = select(func.sum(ACTIVATIONS.c.crashes)).where(*self._of_runs(run_ids))
        return self._session.scalar(query) or 0

    def activations(
        self, run_ids: Collection[RunId], statuses: Collection[ActivationStatus], limit: int
    ) -> Sequence[ActivationRow]:
        """Return activations, without progress and result; the newest superstep first, in planner order."""
        columns = ACTIVATIONS.c
        query = select(*_LIGHT_COLUMNS).where(*self._of_runs(run_ids), columns.status.in_(statuses))
        query = query.order_by(columns.run_id, columns.superstep.desc(), columns.position).limit(limit)
        return [activation_row(row) for row in self._session.execute(query)]

    def event_count(self, run_id: RunId) -> int:
        """Return how many durable events a run has emitted, without events of its child runs."""
        query = select(func.max(EVENTS.c.last)).where(*self._events_of(run_id))
        return self._session.scalar(query) or 0

    def events(self, run_id: RunId, *, after: int, limit: int) -> Sequence[EventBatch]:
        """Return batches of durable events with a sequence above ``after``, in order."""
        columns = EVENTS.c
        query = select(columns.first, columns.last, columns.text).where(
            *self._events_of(run_id), columns.last > after
        )
        rows = self._session.execute(query.order_by(columns.last).limit(limit))
        return [EventBatch(run_id=run_id, first=first, last=last, text=text) for first, last, text in rows]

    def _begun_so(self, name: str) -> Sequence[RunRow]:
        """Return up to two runs whose ids have this prefix."""
        query = select(*RUN_COLUMNS).where(RUNS.c.project_id == self._project_id, IS_OUTERMOST)
        query = query.where(begins_with(RUNS.c.run_id, name)).limit(2)
        return [read_run(row) for row in self._session.execute(query)]

    def _runs(self, *where: ColumnElement[bool], limit: int = 1) -> Sequence[RunRow]:
        query = select(*RUN_COLUMNS).where(RUNS.c.project_id == self._project_id, *where)
        query = query.order_by(RUNS.c.created_at.desc(), RUNS.c.run_id).limit(limit)
        return [read_run(row) for row in self._session.execute(query)]

    def _of_runs(self, run_ids: Collection[RunId]) -> tuple[ColumnElement[bool], ...]:
        return ACTIVATIONS.c.project_id == self._project_id, ACTIVATIONS.c.run_id.in_(run_ids)

    def _events_of(self, run_id: RunId) -> tuple[ColumnElement[bool], ...]:
        return EVENTS.c.project_id == self._project_id, EVENTS.c.run_id == run_id
