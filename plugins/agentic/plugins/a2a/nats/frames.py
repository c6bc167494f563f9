"""The messages between a caller and a server on a bus. Pure.

A request is one message: method, parameters and headers, as JSON. Its answer is a sequence of frames to the
inbox of the request, numbered from 1, so that a lost one is noticed. A value that is too large for one
message comes in several frames. While the answer is not complete, a frame comes every few seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.bus import token
from agentic.core.types import JSONValue

MAX_PIECE_CHARS = 128 * 1024
"""Of one frame; a character is at most six bytes of JSON, and a message at most 1 MiB."""

BEAT_S = 1.0
"""Seconds between frames, at most."""


def subject_of(project: str, agent: str) -> str:
    """Return the subject of an agent."""
    return f"agentic.a2a.{token(project, agent)}"


class CallRequest(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    method: str = Field(max_length=64)
    params: dict[str, JSONValue] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)


class FrameKind(StrEnum):
    """The kinds of frames."""

    VALUE = "value"
    """A value: the result, or the next event."""

    ERROR = "error"
    """The request has failed; the last frame."""

    END = "end"
    """The answer is complete; the last frame."""

    BEAT = "beat"
    """The server still works on the answer."""


class AnswerFrame(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    number: PositiveInt
    kind: FrameKind
    text: str = Field(default="", description="JSON, or the next piece of it.")
    more: bool = Field(default=False, description="Whether the next frame has the next piece.")
    code: int = Field(default=0, description="Of an error, as in JSON-RPC.")

    def encoded(self) -> bytes:
        """Return it as a message."""
        return self.model_dump_json(exclude_defaults=True).encode()


class FrameNumbers:
    """Makes the frames of one answer."""

    def __init__(self) -> None:
        self._last = 0

    def value(self, text: str) -> Iterator[AnswerFrame]:
        """Return the frames of a value."""
        pieces = [text[at : at + MAX_PIECE_CHARS] for at in range(0, len(text), MAX_PIECE_CHARS)] or [""]
        for place, piece in enumerate(pieces, 1):
            yield self.frame(FrameKind.VALUE, piece, more=place < len(pieces))

    def frame(self, kind: FrameKind, text: str = "", *, more: bool = False, code: int = 0) -> AnswerFrame:
        """Return the next frame."""
        self._last += 1
        return AnswerFrame(number=self._last, kind=kind, text=text, more=more, code=code)


class LostFrameError(ConnectionError):
    """A frame is missing."""


class Joiner:
    """Joins frames to values.

    Args:
        max_chars: Of one value.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._next = 1
        self._pieces: list[str] = []
        self._size = 0

    def take(self, frame: AnswerFrame) -> str | None:
        """Take a frame, and return the value that it completes.

        Raises:
            LostFrameError: One before it is missing.
            ValueError: The value is too large.
        """
        if frame.number != self._next:
            raise LostFrameError(f"frame {self._next} of an answer is missing")
        self._next += 1
        if frame.kind is not FrameKind.VALUE:
            return None
        self._pieces.append(frame.text)
        self._size += len(frame.text)
        if self._size > self._max_chars:
            raise ValueError(f"a value of more than {self._max_chars} characters")
        if frame.more:
            return None
        text, self._pieces, self._size = "".join(self._pieces), [], 0
        return text
