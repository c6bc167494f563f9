from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.services import ServiceSupervisor, nats_service

StartServer = Callable[[str], Awaitable[str]]


@pytest.fixture
async def start_server(tmp_path: Path) -> AsyncIterator[StartServer]:
    """Return a function that starts a server with the given configuration and returns its URL."""
    async with AsyncExitStack() as stack:

        async def start(config: str) -> str:
            service = nats_service(tmp_path)
            (tmp_path / "nats" / "server.conf").write_text(config, encoding="utf-8")
            supervisor = await stack.enter_async_context(ServiceSupervisor(tmp_path, [service]))
            return re.sub("//.*@", "//", supervisor.urls["nats"])  # this configuration knows no token

        yield start


@pytest.fixture
async def nats_url(tmp_path: Path) -> AsyncIterator[str]:
    """Return the URL of an embedded server of this test's own."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor.urls["nats"]


@pytest.fixture
async def nats_bus(nats_url: str) -> AsyncIterator[NatsBus]:
    """Return a bus on that server."""
    bus = NatsBus(nats_url)
    yield bus
    await bus.aclose()
