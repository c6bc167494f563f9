"""Connections to PostgreSQL for this project: they never wait forever, and errors never show a row."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InternalError, InvalidatePoolError, OperationalError, StatementError
from sqlalchemy.pool import ConnectionPoolEntry

if TYPE_CHECKING:
    from psycopg import Connection

CONNECTING = {
    "application_name": "agentic",
    "connect_timeout": "10",
    # Detects a silently lost server after a minute; the default of most systems is two hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Default options of the driver; options in the URL override them."""

# The first is also SQLite's wait. The second ends the transaction, and with it the locks, of a frozen or
# disconnected process. Set here and not at connect, because many poolers refuse that.
_LIMITS = """
SELECT set_config(name, value, false)
FROM (VALUES ('lock_timeout', '30s'), ('idle_in_transaction_session_timeout', '60s')) AS ours (name, value)
WHERE current_setting(name) = '0'
"""

_ABOUT_VALUES = ("22", "23", "42804", "42846", "54")
"""Bad data, broken constraints, wrong types, texts too long for an index."""


def make_postgresql_engine(url: URL) -> Engine:
    """Return an engine; existing settings of the URL, the role or the server stay."""
    url = url.set(query={**CONNECTING, **url.query})
    engine = create_engine(url, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _limit(connection: Connection, _entry: ConnectionPoolEntry) -> None:
        connection.execute(_LIMITS)
        connection.commit()

    @event.listens_for(engine, "checkout")
    def _drop_closed(connection: Connection, _entry: ConnectionPoolEntry, _user: object) -> None:
        if connection.closed or _has_news(connection.fileno()):
            raise InvalidatePoolError

    @event.listens_for(engine, "handle_error")
    def _hide(context: ExceptionContext) -> None:
        hide_detail(context.original_exception, context.sqlalchemy_exception)

    return engine


def hide_detail(error: BaseException, wrapped: BaseException | None = None) -> None:
    """Remove the detail from a driver error and its wrapper: it shows the values of the row."""
    detail = getattr(getattr(error, "diag", None), "message_detail", None)
    for one in (error, wrapped):
        if detail and one:
            one.args = (str(one.args[0]).replace(detail, "not shown"), *one.args[1:])


def refuses_values(error: StatementError) -> bool:
    """Whether the database refuses these values, and does not fail itself."""
    if state := _state(error):
        return state.startswith(_ABOUT_VALUES)
    return not isinstance(error, OperationalError | InternalError)


def _has_news(file: int) -> bool:
    """Whether the server sent an unexpected message: usually, that it closes the connection.

    SQLAlchemy's own check queries the server, which takes as long as a statement.
    """
    sockets = select.poll()
    sockets.register(file, select.POLLIN)
    return bool(sockets.poll(0))


def _state(error: StatementError) -> str:
    """Return PostgreSQL's code of the error; empty for errors of the driver or SQLite."""
    return getattr(error.orig, "sqlstate", None) or ""
