"""XML read piece by piece, in little memory, from untrusted servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

MAX_DEPTH = 100
MAX_CHARACTERS = 100_000
PIECE_BYTES = 64 * 1024


class MarkupError(ValueError):
    """It is not XML, or is refused: it declares entities, or is nested too deep."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An element that was read.

    Attributes:
        path: Names of the elements around it and its own, outermost first, without prefixes.
        text: Directly in it; cut after 100,000 characters.
        attributes: As they stand there, names with their prefixes.
    """

    path: tuple[str, ...]
    text: str
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)


def elements(pieces: Iterable[bytes]) -> Iterator[Ended]:
    """Yield the elements of a document as they end; the elements around them are not kept.

    Raises:
        MarkupError: It cannot be read further.
    """
    reader = _Reader()
    try:
        for piece in pieces:
            for start in range(0, len(piece), PIECE_BYTES):  # so that only a few elements wait
                reader.parser.Parse(piece[start : start + PIECE_BYTES])
                yield from reader.take()
        reader.parser.Parse(b"", True)
    except expat.ExpatError as exc:
        raise MarkupError(f"it is not XML: {exc}") from None
    yield from reader.take()


class _Reader:
    def __init__(self) -> None:
        self._path: list[str] = []
        self._attributes: list[Mapping[str, str]] = []
        self._text: list[str] = []
        self._room = MAX_CHARACTERS
        self._ended: list[Ended] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity

    def take(self) -> list[Ended]:
        """Return the elements that have ended since the last time."""
        ended, self._ended = self._ended, []
        return ended

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise MarkupError(f"its elements are nested more than {MAX_DEPTH} levels deep")
        self._path.append(name.rpartition(":")[2])
        self._attributes.append(attributes)
        self._text, self._room = [], MAX_CHARACTERS

    def _end(self, _name: str) -> None:
        text = "".join(self._text).strip()
        self._ended.append(Ended(tuple(self._path), text, self._attributes.pop()))
        self._path.pop()
        self._text, self._room = [], MAX_CHARACTERS

    def _characters(self, text: str) -> None:
        if self._room > 0:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def _entity(self, name: str, *_declared: object) -> NoReturn:
        # A few of them, each built from the one before, expand to gigabytes.
        raise MarkupError(f"it declares the entity {name!r}")
