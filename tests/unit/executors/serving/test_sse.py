"""Server-sent events: frames, heartbeats, and a limit of open streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import StreamingResponse

from agentic.executors.serving.answers import json_text
from agentic.executors.serving.sse import EventStreams, Frame


async def some(count: int = 1) -> AsyncGenerator[Frame, None]:
    for number in range(count):
        yield Frame(data=str(number), id=str(number))


async def text_of(response: Any) -> str:
    assert isinstance(response, StreamingResponse)
    parts = [part async for part in response.body_iterator]
    return b"".join(part if isinstance(part, bytes) else str(part).encode() for part in parts).decode()


async def test_frames_are_sent_as_browsers_read_them() -> None:
    assert Frame(data="{}", event="kind", id="7").encode() == b"id: 7\nevent: kind\ndata: {}\n\n"
    assert await text_of(EventStreams().response(some(2))) == "id: 0\ndata: 0\n\nid: 1\ndata: 1\n\n"


async def test_a_silent_stream_says_that_it_is_still_here() -> None:
    is_quiet = asyncio.Event()

    async def late() -> AsyncGenerator[Frame, None]:
        await is_quiet.wait()
        yield Frame(data="x")

    response = EventStreams(heartbeat_s=0.01).response(late())
    assert isinstance(response, StreamingResponse)
    parts = []
    async for part in response.body_iterator:
        parts.append(part)
        is_quiet.set()
    assert parts[0] == b": still here\n\n"
    assert parts[-1] == b"data: x\n\n"


async def test_too_many_streams_are_refused_until_one_ends() -> None:
    streams = EventStreams(most=1)
    first = streams.response(some())
    assert isinstance(first, StreamingResponse)
    reading = aiter(first.body_iterator)
    await anext(reading)
    refused = streams.response(some())
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert [part async for part in reading] == []
    assert streams.response(some()).status_code == 200


async def test_a_reader_that_leaves_ends_the_frames() -> None:
    ended: list[str] = []

    async def endless() -> AsyncGenerator[Frame, None]:
        try:
            while True:
                yield Frame(data="x")
                await asyncio.sleep(0)
        finally:
            ended.append("frames")

    streams = EventStreams(most=1)
    response = streams.response(endless())
    assert isinstance(response, StreamingResponse)
    reading: Any = aiter(response.body_iterator)
    await anext(reading)
    await reading.aclose()
    assert ended == ["frames"]
    assert streams.response(some()).status_code == 200


def test_json_has_no_nan_and_keeps_odd_text() -> None:
    assert json_text({"a": [float("nan"), float("inf"), 1.5], "b": "\ud83d é"}) == (
        '{"a":[null,null,1.5],"b":"\\ud83d \\u00e9"}'
    )
