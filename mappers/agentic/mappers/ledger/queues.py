"""Activations of the ledger in SQL: find and dispatch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select

from agentic.core.ledger import ActivationId, ActivationRow, ActivationStatus, Dispatchable
from agentic.core.types import RunId
from agentic.mappers.ledger import queue_statements as statements
from agentic.mappers.ledger.activation_statements import ACTIVATION_COLUMNS, DISPATCHED, UNDISPATCHED
from agentic.mappers.ledger.base import UsesCursor
from agentic.mappers.ledger.rows import Row, activation_row, dispatchable
from agentic.mappers.ledger.sql import ACTIVATIONS, of_project, word

_MAX_LATE = 100
"""Maximum number of activations released together; the next check finds more."""


class SqlQueues(UsesCursor):
    """Implements the part of :class:`agentic.core.ledger.port.Activations` about any activations."""

    def first_in_line(self, queue: str, limit: int = 1) -> Sequence[ActivationId]:
        """Return the next due activations of a queue, the best first."""
        values = self._of_project(queue=queue, limit=limit)
        found = self._activations.rows(statements.FIRST_IN_LINE, values)
        has_late = found[0][4] if found else True
        if has_late and self._offer_late():
            found = self._cursor.rows(statements.FIRST_IN_LINE, values)
        return [ActivationId(*row[:4]) for row in found]

    def claimable(
        self,
        queues: Collection[str],
        *,
        run_id: RunId | None = None,
        above: int | None = None,
        limit: int = 1,
    ) -> Sequence[Dispatchable]:
        """Return the activations that could be claimed now, the best first."""
        if not queues:
            return []
        with_late = above is None and run_id is None
        asked = {f"queue_{number}": queue for number, queue in enumerate(set(queues))}
        values = self._of_project(**asked, run_id=run_id, above=-1 if above is None else above, limit=limit)
        query = statements.claimable(len(asked), is_of_run=run_id is not None, with_late=with_late)
        cursor = self._cursor if self._goes_before_added(above) else self._activations
        found = cursor.rows(query, values)
        if with_late and (not found or found[0][-1]) and self._offer_late():
            found = cursor.rows(query, values)
        return [dispatchable(row) for row in found]

    def undispatched(self, *, older_than_s: float, limit: int = 100) -> Sequence[Dispatchable]:
        """Return due activations of runs that may continue, undispatched for that long, the best first."""
        self._offer_late()
        values = self._of_project(older_than_s=older_than_s, limit=limit)
        untold = self._activations.rows(statements.UNTOLD, values)
        told = self._activations.rows(statements.TOLD_LONG_AGO, values)
        return [dispatchable(row) for row in sorted([*untold, *told], key=_rank)[:limit]]

    def mark_dispatched(self, ids: Collection[ActivationId], *, is_dispatched: bool = True) -> None:
        """Note that activations were dispatched now, or must be dispatched again."""
        rows = [self._key(one) for one in sorted(ids)]
        if rows:
            self._activations.run_each(DISPATCHED if is_dispatched else UNDISPATCHED, rows)

    def expired(self, limit: int = 100) -> Sequence[ActivationRow]:
        """Return running activations with an expired lease, the earliest expiry first."""
        rows = self._activations.rows(statements.EXPIRED, self._of_project(limit=limit))
        return [activation_row(row) for row in rows]

    def list_activations(
        self,
        *,
        run_id: RunId | None = None,
        statuses: Collection[ActivationStatus] | None = None,
        limit: int = 1000,
    ) -> Sequence[ActivationRow]:
        """Return activations: the newest superstep first, in planner order within it."""
        columns = ACTIVATIONS.c
        query = select(*ACTIVATION_COLUMNS).where(of_project(ACTIVATIONS))
        if run_id is not None:
            query = query.where(columns.run_id == run_id)
        if statuses is not None and {*statuses} == {ActivationStatus.RUNNING} and run_id is None:
            # SQLite cannot know how few there are.
            query = query.where(columns.status == word(ActivationStatus.RUNNING))
            query = query.with_hint(ACTIVATIONS, "INDEXED BY ix_activations_leases", "sqlite")
        elif statuses is not None:
            query = query.where(columns.status.in_(statuses))
        query = query.order_by(columns.superstep.desc(), columns.position, columns.run_id).limit(limit)
        with self._activations.joined() as connection:
            return [activation_row(row) for row in connection.execute(query, self._of_project())]

    def _offer_late(self) -> int:
        """Release activations whose next attempt is due; return how many."""
        return self._activations.run(statements.OFFER_LATE, self._of_project(limit=_MAX_LATE))

    def _goes_before_added(self, above: int | None) -> bool:
        """Whether no unwritten activation has a higher priority."""
        return above is not None and all(int(row["priority"] or 0) <= above for row in self._added.values())


def _rank(row: Row) -> tuple[int, float, str, int]:
    """Return the rank of a row of a dispatch query; the lowest goes first."""
    run_id, priority, began_at, position = row[0], row[5], row[9], row[10]
    return (-priority, began_at, run_id, position)
