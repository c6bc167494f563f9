"""A forward proxy between a browser and the network, which asks the address guard.

A browser resolves names and follows redirects by itself, and a page can make it request anything. So its
only way out is this proxy, which resolves each name, asks the guard of the requesting page, and connects to
exactly the address that was checked. The credential of its browser context identifies a page; without a
credential all requests are refused, also from other processes on this machine.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from agentic.core.browser import Politeness
from agentic.executors.browser.dialing import Dialer, Refused
from agentic.executors.browser.heads import RequestHead, read_head, rewritten

HEAD_S = 30.0
HANG_UP_S = 1.0
CHUNK_BYTES = 65_536
USER = "page"
DENIED = b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="pages"\r\n'
UNREACHABLE = b"HTTP/1.1 502 Bad Gateway\r\n"
NO_MORE = b"Content-Length: 0\r\nConnection: close\r\n\r\n"
CONNECTED = b"HTTP/1.1 200 Connection Established\r\n\r\n"


@dataclass(eq=False, slots=True, kw_only=True)
class Pass:
    """One page's permission to use the proxy, and its use so far.

    Attributes:
        politeness: The size limit.
        dialer: Connects to allowed addresses.
        password: Password of the user :data:`USER`.
        received_bytes: Bytes received so far over the network.
        refusals: Reasons for refused connections, by ``host:port``.
        connections: The page's connections.
        on_used_up: Called when the limit is exceeded.
    """

    politeness: Politeness
    dialer: Dialer
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    received_bytes: int = 0
    refusals: dict[str, Refused] = field(default_factory=dict)
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    on_used_up: Callable[[], None] | None = None

    @property
    def is_used_up(self) -> bool:
        """Whether the limit is exceeded."""
        return self.received_bytes > self.politeness.max_bytes


class GuardedProxy:
    """A forward proxy on loopback, for pages that hold a pass."""

    def __init__(self) -> None:
        self._passes: dict[str, Pass] = {}
        self._strangers: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=CHUNK_BYTES)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def aclose(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for given in list(self._passes.values()):
            await self.withdraw(given)
        await _end(self._strangers)

    def admit(self, politeness: Politeness) -> Pass:
        """Return a pass for a page."""
        given = Pass(politeness=politeness, dialer=Dialer(politeness.guard, politeness.proxy))
        self._passes[given.password] = given
        return given

    async def withdraw(self, given: Pass) -> None:
        """Revoke a pass, and end its connections."""
        self._passes.pop(given.password, None)
        await _end(given.connections)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="browser-proxy")
        self._strangers.add(task)
        task.add_done_callback(self._strangers.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                head = await read_head(reader)
            if given := self._passes.get(_password(head)):
                self._follow(given)
                await _through(given, head, reader, writer)
            else:
                writer.write(DENIED + NO_MORE)
                await writer.drain()
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # one side is gone, or is not HTTP; the browser notices that
        finally:
            await _hang_up(writer)

    def _follow(self, given: Pass) -> None:
        """Add this connection to a pass."""
        task = asyncio.current_task()
        if task is not None:
            given.connections.add(task)
            task.add_done_callback(given.connections.discard)


async def _through(
    given: Pass, head: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Connect to the target of ``head``, and pass on the data in both directions."""
    try:
        far_reader, far_writer = await given.dialer.connect(head.host, head.port)
    except Refused as exc:
        given.refusals[f"{head.host}:{head.port}"] = exc
        if head.is_tunnel:  # not for a plain request: the page would show this as the site's response
            writer.write(UNREACHABLE + NO_MORE)
            await writer.drain()
        return
    try:
        if head.is_tunnel:
            writer.write(CONNECTED)
            there = _copy(reader, far_writer)
        else:
            far_writer.write(rewritten(head))
            there = _copy_body(reader, far_writer, head.body_bytes)
        await _until_one_ends(there, _copy_counted(given, far_reader, writer))
    finally:
        await _hang_up(far_writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()


async def _copy_counted(given: Pass, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK_BYTES):
        given.received_bytes += len(chunk)
        if given.is_used_up:
            if given.on_used_up is not None:
                given.on_used_up()
            return
        writer.write(chunk)
        await writer.drain()


async def _copy_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
    """Pass on the body of one request, then wait for the end.

    A second request could have another target: it needs its own connection, to be checked.
    """
    while left and (chunk := await reader.read(min(left, CHUNK_BYTES))):
        left -= len(chunk)
        writer.write(chunk)
        await writer.drain()
    await reader.read(1)


async def _until_one_ends(*ways: Coroutine[object, object, None]) -> None:
    tasks = {asyncio.ensure_future(way) for way in ways}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _end(tasks)


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    ending = [task for task in tasks if task is not asyncio.current_task()]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection; wait only briefly for the other side to read the rest."""
    writer.close()
    try:
        async with asyncio.timeout(HANG_UP_S):
            await writer.wait_closed()
    except OSError:  # a TimeoutError is one, too
        writer.transport.abort()


def _password(head: RequestHead) -> str:
    scheme, _, value = head.field("proxy-authorization").partition(" ")
    if scheme.lower() != "basic":
        return ""
    with suppress(Base64Error, UnicodeDecodeError):
        return b64decode(value).decode().partition(":")[2]
    return ""
