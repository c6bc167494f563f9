"""The place of a reader in the events of a run: the id of each event, so that a cut reader misses nothing."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from enum import IntEnum

from agentic.core.errors import AgenticError
from agentic.core.linear import LinearPattern

_PLACE = LinearPattern(r"[0-9]{1,15}(\.[0-9]{1,15}){5}")


class PlaceError(AgenticError, ValueError):
    """A ``Last-Event-ID`` is not the id of an event."""

    def __init__(self) -> None:
        super().__init__("the Last-Event-ID is not an id of this server's events; send it as it came")


class TextState(IntEnum):
    """The text of the next message, at a reader."""

    NONE = 0
    OPEN = 1
    DONE = 2
    WRONG = 3
    """It was closed, because the model began its reply again with other words; a snapshot follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlace:
    """How far a reader is in the events of a run.

    Attributes:
        sequence: Kept pieces (messages, results, requests) that the reader has whole.
        text: The text of the next message.
        chars: Characters of this text that the reader has.
        crc: CRC-32 of them, to recognize other words.
        parts: Further events of the next piece that the reader has.
        cursor: The place in the stream of live events.
    """

    sequence: int = 0
    text: TextState = TextState.NONE
    chars: int = 0
    crc: int = 0
    parts: int = 0
    cursor: int = 0

    def encode(self) -> str:
        """Return it as an event id."""
        return f"{self.sequence}.{self.text:d}.{self.chars}.{self.crc}.{self.parts}.{self.cursor}"

    @classmethod
    def decode(cls, text: str) -> StreamPlace:
        """Return the place that :meth:`encode` wrote.

        Raises:
            PlaceError: It is something else.
        """
        if len(text) > 100 or not _PLACE.fullmatch(text):
            raise PlaceError
        sequence, state, chars, crc, parts, cursor = map(int, text.split("."))
        if state > max(TextState):
            raise PlaceError
        return cls(sequence=sequence, text=TextState(state), chars=chars, crc=crc, parts=parts, cursor=cursor)

    def with_text(self, more: str) -> StreamPlace:
        """Return the place after more text of the open message."""
        crc = zlib.crc32(more.encode(errors="surrogatepass"), self.crc)
        return replace(self, chars=self.chars + len(more), crc=crc)

    def has_begun_with(self, text: str) -> bool:
        """Whether the text that the reader has is the beginning of a text."""
        begin = text[: self.chars].encode(errors="surrogatepass")
        return len(text) >= self.chars and zlib.crc32(begin) == self.crc

    def after_piece(self) -> StreamPlace:
        """Return the place after the whole next piece."""
        return StreamPlace(sequence=self.sequence + 1, cursor=self.cursor)
