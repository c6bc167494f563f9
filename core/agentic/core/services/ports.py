"""Free ports, and short talks with whoever listens there."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import deque
from contextlib import suppress

from agentic.core.services.errors import ServiceError

_HOST = "127.0.0.1"
# Below the ports that systems give to outgoing connections (from 32,768 on Linux, 49,152 on macOS): while a
# server is away for a restart, none of its own reconnecting clients can take its port.
_CANDIDATES = range(20_000, 32_768)
_ANSWER_TIMEOUT_S = 2.0

# Who was given a port takes a while to listen there: the next one who asks gets another.
_given_lately: deque[int] = deque(maxlen=100)
# Not the generator of all: where that is seeded, two processes would look at the same ports in one order.
_random = random.SystemRandom()


def free_port(*wanted: int) -> int:
    """Return a loopback TCP port nobody listens on now: the first of ``wanted`` that is free, else any.

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
    """Return what a server on loopback says first after ``request``, up to 64 KiB.

    Raises:
        OSError: Nobody listens, or no answer came within two seconds.
    """
    async with asyncio.timeout(_ANSWER_TIMEOUT_S):
        reader, writer = await asyncio.open_connection(_HOST, port)
        try:
            writer.write(request)
            return await reader.read(65_536)
        finally:
            writer.close()
