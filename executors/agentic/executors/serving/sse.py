"""Server-sent events: frames with ids for readers that continue after a cut, and a limit of open streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass

from starlette.responses import Response, StreamingResponse

from agentic.executors.serving.problems import problem

HEARTBEAT_S = 15.0
"""Proxies close connections that are silent for longer."""

MAX_STREAMS = 256
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event.

    Attributes:
        data: Its content, on one line.
        event: Its type; empty for ``message``.
        id: A reader that is cut sends the last one as ``Last-Event-ID``. Empty leaves it as it is.
    """

    data: str
    event: str = ""
    id: str = ""

    def encode(self) -> bytes:
        """Return it as it is sent."""
        lines = [f"id: {self.id}"] if self.id else []
        lines += [f"event: {self.event}"] if self.event else []
        return ("\n".join([*lines, f"data: {self.data}"]) + "\n\n").encode(errors="backslashreplace")


class EventStreams:
    """The open streams of a server.

    Args:
        most: Open at a time; more are refused, because each needs memory and a connection.
        heartbeat_s: Longest silence.
    """

    def __init__(self, most: int = MAX_STREAMS, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._most = most
        self._heartbeat_s = heartbeat_s
        self._open = 0

    def response(self, frames: AsyncGenerator[Frame, None]) -> Response:
        """Return the answer that sends frames until they end, or the reader leaves."""
        if self._open >= self._most:
            return problem(503, "too many open streams; try again soon", headers={"retry-after": "5"})
        return StreamingResponse(self._sent(frames), media_type="text/event-stream", headers=_HEADERS)

    async def _sent(self, frames: AsyncGenerator[Frame, None]) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            async with aclosing(frames), aclosing(_alive(frames, self._heartbeat_s)) as parts:
                async for part in parts:
                    yield part
        finally:
            self._open -= 1


async def _alive(frames: AsyncGenerator[Frame, None], every_s: float) -> AsyncGenerator[bytes, None]:
    """Yield the frames, and a comment whenever none came for a while."""
    coming: asyncio.Future[Frame] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(frames))
            await asyncio.wait([coming], timeout=every_s)
            if not coming.done():
                yield b": still here\n\n"
                continue
            try:
                frame = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield frame.encode()
    finally:
        if coming is not None and not coming.done():
            coming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await coming
