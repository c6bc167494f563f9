"""Connections that are closed when nobody uses them, and opened when somebody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from agentic.core.http import Headers, HttpPolicy, HttpRequest, HttpResponse, SharedTransport
from agentic.core.http.transports import shared
from agentic.core.http.transports.port import Transport

REQUEST = HttpRequest(url="http://a.example/")


class Connection:
    """A transport that can be closed."""

    is_closed = False

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        if self.is_closed:
            raise RuntimeError("Session is closed")
        return HttpResponse(url=request.url, status=200, headers=Headers(), body=b"")


@dataclass
class Opened:
    """Every connection that was opened; closing one takes until ``may_close``."""

    connections: list[Connection] = field(default_factory=list)
    is_closing: asyncio.Event = field(default_factory=asyncio.Event)
    may_close: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self, policy: HttpPolicy) -> AbstractAsyncContextManager[Transport]:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Connection]:
        made = Connection()
        self.connections.append(made)
        try:
            yield made
        finally:
            self.is_closing.set()
            await self.may_close.wait()
            made.is_closed = True


@pytest.fixture
async def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    made = Opened()
    monkeypatch.setattr(shared, "open_transport", made.open)
    return made


async def send(transport: SharedTransport) -> int:
    return (await transport.send(REQUEST, timeout_s=1, max_bytes=1)).status


async def test_a_request_while_idle_connections_close_gets_connections_of_its_own(opened: Opened) -> None:
    transport = SharedTransport(HttpPolicy(), idle_s=0)
    await send(transport)
    await opened.is_closing.wait()
    assert await send(transport) == 200
    opened.may_close.set()
    first, second = opened.connections
    assert (first.is_closed, second.is_closed) == (False, False)
    assert await send(transport) == 200
    await transport.aclose()
    assert (first.is_closed, second.is_closed) == (True, True)


async def test_requests_that_come_together_share_connections(opened: Opened) -> None:
    opened.may_close.set()
    transport = SharedTransport(HttpPolicy(proxy=SecretStr("${secrets.PROXY}")), secret=secret)
    assert [*await asyncio.gather(send(transport), send(transport))] == [200, 200]
    assert len(opened.connections) == 1
    await transport.aclose()


async def secret(name: str) -> SecretStr:
    await asyncio.sleep(0)
    return SecretStr("http://127.0.0.1:3128")
