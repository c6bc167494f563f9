"""Bodies that are too much, too slow, or have no end."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

MIB = 1 << 20
LINE = b"<p>There is always one more line than anybody wants to read.</p>\n"
BLOCK = (LINE * (MIB // len(LINE) + 1))[:MIB]
CHUNK = LINE * 64
ZEROS = bytes(MIB)


async def huge(mib: int) -> AsyncIterator[bytes]:
    """Yield ``mib`` MiB of text."""
    for _ in range(mib):
        yield BLOCK


async def endless() -> AsyncIterator[bytes]:
    """Yield text until nobody reads it any more."""
    while True:
        yield CHUNK
        await asyncio.sleep(0)


async def slow(count: int, every_s: float) -> AsyncIterator[bytes]:
    """Yield ``count`` bytes, one at a time."""
    for number in range(count):
        yield LINE[number % len(LINE) :][:1]
        await asyncio.sleep(every_s)


async def gzip_bomb(mib: int) -> AsyncIterator[bytes]:
    """Yield a gzip stream, about 1 KiB for each of the ``mib`` MiB of zeros in it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for _ in range(mib):
        if packed := packer.compress(ZEROS):
            yield packed
        await asyncio.sleep(0)
    yield packer.flush()
