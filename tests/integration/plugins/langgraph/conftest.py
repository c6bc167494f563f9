"""Savers on every store, and graphs to keep in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agentic.core.bus.memory.kv import MemoryKeyValue
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.mappers import Database, add_project
from agentic.plugins.langgraph import NatsSaver, SqlSaver
from agentic.plugins.langgraph.savers.saver import AgenticSaver

STORES = ["bucket", "sqlite", pytest.param("postgresql", marks=pytest.mark.slow), "nats"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nats_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """An embedded server of this module's own."""
    home: Path = tmp_path_factory.mktemp("nats")
    async with ServiceSupervisor(home, [nats_service(home)]) as supervisor:
        yield supervisor.urls["nats"]


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of store."""
    return str(request.param)


@pytest.fixture
def backend(kind: str) -> str:
    """The kind of database, for those that have one."""
    return kind


@pytest.fixture
def project(kind: str, request: pytest.FixtureRequest) -> Iterator[tuple[Database, str] | None]:
    """A database with one project, if the store is one."""
    if kind not in ("sqlite", "postgresql"):
        yield None
        return
    database = Database(request.getfixturevalue("whole_url"))
    with database.writing() as session:
        project_id = add_project(session, "p").id
    yield database, project_id
    database.dispose()


@pytest.fixture
def server(kind: str, request: pytest.FixtureRequest) -> str:
    """The URL of the server, if the store is one."""
    return str(request.getfixturevalue("nats_url")) if kind == "nats" else ""


@pytest.fixture
async def savers(
    kind: str, project: tuple[Database, str] | None, server: str, request: pytest.FixtureRequest
) -> AsyncIterator[Any]:
    """A function that makes savers of the same threads, as two processes have."""
    if project is not None:
        database, project_id = project
        yield lambda: SqlSaver(database, project_id=project_id)
    elif kind == "bucket":
        bucket = MemoryKeyValue()
        yield lambda: NatsSaver(bucket)
    else:
        async with (
            NatsSaver.open(server, project=request.node.name) as first,
            NatsSaver.open(server, project=request.node.name) as second,
        ):
            opened = [second, first]
            yield opened.pop


@pytest.fixture
def saver(savers: Any) -> AgenticSaver:
    """A saver."""
    made: AgenticSaver = savers()
    return made
