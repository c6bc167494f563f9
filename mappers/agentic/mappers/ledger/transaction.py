"""A transaction of the ledger in SQL, and the functions that join it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from agentic.core.audit import Decision
from agentic.core.ledger import OnCommit
from agentic.mappers.audit import (
    add_decisions,
    first_decisions,
    mark_decisions,
    unpublished_decisions,
)
from agentic.mappers.ledger.activations import SqlActivations
from agentic.mappers.ledger.base import UsesCursor
from agentic.mappers.ledger.queues import SqlQueues
from agentic.mappers.ledger.runs import SqlRuns
from agentic.mappers.ledger.states import SqlStates


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


class SqlTransaction(SqlRuns, SqlActivations, SqlQueues, SqlStates, SqlDecisions):
    """Implements :class:`agentic.core.ledger.LedgerTransaction`."""

    def apply(self, functions: Sequence[OnCommit]) -> None:
        """Call functions with the session of this transaction, each in its own part.

        Raises:
            LedgerConflictError: The database undid the transaction in favour of another one.
            LedgerUnavailableError: The database can no longer be used.
            Exception: A function raised it.
        """
        if not functions:
            return
        connection = self._cursor.session_connection
        with Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session:
            for function in functions:
                self._apply(function, session)

    def _apply(self, function: OnCommit, session: Session) -> None:
        try:
            with self.savepoint():
                try:
                    function(session)
                    session.commit()
                finally:
                    with suppress(SQLAlchemyError):
                        session.rollback()
        except Exception as exc:
            if meaning := self._cursor.meaning_of(exc):
                raise meaning from exc
            raise
