"""Small pictures, the same bytes for the same name."""

from __future__ import annotations

import hashlib
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BITS, RGB = 8, 2


def png_of(name: str, width: int = 160, height: int = 90) -> bytes:
    """Return a PNG of one colour, which the name decides (https://www.w3.org/TR/png-3/)."""
    colour = hashlib.blake2b(name.encode(), digest_size=3).digest()
    row = b"\0" + colour * width  # the first byte: the row is not filtered
    head = struct.pack(">IIBBBBB", width, height, EIGHT_BITS, RGB, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(row * height)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
