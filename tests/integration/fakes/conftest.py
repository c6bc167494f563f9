"""One server for the tests of a module, as good as new for each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from agentic.fakes.server import FakeServer


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(seed=5, stories=40, products=60) as started:
        yield started


@pytest.fixture
def fakes(server: FakeServer) -> FakeServer:
    server.control.reset()
    return server


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """A client that keeps cookies of addresses and does not follow redirects unless told."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session
