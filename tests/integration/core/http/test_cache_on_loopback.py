"""A site that counts what it sends."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.http import HttpPolicy, MemoryCache, open_fetcher
from agentic.core.testing.http_peer import listening

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("transport", ["aiohttp", "httpx2", "curl_cffi"])
async def test_a_page_that_has_not_changed_costs_its_head_alone(transport: str) -> None:
    body = b"<p>hello" * 20_000
    sent: list[int] = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_same = b'if-none-match: "1"' in peer.requests[-1].lower()
        whole = b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: %d\r\n\r\n' % len(body) + body
        data = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n' if is_same else whole
        sent.append(len(data))
        writer.write(data)
        await writer.drain()

    policy = HttpPolicy.model_validate(
        {
            "allow_private_hosts": ["127.0.0.1"],
            "obey_robots": False,
            "cache": "revalidate",
            "transport": transport,
        }
    )
    async with listening(answer) as peer, open_fetcher(policy, cache=MemoryCache()) as fetcher:
        responses = [await fetcher.fetch(peer.url) for _ in range(3)]
    assert [response.body for response in responses] == [body] * 3
    assert [response.is_unchanged for response in responses] == [False, True, True]
    assert sent[0] > len(body)
    assert max(sent[1:]) < 100
