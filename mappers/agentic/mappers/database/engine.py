"""Engines for this project: one way to begin, wait and check on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, StatementError
from sqlalchemy.pool import ConnectionPoolEntry

from agentic.core.errors import text_of
from agentic.core.private import secure_sqlite
from agentic.core.settings import safe_url
from agentic.mappers.database.away import went_away
from agentic.mappers.database.driver import cursor_of
from agentic.mappers.database.postgresql import make_postgresql_engine
from agentic.mappers.errors import DatabaseUnavailableError, DatabaseUrlError

BEGIN_OPTION = "agentic_begin"
"""Execution option of a connection: how SQLite begins its transactions; None: already begun."""

BeginMode = Literal["DEFERRED", "IMMEDIATE"]

Synchronous = Literal["full", "normal"]
"""When SQLite waits for the disk: at each commit, or only when it moves its log into the file.

With ``normal``, a power loss may undo the newest commits; the death of a process undoes none.
"""

BUSY_TIMEOUT_S = 30.0
"""How long a connection to SQLite waits for another writer."""

WAL_PAGES = 4_000
"""Pages of 4 KiB in the log before it is moved into the file: four times SQLite's own limit."""

DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")


def parse_url(url: str) -> URL:
    """Read a database URL.

    Raises:
        DatabaseUrlError: It cannot be read, or names an unsupported database. The message contains neither
            user name nor password.
    """
    advice = "give sqlite:////absolute/path.db or postgresql+psycopg://user:password@host/database"
    try:
        parsed = make_url(url)
    except ArgumentError:
        # The text itself is not shown: an unreadable URL may still contain a password.
        raise DatabaseUrlError(f"AGENTIC_DATABASE_URL is not a database URL; {advice}") from None
    if parsed.drivername not in DRIVERS:
        raise DatabaseUrlError(f"{parsed.drivername!r} is not a supported database; {advice}")
    if parsed.get_backend_name() == "sqlite" and sqlite_path(parsed) is None:
        raise DatabaseUrlError(
            f"{safe_url(url)} names no file, so each thread would have its own database; {advice}"
        )
    return parsed


def sqlite_path(url: URL) -> Path | None:
    """Return the file behind a SQLite URL; None for other databases and for SQLite in memory."""
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or not name or ":memory:" in name or name.startswith("file:"):
        return None
    return Path(name)


def make_engine(url: URL, *, foreign_keys: bool = True, synchronous: Synchronous = "normal") -> Engine:
    """Return an engine for ``url``; nothing is connected yet.

    Args:
        url: From :func:`parse_url`.
        foreign_keys: False for migrations only: SQLite changes a table by copying and dropping it, which
            with enforced foreign keys would delete the rows that refer to it.
        synchronous: When SQLite waits for the disk.

    Raises:
        DatabaseUrlError: The driver is not installed.
    """
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY_TIMEOUT_S})
        _keep_private(engine, url)
        _prepare_sqlite(engine, foreign_keys=foreign_keys, synchronous=synchronous)
        return engine
    try:
        return make_postgresql_engine(url)
    except ModuleNotFoundError as exc:
        raise DatabaseUrlError(
            f"the driver of {url.drivername!r} is not installed ({exc.name}); "
            f"`pip install agentic-pipelines[postgres]`"
        ) from exc


@contextmanager
def begun(engine: Engine, mode: BeginMode) -> Iterator[Connection]:
    """Open a connection in a transaction, which is rolled back at the end unless committed.

    A ``DEFERRED`` transaction sees one state of the database. On SQLite it fails at once if it writes after
    another one wrote; an ``IMMEDIATE`` one waits for its turn at the start. On PostgreSQL, the latter waits
    at rows that another one writes, and each of its statements sees the current state.

    Raises:
        DatabaseUnavailableError: The database cannot be opened, or another writer does not end.
    """
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(engine.connect())
            connection.execution_options(**{BEGIN_OPTION: mode})
            if mode == "DEFERRED" and engine.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            connection.begin()
        except Exception as exc:
            if not (isinstance(exc, DBAPIError) or went_away(exc)):
                raise
            raise DatabaseUnavailableError(safe_url(str(engine.url)), reason_of(exc)) from exc
        yield connection


def reason_of(error: Exception) -> str:
    """Return the driver's message in one line, without the statement and its values."""
    original = error.orig if isinstance(error, StatementError) and error.orig else error
    said = getattr(getattr(original, "diag", None), "message_primary", None) or text_of(original)
    return " ".join(said.split())


def _keep_private(engine: Engine, url: URL) -> None:
    path = sqlite_path(url)

    @event.listens_for(engine, "do_connect")
    def _secure(*_: object) -> None:
        if path is not None:
            with suppress(OSError):  # SQLite explains the problem better
                secure_sqlite(path)


def _prepare_sqlite(engine: Engine, *, foreign_keys: bool, synchronous: Synchronous) -> None:
    @event.listens_for(engine, "connect")
    def _set_up(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        # The driver would begin only before a write and never before a SAVEPOINT or a SELECT;
        # SQLAlchemy's begin, below, does it instead.
        connection.isolation_level = None
        _enter_wal(connection)
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
        connection.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        # As on PostgreSQL, ids that differ only in case are two: a prefix of one must not find the other.
        connection.execute("PRAGMA case_sensitive_like=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if mode := connection.get_execution_options().get(BEGIN_OPTION, "DEFERRED"):
            with cursor_of(connection) as cursor:  # in half the time of SQLAlchemy's own way
                cursor.control(f"BEGIN {mode}")


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on, and wait for processes that do so at the same time.

    SQLite answers "locked" here without waiting itself: seen in 2 of 320 starts, 8 processes at once.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
