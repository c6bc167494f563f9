"""A server that sends exactly the bytes of a test: valid, invalid, slow or none."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Responder = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """Reads one request per connection, then answers as configured and hangs up.

    Attributes:
        port: On 127.0.0.1.
        requests: Heads and bodies as received.
    """

    def __init__(self, answer: bytes | Responder) -> None:
        self._answer = answer
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[bytes] = []
        self.port = 0

    @property
    def url(self) -> str:
        """Its root over plain http."""
        return f"http://127.0.0.1:{self.port}/"

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.create_task(self._handle(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def finish(self) -> None:
        """Wait until every connection has ended; endless ones are stopped."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # The client may hang up at any time, and some tests require it.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._respond(reader, writer)
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        self.requests.append(head + await reader.readexactly(int(length or b"0")))
        if isinstance(self._answer, bytes):
            writer.write(self._answer)
            await writer.drain()
        else:
            await self._answer(reader, writer)


@asynccontextmanager
async def listening(answer: bytes | Responder, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    """Serve on a free port of 127.0.0.1.

    Args:
        answer: The bytes to send, or a function that sends them.
        tls: Certificate and key, for https.
    """
    peer = Peer(answer)
    server = await asyncio.start_server(peer.accept, "127.0.0.1", 0, ssl=tls, limit=1024 * 1024)
    peer.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield peer
        finally:
            await peer.finish()


def page(body: bytes, *fields: str) -> bytes:
    """Return a complete answer with status 200."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def stay_silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Send nothing until the client hangs up."""
    await reader.read()


async def dribble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a body one byte at a time."""
    await endless(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", b"x", pause_s=0.01)(_, writer)


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Break the connection in the middle of a body."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello")
    await writer.drain()
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def endless(head: bytes, piece: bytes, *, pause_s: float = 0) -> Responder:
    """Return an answer that sends ``piece`` again and again."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer
