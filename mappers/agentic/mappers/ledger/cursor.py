"""One transaction of the ledger on a driver connection: its statements, its parts, and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.exc import OperationalError, SQLAlchemyError, StatementError

from agentic.core.ledger import LedgerConflictError, LedgerError, LedgerUnavailableError
from agentic.mappers.database.driver import CompiledStatement, DriverCursor, DriverStatement, Values
from agentic.mappers.database.engine import BEGIN_OPTION, reason_of
from agentic.mappers.database.postgresql import hide_detail

Row = tuple[Any, ...]
Translate = Callable[[str], LedgerUnavailableError]

_DEADLOCKS = ("40001", "40P01")
"""PostgreSQL's SQLSTATEs for a transaction that is rolled back in favour of another."""

_TAKEN = "23505"
"""SQLSTATE for a key that another transaction took at the same time."""


class LedgerCursor(DriverCursor):
    """Runs the statements of one transaction at a time, and translates errors into ledger errors.

    After an error, no statement runs until the failed part is undone, because the database may already have
    undone the transaction.
    """

    def __init__(self, engine: Engine, connection: PoolProxiedConnection, tell: Translate) -> None:
        """Take over a connection until it is closed.

        Args:
            engine: The engine of the connection.
            connection: Not in a transaction.
            tell: Returns the error for a reason why the ledger cannot be used.
        """
        super().__init__(engine.dialect, connection.cursor())
        self._engine = engine
        self._connection = connection
        self._tell = tell
        self._errors = (engine.dialect.loaded_dbapi.Error, UnicodeError)
        self._session_connection: Connection | None = None
        self._compiled: dict[CompiledStatement, DriverStatement] = {}
        self._is_lost = False
        self._is_sqlite = engine.dialect.name == "sqlite"
        self.is_committed = True

    def begin(self) -> None:
        """Begin a transaction."""
        self.is_committed = self._is_lost = False
        if self._is_sqlite:
            self._control("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit the transaction."""
        if self._is_lost:
            raise self._lost()
        try:
            if self._is_sqlite:
                self._cursor.execute("COMMIT")  # the driver reports no error if the transaction is gone
            else:
                self._connection.commit()
        except self._errors as exc:
            raise self._failed(exc) from exc
        self._session_connection = None
        self.is_committed = True

    def close(self) -> None:
        """Return the connection; uncommitted changes are undone."""
        if getattr(self._connection.driver_connection, "closed", False):
            self._connection.invalidate()  # returning it would roll back, and that fails
        self._connection.close()

    def run(self, statement: CompiledStatement, values: Values) -> int:
        """Run once; return the number of affected rows."""
        if self._is_lost:
            raise self._lost()
        text, arranged = self._compiled.get(statement) or self._compile(statement)
        try:
            self._cursor.execute(text, arranged(values))
        except self._errors as exc:
            raise self._failed(exc) from exc
        return self._cursor.rowcount

    def rows(self, statement: CompiledStatement, values: Values) -> Sequence[Row]:
        """Run once; return its rows."""
        if self._is_lost:
            raise self._lost()
        text, arranged = self._compiled.get(statement) or self._compile(statement)
        try:
            self._cursor.execute(text, arranged(values))
            return self._cursor.fetchall()
        except self._errors as exc:
            raise self._failed(exc) from exc

    def row(self, statement: CompiledStatement, values: Values) -> Row | None:
        """Run once; return its row, or None."""
        found = self.rows(statement, values)
        return found[0] if found else None

    def number(self, statement: CompiledStatement, values: Values) -> int:
        """Run a query for one number; return 0 without a row."""
        return (self.row(statement, values) or (0,))[0] or 0

    def run_each(self, statement: CompiledStatement, rows: Sequence[Values]) -> int:
        """Run once for each row; return the number of affected rows."""
        if self._is_lost:
            raise self._lost()
        text, arranged = self._compiled.get(statement) or self._compile(statement)
        try:
            self._cursor.executemany(text, [arranged(values) for values in rows])
        except self._errors as exc:
            raise self._failed(exc) from exc
        return self._cursor.rowcount

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """If the block raises, undo its changes and no others."""
        self._control("SAVEPOINT agentic_part")
        try:
            yield
        except BaseException:
            self._undo_part()
            raise
        self._control("RELEASE SAVEPOINT agentic_part")

    @contextmanager
    def joined(self) -> Iterator[Connection]:
        """Give SQLAlchemy's view of this transaction for rare operations, and translate errors."""
        if self._is_lost:
            raise self._lost()
        try:
            yield self.session_connection
        except SQLAlchemyError as exc:
            raise self._failed(exc) from exc

    @property
    def session_connection(self) -> Connection:
        """SQLAlchemy's view of this transaction; it is neither committed nor closed."""
        if self._session_connection is None:
            joined = Connection(self._engine, self._connection)
            joined.execution_options(**{BEGIN_OPTION: None})
            joined.begin()
            self._session_connection = joined
        return self._session_connection

    def meaning_of(self, error: Exception) -> LedgerError | None:
        """Translate an error of foreign code in this transaction; None: not an error of the ledger."""
        if self._is_lost:
            return self._tell(_reason(error))
        if isinstance(error, StatementError):
            if _state(error.orig) in _DEADLOCKS:
                return LedgerConflictError(_conflict(error))
            if isinstance(error, OperationalError) and not self._is_sqlite:
                return self._tell(_reason(error))
        # Wrapped by foreign code, or the driver's own: if this connection is dead, it is the ledger's error.
        if getattr(self._connection.driver_connection, "closed", False):
            return self._tell(_reason(error))
        return None

    def _control(self, statement: str) -> None:
        if self._is_lost:
            raise self._lost()
        try:
            self._cursor.execute(statement)
        except self._errors as exc:
            raise self._failed(exc) from exc

    def _undo_part(self) -> None:
        """Return to the start of the part, if the database still knows it."""
        try:
            self._cursor.execute("ROLLBACK TO SAVEPOINT agentic_part")
            self._cursor.execute("RELEASE SAVEPOINT agentic_part")
        except self._errors:
            self._is_lost = True
        else:
            self._is_lost = False

    def _compile(self, statement: CompiledStatement) -> DriverStatement:
        self._compiled[statement] = compiled = statement.compiled(self.dialect)
        return compiled

    def _lost(self) -> LedgerError:
        return self._tell("an earlier error rolled back this transaction")

    def _failed(self, error: Exception) -> LedgerError:
        self._is_lost = True
        hide_detail(error)
        if _state(error) in (*_DEADLOCKS, _TAKEN):
            return LedgerConflictError(_conflict(error))
        return self._tell(_reason(error))


def _state(error: BaseException | None) -> str:
    return getattr(getattr(error, "orig", error), "sqlstate", None) or ""


def _reason(error: Exception) -> str:
    return reason_of(error)


def _conflict(error: Exception) -> str:
    return f"conflict with another transaction of the ledger ({reason_of(error)}); repeat this one"
