"""Unpacks gzip and deflate step by step, in little memory and in time that grows with the output."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal

STEP_BYTES = 64 * 1024  # unpacked at a time: a bomb is noticed before it fills more than this
SLICE_BYTES = 4 * 1024  # packed, after the first member: the rest is copied for each member
GZIP_MAGIC = b"\x1f\x8b"
# Files of many members are fine, as `bgzip` writes them (64 KiB each); many empty members are an attack.
FREE_MEMBERS = 1_000
MEMBER_BYTES = 1_024  # minimum average size of each further member


class TooManyMembersError(ValueError):
    """It has more gzip members than its content explains."""

    def __init__(self) -> None:
        super().__init__("it consists of thousands of nearly empty gzip members")


class Unpacker:
    """Takes packed bytes piece by piece.

    Data after the last gzip member is ignored, as in browsers.

    Args:
        encoding: The encoding; ``deflate`` with or without the two bytes of RFC 1950.
    """

    def __init__(self, encoding: Literal["gzip", "deflate"]) -> None:
        self._encoding = encoding
        self._head = b""
        self._member: zlib._Decompress | None = None
        self._members = 0
        self._unpacked_bytes = 0
        self._is_over = False

    @property
    def is_whole(self) -> bool:
        """Whether it may end here: it is empty, or the last member is complete."""
        return not self._head and (self._member is None or self._member.eof)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the unpacked content of the next piece, at most 64 KiB at a time.

        Raises:
            zlib.error: It is damaged.
            TooManyMembersError: See there.
        """
        view, self._head = memoryview(self._head + data if self._head else data), b""
        at = 0
        while at < len(view) and not self._is_over:
            if self._member is None or self._member.eof:
                if len(view) - at < 2:
                    self._head = bytes(view[at:])
                    return
                if self._member is not None and view[at : at + 2] != GZIP_MAGIC:
                    self._is_over = True
                    return
                self._member = self._opened(view[at : at + 2])
            taken = view[at : at + (STEP_BYTES if self._members == 1 else SLICE_BYTES)]
            yield from self._unpacked(self._member, taken)
            at += len(taken) - len(self._member.unused_data)

    def _unpacked(self, member: zlib._Decompress, data: memoryview | bytes) -> Iterator[bytes]:
        """Yield the unpacked ``data``, up to the end of the member."""
        while True:
            piece = member.decompress(data, STEP_BYTES)
            self._unpacked_bytes += len(piece)
            if piece:
                yield piece
            data = member.unconsumed_tail
            if member.eof or (not data and len(piece) < STEP_BYTES):
                return

    def _opened(self, data: memoryview) -> zlib._Decompress:
        self._members += 1
        if self._members > FREE_MEMBERS + self._unpacked_bytes // MEMBER_BYTES:
            raise TooManyMembersError
        if self._encoding == "gzip":
            return zlib.decompressobj(16 + zlib.MAX_WBITS)
        # Some servers omit the two bytes of RFC 1950 at the start of this encoding.
        is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
