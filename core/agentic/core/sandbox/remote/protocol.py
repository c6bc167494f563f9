"""The messages between a client and a worker of sandboxes.

A client asks on the pool's subject; each worker with a free place offers one, on a subject of its own for
this run. The client takes the first offer and sends the job in pieces; it cancels the others, which would
expire. Then the worker sends output as it comes, and the result in pieces. Both send signs of life, and
fail when the other is silent.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.bus import token
from agentic.core.sandbox.errors import SandboxFileError

PIECE_BYTES = 256 * 1024
"""Jobs, output and results travel in pieces of this size: below the limit of every server."""
MOST_BYTES = 96 * 1024 * 1024
"""Most bytes of a job or a result on its way; base64 makes a third more of its files."""
ALIVE_S = 2.0
"""Seconds between two signs of life."""
SILENT_S = 30.0
"""Seconds of silence after which the other side counts as lost."""
LATE_S = 300.0
"""Seconds after its limit of time until a job without a result counts as lost."""
OFFER_S = 10.0
"""Seconds that an offer keeps its place."""

Kind = Literal["ask", "offer", "job", "alive", "cancel", "stdout", "stderr", "result", "failed"]


class Head(BaseModel):
    """The first line of a message; its piece follows.

    Attributes:
        kind: Its kind.
        number: Of a piece, from 0; pieces arrive in order, or the run is lost.
        is_last: Whether it is the last piece of its job, or of its result.
        error: Of ``failed``: the class of an error of the worker's sandbox.
        text: Its message.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    kind: Kind
    number: int = Field(default=0, ge=0)
    is_last: bool = False
    error: str = ""
    text: str = ""


def packed(kind: Kind, piece: bytes = b"", **facts: object) -> bytes:
    """Return a message with fields of a :class:`Head`."""
    head = Head.model_validate({"kind": kind, **facts})
    return head.model_dump_json(exclude_defaults=True).encode() + b"\n" + piece


def unpacked(payload: bytes) -> tuple[Head, bytes]:
    """Return the head and the piece of a message.

    Raises:
        ValueError: It is not one.
    """
    line, _, piece = payload.partition(b"\n")
    return Head.model_validate_json(line), piece


def pieces_of(content: bytes) -> list[tuple[int, bytes, bool]]:
    """Return the numbered pieces of a content, and whether each is the last.

    Raises:
        SandboxFileError: It is too long for the other side.
    """
    if len(content) > MOST_BYTES:
        raise SandboxFileError(
            f"a job or a result has {len(content)} bytes, but {MOST_BYTES} can travel; bring or keep fewer "
            "files"
        )
    cut = [content[at : at + PIECE_BYTES] for at in range(0, max(len(content), 1), PIECE_BYTES)]
    return [(number, piece, number == len(cut) - 1) for number, piece in enumerate(cut)]


class Assembly:
    """Puts pieces together."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._count = 0

    def add(self, head: Head, piece: bytes) -> bytes | None:
        """Add a piece; return the whole content after the last one.

        Raises:
            ValueError: A piece is missing, or the content is too long.
        """
        if head.number != self._count or len(self._content) + len(piece) > MOST_BYTES:
            raise ValueError(f"piece {head.number} came instead of {self._count}, or the content is too long")
        self._count += 1
        self._content += piece
        return bytes(self._content) if head.is_last else None


def subject_of(pool: str) -> str:
    """Return the subject of a pool of workers."""
    return f"agentic.sandbox.{token(pool)}"


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks until all have ended.

    Until Python 3.12, ``wait_for`` in the client of a server may lose a cancellation that comes together with
    its answer; a loop that sends would then never end.
    """
    left: set[asyncio.Future[Any]] = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=1.0)
