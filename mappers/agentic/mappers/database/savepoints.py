"""Parts of a transaction that a session, or compiled statements, can undo separately."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from agentic.mappers.database.driver import DriverCursor, cursor_of

_UNDO = ("ROLLBACK TO SAVEPOINT agentic_part", "RELEASE SAVEPOINT agentic_part")


class JoinedSession(Session):
    """A session inside an outer transaction: it commits and rolls back parts of it.

    SQLAlchemy creates a savepoint per part, which takes 100 us. If a part begins with compiled statements,
    they create its savepoint in a tenth of the time; the rest of the part lies inside. Only the session's own
    methods end it: its ``SessionTransaction`` knows only savepoints of SQLAlchemy.

    Args:
        connection: In a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, join_transaction_mode="create_savepoint", expire_on_commit=False)
        self._around = connection
        self._is_hot = False

    def commit(self) -> None:
        """End a part; it is kept if the transaction is."""
        super().commit()
        self._end("RELEASE SAVEPOINT agentic_part")

    def rollback(self) -> None:
        """Undo all changes since the last end of a part."""
        super().rollback()
        self._end(*_UNDO)

    def in_transaction(self) -> bool:
        """Whether a part has begun."""
        return self._is_hot or super().in_transaction()

    def invalidate(self) -> None:
        """Drop the connection: the transaction is lost with all its parts."""
        self._is_hot = False
        super().invalidate()

    def close(self) -> None:
        """Undo all changes since the last end of a part, and release all objects."""
        super().close()
        self._undo_what_is_left()

    def reset(self) -> None:
        """Do the same as :meth:`close`; the session can be used again."""
        super().reset()
        self._undo_what_is_left()

    @contextmanager
    def hot_part(self) -> Iterator[DriverCursor]:
        """Open a cursor within the current part."""
        if super().in_transaction():
            with cursor_of(self.connection()) as cursor:
                yield cursor
            return
        with cursor_of(self._around) as cursor:
            if not self._is_hot:
                cursor.control("SAVEPOINT agentic_part")
                self._is_hot = True
            yield cursor

    def _undo_what_is_left(self) -> None:
        with suppress(SQLAlchemyError):  # closed after a failed transaction, which is rolled back whole
            self._end(*_UNDO)

    def _end(self, *statements: str) -> None:
        if not self._is_hot:
            return
        self._is_hot = False
        if self._around.invalidated:  # the connection is lost, so nothing is left to end
            return
        with cursor_of(self._around) as cursor:
            for statement in statements:
                cursor.control(statement)


@contextmanager
def hot_savepoint(session: Session) -> Iterator[DriverCursor]:
    """Open a cursor in its own part of the session's work: undone separately if the block raises.

    Raises:
        DBAPIError: The database refuses; a subclass of SQLAlchemy's.
    """
    session.flush()
    part = session.hot_part() if isinstance(session, JoinedSession) else cursor_of(session.connection())
    with part as cursor:
        cursor.control("SAVEPOINT agentic_rows")
        try:
            yield cursor
        except BaseException:
            cursor.control("ROLLBACK TO SAVEPOINT agentic_rows")
            cursor.control("RELEASE SAVEPOINT agentic_rows")
            raise
        cursor.control("RELEASE SAVEPOINT agentic_rows")
