"""Free ports, and short exchanges with the servers on them."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import deque
from contextlib import suppress

from agentic.core.services.errors import ServiceError

_HOST = "127.0.0.1"
# Below the ports for outgoing connections (from 32,768 on Linux, 49,152 on macOS): while a server is away for
# a restart, none of its own reconnecting clients can take its port.
_CANDIDATES = range(20_000, 32_768)
_ANSWER_TIMEOUT_S = 2.0

# A process needs some time to listen on its port: the next caller gets another one.
_given_lately: deque[int] = deque(maxlen=100)
# A separate generator: if the global one is seeded, two processes would try the same ports in one order.
_random = random.SystemRandom()


def free_port(*wanted: int) -> int:
    """Return a free loopback TCP port: the first free one of ``wanted``, otherwise any.

    Raises:
        ServiceError: None was found.
    """
    others = (port for port in _random.sample(_CANDIDATES, k=300) if port not in _given_lately)
    for port in (*wanted, *others):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((_HOST, port))
                _given_lately.append(port)
                return port
    raise ServiceError(f"no free port found between {_CANDIDATES.start} and {_CANDIDATES.stop} on {_HOST}")


async def first_answer(port: int, request: bytes = b"") -> bytes:
    """Return the first answer of a server on loopback after ``request``, up to 64 KiB.

    Raises:
        OSError: No server listens, or no answer came within two seconds.
    """
    async with asyncio.timeout(_ANSWER_TIMEOUT_S):
        reader, writer = await asyncio.open_connection(_HOST, port)
        try:
            writer.write(request)
            return await reader.read(65_536)
        finally:
            writer.close()
