"""The connections of a ledger: one per transaction, and on SQLite one for all."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from agentic.core.ledger import LedgerError
from agentic.mappers.database.database import Database
from agentic.mappers.database.engine import BUSY_TIMEOUT_S, reason_of
from agentic.mappers.ledger.cursor import LedgerCursor, Translate


@dataclass(slots=True, eq=False)
class _Process:
    """Resources of one process: a child process must not use its connections or wait for its threads."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    kept: LedgerCursor | None = None


class LedgerConnections:
    """Lends cursors for transactions.

    On SQLite, the threads of a process take turns with one permanent connection: waiting inside SQLite
    sleeps for milliseconds, and a pool checkout with its return costs as much as a third of a step's
    statements.
    """

    def __init__(self, database: Database, tell: Translate) -> None:
        self._database = database
        self._tell = tell
        self._takes_turns = database.engine.dialect.name == "sqlite"
        self._processes: dict[int, _Process] = {}
        self._thread = threading.local()

    def take(self) -> LedgerCursor:
        """Return a cursor for a transaction of this thread; :meth:`give_back` it.

        Raises:
            LedgerUnavailableError: The database cannot be used, or another thread does not end its
                transaction.
            LedgerError: This thread is in a transaction already.
        """
        if getattr(self._thread, "is_busy", False):
            raise LedgerError(
                "this thread is already in a transaction of the ledger; continue in that one, or open a "
                "part() of it"
            )
        process = self._process
        if self._takes_turns and not process.turn.acquire(timeout=BUSY_TIMEOUT_S):
            raise self._tell("a transaction of another thread does not end")
        try:
            cursor = self._opened(process)
        except BaseException:
            self._end_turn(process)
            raise
        self._thread.is_busy = True
        return cursor

    def give_back(self, cursor: LedgerCursor) -> None:
        """Take back a cursor, with any result of its transaction."""
        process = self._process
        self._thread.is_busy = False
        try:
            if self._takes_turns and cursor.is_committed:
                process.kept = cursor
            else:
                cursor.close()
        finally:
            self._end_turn(process)

    def rest(self) -> None:
        """Release the connection of this process, once its users are done."""
        process = self._process
        with process.turn:
            if process.kept is not None:
                process.kept.close()
                process.kept = None

    def close(self) -> None:
        """Close the connection of this process, and the database."""
        self.rest()
        self._database.dispose()

    @property
    def _process(self) -> _Process:
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, _Process())

    def _opened(self, process: _Process) -> LedgerCursor:
        kept, process.kept = process.kept, None
        if self._database.is_missing:  # connecting would create an empty file
            if kept is not None:
                kept.close()
            raise self._tell("the file does not exist")
        return kept or self._connected()

    def _connected(self) -> LedgerCursor:
        engine = self._database.engine
        try:
            return LedgerCursor(engine, engine.raw_connection(), self._tell)
        except (engine.dialect.loaded_dbapi.Error, SQLAlchemyError) as exc:
            raise self._tell(reason_of(exc)) from exc

    def _end_turn(self, process: _Process) -> None:
        if self._takes_turns:
            process.turn.release()
