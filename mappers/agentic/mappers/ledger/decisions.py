"""Decisions in the ledger in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.audit import Decision
from agentic.mappers.audit import (
    add_decisions,
    first_decisions,
    mark_decisions,
    unpublished_decisions,
)
from agentic.mappers.ledger.base import UsesCursor


class SqlDecisions(UsesCursor):
    """Implements :class:`agentic.core.ledger.port.Decisions`."""

    def add_decisions(self, decisions: Sequence[Decision]) -> None:
        """Store decisions; skip any whose id exists already."""
        if decisions:
            with self._cursor.joined() as connection:
                add_decisions(connection, self._project_id, decisions)

    def decisions(self, *, unpublished: bool = False, limit: int = 1000) -> Sequence[Decision]:
        """Return decisions in the order they were stored."""
        read = unpublished_decisions if unpublished else first_decisions
        with self._cursor.joined() as connection:
            return read(connection, self._project_id, limit)

    def mark_decisions(self, ids: Sequence[str]) -> None:
        """Note that decisions were published."""
        if ids:
            with self._cursor.joined() as connection:
                mark_decisions(connection, self._project_id, ids)
