"""The server against clients that keep connections without asking anything."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agentic.executors.serving import Guarded, GuardRules, Listening, connections, make_token
from agentic.executors.serving.server import serving

HEAD = b"GET / HTTP/1.1\r\nhost: localhost\r\n"


async def endless(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("no request has the token")


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", HEAD, HEAD + b"content-length: 9999\r\n\r\nab"],
    ids=["nothing", "half a line", "no end of the headers", "half a body"],
)
async def test_a_connection_without_a_whole_request_is_closed(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE_S", 0.05)
    listening = Listening(port=0)
    with listening.bind() as bound:
        async with serving(Guarded(endless, GuardRules(token=make_token())), bound, listening):
            reader, writer = await asyncio.open_connection(*bound.getsockname())
            trickling = asyncio.create_task(trickle(writer, sent))
            answer = b""
            async with asyncio.timeout(10):
                with suppress(ConnectionResetError):
                    while part := await reader.read(1_000):
                        answer += part
            trickling.cancel()
            writer.close()
            assert answer[9:12] == (b"401" if sent.endswith(b"ab") else b"")


async def trickle(writer: asyncio.StreamWriter, sent: bytes) -> None:
    """Send a byte now and then, so that the connection is never silent for long."""
    writer.write(sent)
    while sent and not writer.is_closing():
        await asyncio.sleep(0.01)
        writer.write(b"x")
