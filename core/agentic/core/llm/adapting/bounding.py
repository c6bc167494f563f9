"""Clients of httpx2 with bounded answers, because SDKs read each to its end. Adapters over httpx2 load it."""

from __future__ import annotations

import copy
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Final, Literal, cast

import httpx2

from agentic.core.http.transports.unpacking import TooManyMembersError, Unpacker
from agentic.core.llm.adapting.failures import MAX_FAILURE_BYTES, UnreadableAnswerError

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Of an answer that is not a stream."""
ACCEPT_ENCODING = "gzip, deflate"
_PACKED: Final = frozenset({"gzip", "deflate", "br", "zstd", "compress"})
"""All other encodings are mistakes, such as ``utf-8``."""


def bounded_client(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Return a client on the same connections, whose answers are bounded, unpacked or not.

    Of a failure, the rest after ``MAX_FAILURE_BYTES`` is not read. Another answer of more than
    ``MAX_ANSWER_BYTES`` ends with an ``UnreadableAnswerError``. A stream of events has no end: its reader
    must bound each event.
    """
    made = copy.copy(client)
    made.headers = client.headers  # the setter copies them
    made.headers["accept-encoding"] = ACCEPT_ENCODING
    hooks = client.event_hooks
    made.event_hooks = {**hooks, "response": [_bound, *hooks["response"]]}
    return made


async def _bound(response: httpx2.Response) -> None:
    unpacker = _unpacker_for(response.headers.pop("content-encoding", ""))
    is_failure = not response.is_success
    is_stream = "event-stream" in response.headers.get("content-type", "")
    room = MAX_FAILURE_BYTES if is_failure else None if is_stream else MAX_ANSWER_BYTES
    body = cast(httpx2.AsyncByteStream, response.stream)
    response.stream = _BoundedBody(body, unpacker, room, is_cut=is_failure)


def _unpacker_for(encoding: str) -> Unpacker | None:
    names = [name for part in encoding.lower().split(",") if (name := part.strip()) in _PACKED]
    if not names:
        return None
    if len(names) > 1 or names[0] not in ("gzip", "deflate"):
        raise UnreadableAnswerError(
            f"its encoding is {encoding[:40]!r}, but the request accepts only {ACCEPT_ENCODING}"
        )
    return Unpacker(cast(Literal["gzip", "deflate"], names[0]))


class _BoundedBody(httpx2.AsyncByteStream):
    """A body of limited length.

    Args:
        body: As it comes.
        unpacker: Unpacks it, if it is packed.
        room: Bytes that it may have, unpacked; None for any number.
        is_cut: Whether a longer one ends there; it is an error otherwise.
    """

    def __init__(
        self, body: httpx2.AsyncByteStream, unpacker: Unpacker | None, room: int | None, *, is_cut: bool
    ) -> None:
        self._body = body
        self._unpacker = unpacker
        self._room = room
        self._is_cut = is_cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body, up to its longest length."""
        async for chunk in self._body:
            for piece in self._unpacked(chunk):
                if self._room is not None and len(piece) > self._room:
                    if not self._is_cut:
                        raise UnreadableAnswerError(
                            f"its answer is longer than {MAX_ANSWER_BYTES // 2**20} MiB"
                        )
                    yield piece[: self._room]
                    return
                self._room = None if self._room is None else self._room - len(piece)
                yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()

    def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield chunk
            return
        try:
            yield from self._unpacker.feed(chunk)
        except (zlib.error, TooManyMembersError) as exc:
            raise httpx2.RemoteProtocolError(f"its body cannot be unpacked ({exc})") from exc
