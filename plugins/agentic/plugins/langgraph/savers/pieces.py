"""Large values as pieces that are stored once. Pure.

LangGraph saves the whole value of a channel whenever it changes. A list that grows by one item in each step
would be stored again and again: n^2 bytes for n steps. Here a value is cut where its content says so, and
each piece is kept once for its thread, under its hash. A value that grows adds only its last pieces. The list
of its hashes is cut likewise, so it does not grow with the square either. These are the content-defined
chunks of rsync and restic; ``bytes.find`` finds the cuts, because a rolling hash in Python takes 100 ns a
byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

INLINE_BYTES = 1_024
"""Smaller values are kept in the record of their checkpoint."""

HASH_BYTES = 16

_HEAD_BYTES = 48
"""The beginning of a value has its length, which changes with every item: it is kept in the record."""

_MEMBERS = bytes(1 if (byte * 41 + 11) % 256 < 24 or byte in b"it" else 0 for byte in range(256))
_MARK = b"\x01\x01\x01"
"""Three bytes in a row out of these 26: about one place in 700 to 1,000 of texts, JSON and random bytes."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A value as it is kept.

    Attributes:
        kind: Type of its serialisation.
        head: Its first bytes; all of them if ``depth`` is 0.
        depth: Levels of pieces below: 1 if ``hashes`` are of its pieces, 2 if these are lists of hashes.
        hashes: Of the topmost pieces, one after the other.
    """

    kind: str
    head: bytes
    depth: int = 0
    hashes: bytes = b""

    def as_list(self) -> list[object]:
        """Return it for a record."""
        return [self.kind, self.head, self.depth, self.hashes] if self.depth else [self.kind, self.head]

    @classmethod
    def from_list(cls, found: Sequence[object]) -> Blob:
        """Read it from a record.

        Raises:
            TypeError: It is not one.
        """
        kind, head, depth, hashes = (*found, 0, b"")[:4] if len(found) == 2 else found
        if not (
            isinstance(kind, str)
            and isinstance(head, bytes)
            and isinstance(depth, int)
            and isinstance(hashes, bytes)
        ):
            raise TypeError("a value has no kind, head, depth and hashes")
        return cls(kind, head, depth, hashes)


def cut_up(kind: str, data: bytes) -> tuple[Blob, dict[bytes, bytes]]:
    """Return a value as it is kept, and its pieces by hash."""
    if len(data) <= INLINE_BYTES:
        return Blob(kind, data), {}
    head, rest, depth = data[:_HEAD_BYTES], data[_HEAD_BYTES:], 0
    pieces: dict[bytes, bytes] = {}
    while depth == 0 or len(rest) > INLINE_BYTES:
        hashes = []
        for piece in _cut(rest):
            name = blake2b(piece, digest_size=HASH_BYTES).digest()
            pieces[name] = piece
            hashes.append(name)
        rest, depth = b"".join(hashes), depth + 1
    return Blob(kind, head, depth, rest), pieces


def hashes_of(joined: bytes) -> list[bytes]:
    """Return the hashes of a list of them."""
    return [joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES)]


def is_piece(name: bytes, piece: bytes) -> bool:
    """Whether a piece is what its hash says."""
    return blake2b(piece, digest_size=HASH_BYTES).digest() == name


def joined_pieces(hashes: bytes, pieces: Mapping[bytes, bytes]) -> bytes:
    """Return the pieces of a list of hashes, one after the other.

    Raises:
        KeyError: One is missing.
    """
    return b"".join(pieces[name] for name in hashes_of(hashes))


def _cut(data: bytes) -> Iterator[bytes]:
    """Yield the pieces of a value; they begin and end alike wherever equal content is."""
    least, most = _sizes(len(data))
    marks = data.translate(_MEMBERS)
    start = 0
    while start < len(data):
        end = min(start + most, len(data))
        found = marks.find(_MARK, start + least, end)
        if found >= 0:
            end = found + len(_MARK)
        yield data[start:end]
        start = end


def _sizes(size: int) -> tuple[int, int]:
    """Return the least and the greatest size of pieces: larger for large values, in three steps.

    A value that grows over a step is stored once more; with two steps, that adds less than its size.
    """
    if size <= 2 * 1_024 * 1_024:
        return 512, 4_096
    return (4_096, 32_768) if size <= 64 * 1_024 * 1_024 else (32_768, 262_144)
