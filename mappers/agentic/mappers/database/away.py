"""Distinguishes an unavailable database from one that refuses a request."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError, DisconnectionError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from agentic.core.errors import StoreUnavailableError
from agentic.core.ledger import LedgerConflictError

_GONE = ("08", "57P", "53300", "25P03")
"""PostgreSQL's SQLSTATEs: connection lost, server stopping or starting, no free connection, session ended."""

_IN_THE_WAY = ("40001", "40P01", "55P03")
"""Serialization failure, deadlock, lock timeout."""

_SQLITE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_PROTOCOL,
    }
)

_MAX_CHAIN = 50


def went_away(error: BaseException) -> bool:
    """Whether an error, or a cause of it, says that a database is unavailable at the moment.

    It may come from this project, SQLAlchemy or the driver, at any statement, flush or commit, and foreign
    code may have wrapped it.
    """
    return any(_is_away(one) for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, the members of groups, and their causes."""
    left, seen = [error], 0
    while left and seen < _MAX_CHAIN:  # a cause may lead back to its effect
        one = left.pop()
        seen += 1
        yield one
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions
        cause = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        if cause is not None:
            left.append(cause)


def _is_away(error: BaseException) -> bool:
    match error:
        case StoreUnavailableError() | LedgerConflictError() | PoolTimeoutError():
            return True
        case DisconnectionError() | InvalidatePoolError():
            return True
        case DBAPIError():
            return error.connection_invalidated or (error.orig is not None and _is_away(error.orig))
        case sqlite3.OperationalError():
            return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _SQLITE
    return _is_away_of_postgresql(error)


def _is_away_of_postgresql(error: BaseException) -> bool:
    """Look at an error of the driver by its name: it need not be installed."""
    names = {cls.__name__ for cls in type(error).__mro__ if cls.__module__.partition(".")[0] == "psycopg"}
    if not names & {"OperationalError", "InterfaceError"}:
        return False
    state = getattr(error, "sqlstate", None)
    if state is None:  # the driver's own: closed socket, no answer, unknown host name
        return "InterfaceError" not in names or "closed" in str(error)
    return str(state).startswith((*_GONE, *_IN_THE_WAY))
