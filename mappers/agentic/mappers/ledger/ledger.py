"""The ledger of durable runs in SQL, and its transactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Self

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from agentic.core.audit import Decision
from agentic.core.ledger import LedgerTransaction, LedgerUnavailableError, OnCommit
from agentic.mappers.audit import (
    add_decisions,
    first_decisions,
    mark_decisions,
    unpublished_decisions,
)
from agentic.mappers.catalog.projects import add_project, find_project
from agentic.mappers.database.database import Database
from agentic.mappers.database.engine import Synchronous, reason_of
from agentic.mappers.errors import DatabaseUnavailableError, DuplicateProjectError
from agentic.mappers.ledger.activations import SqlActivations
from agentic.mappers.ledger.base import UsesCursor
from agentic.mappers.ledger.connections import LedgerConnections
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


class SqlLedger:
    """The ledger of a project.

    Implements :class:`agentic.core.ledger.LedgerStore`. Any number of ledgers, in any number of processes,
    may work on one project. Transactions on SQLite take turns; on PostgreSQL they only wait for each other if
    they change one run, or a project with a limit.
    """

    def __init__(self, database: Database, *, project_id: str) -> None:
        """Create the ledger; nothing is read or written yet.

        Args:
            database: Migrated. On SQLite, create it with ``synchronous="FULL"``: facts that the ledger has
                reported must survive a power loss.
            project_id: Owns the runs; the runs of other projects are invisible.
        """
        self._connections = LedgerConnections(database, partial(unavailable, database))
        self._project_id = project_id

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        """Begin a transaction: on SQLite, after the transactions of other threads and processes.

        Raises:
            LedgerConflictError: The database undid it in favour of another one; begin it again.
            LedgerUnavailableError: The database cannot be used.
            LedgerError: This thread is in a transaction already.
        """
        cursor = self._connections.take()
        try:
            cursor.begin()
            transaction = SqlTransaction(cursor, self._project_id)
            yield transaction
            transaction.finish()
            cursor.commit()
        finally:
            self._connections.give_back(cursor)

    @classmethod
    def open(cls, url: str, *, project: str = "default", synchronous: Synchronous = "full") -> Self:
        """Return the ledger of a project in a database; a new project is added.

        Args:
            url: Of a migrated database, such as ``sqlite:///runs.db``.
            project: Name of the project.
            synchronous: When SQLite waits for the disk, as in :class:`Database`.

        Raises:
            DatabaseUrlError: ``url`` does not name a supported database.
            LedgerUnavailableError: The database cannot be used, or has no tables yet.
        """
        database = Database(url, synchronous=synchronous)
        try:
            with database.writing() as session:
                with suppress(DuplicateProjectError):
                    add_project(session, project)
                return cls(database, project_id=find_project(session, project).id)
        except (SQLAlchemyError, DatabaseUnavailableError) as exc:
            raise unavailable(database, reason_of(exc)) from exc

    def rest(self) -> None:
        """Release the connection kept on SQLite; other users continue with the database."""
        self._connections.rest()

    def close(self) -> None:
        """Close this process's connections to the database; the next transaction opens one again."""
        self._connections.close()


def unavailable(database: Database, reason: str) -> LedgerUnavailableError:
    """Return the error that says why a ledger cannot be used."""
    return LedgerUnavailableError(
        f"the ledger in {database.url} cannot be used: {reason}; check that it is running, has space and "
        "is up to date (`agentic db check`)"
    )
