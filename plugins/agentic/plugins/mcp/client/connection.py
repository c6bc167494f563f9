"""A connection to a server: one task opens it, and the same task closes it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mcp import Client, MCPError, types

from agentic.core.logging import get_logger
from agentic.plugins.mcp.client.errors import McpConnectionError, reason_of
from agentic.plugins.mcp.client.transports import ServerWay

log = get_logger(__name__)

T = TypeVar("T")
OPENING_S = 60.0
"""For the start of a program, or a first request; ``npx`` downloads a package first."""


class ConnectionLostError(McpConnectionError):
    """The connection ended during a request. The server may have done the work."""


@dataclass(slots=True)
class _Session:
    """One session with a server, owned by a task."""

    loop: asyncio.AbstractEventLoop
    opened: asyncio.Future[Client]
    closing: asyncio.Event
    owner: asyncio.Task[None] = field(init=False)


class McpConnection:
    """Requests to a server. It connects at the first request, and again after a connection is lost.

    The SDK's client must be closed by the task that opened it (else: "Attempted to exit cancel scope in a
    different task"), while agents call tools from tasks of their own. So a task of each session only opens
    it, waits, and closes it.

    Args:
        way: The way to the server.
        make_client: Makes a client of the SDK for a target.
    """

    def __init__(self, way: ServerWay, make_client: Callable[[object], Client]) -> None:
        self._way = way
        self._make_client = make_client
        self._session: _Session | None = None
        self._opening: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    async def request(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Return the result of requests over the connection.

        Raises:
            McpConnectionError: The server cannot be reached.
            ConnectionLostError: The connection ended before the result.
        """
        session = await self._live_session()
        working = asyncio.ensure_future(work(session.opened.result()))
        try:
            await asyncio.wait({working, session.owner}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _cancelled(working)
            raise
        if not working.done():
            await _cancelled(working)
            raise self._lost()
        try:
            return working.result()
        except MCPError as exc:
            if exc.error.code != types.CONNECTION_CLOSED:
                raise
            # A program that has ended leaves its session open, and no request would pass it any longer.
            await self._drop(session)
            raise self._lost() from None

    async def aclose(self) -> None:
        """Close the session. The next request opens another one."""
        if self._session is not None:
            await self._drop(self._session)

    async def _drop(self, session: _Session) -> None:
        if self._session is session:
            self._session = None
        if session.loop is asyncio.get_running_loop():  # else it has ended, and the owner with it
            session.closing.set()
            await asyncio.wait({session.owner})

    def _lost(self) -> ConnectionLostError:
        return ConnectionLostError(self._way.label, self._why("the connection was lost"))

    async def _live_session(self) -> _Session:
        loop = asyncio.get_running_loop()
        if loop not in self._opening:
            self._opening = {loop: asyncio.Lock()}  # a lock belongs to one loop
        async with self._opening[loop]:
            session = self._session
            if session is None or session.loop is not loop or session.owner.done():
                session = self._session = await self._open(loop)
            return session

    async def _open(self, loop: asyncio.AbstractEventLoop) -> _Session:
        session = _Session(loop=loop, opened=loop.create_future(), closing=asyncio.Event())
        session.owner = asyncio.create_task(self._own(session), name=f"mcp {self._way.label}")
        try:
            async with asyncio.timeout(OPENING_S):
                await asyncio.shield(session.opened)
        except BaseException as exc:
            await _cancelled(session.owner)
            if isinstance(exc, Exception):
                raise McpConnectionError(self._way.label, self._why(reason_of(exc))) from exc
            raise
        return session

    async def _own(self, session: _Session) -> None:
        try:
            async with self._make_client(self._way.target()) as client:
                session.opened.set_result(client)
                await session.closing.wait()
        except Exception as exc:  # a task of the transport failed
            if not session.opened.done():
                session.opened.set_exception(exc)
                session.opened.exception()  # its waiter may have been cancelled
            else:
                log.warning("connection.closed", server=self._way.label, reason=reason_of(exc))

    def _why(self, reason: str) -> str:
        return "; ".join(filter(None, (reason, self._way.last_words())))


async def _cancelled(task: asyncio.Future[T]) -> None:
    """Cancel a task, and wait for its end."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task
