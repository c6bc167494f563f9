"""Proxies on loopback that pretend a site has a public name."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator

HOST = "http://shop.example"
"""The site behind the proxies, for any crawl through them."""


class Forwarding:
    """A proxy that forwards requests for any host to one site, up to a limit; then it answers otherwise."""

    def __init__(self, site_url: str, limit: int | None, then: bytes | None) -> None:
        self.site_port = int(site_url.rpartition(":")[2])
        self.limit = limit
        self.then = then
        self.heads: list[str] = []
        self.server: asyncio.Server | None = None
        self.port = 0
        self._served: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self.serve(reader, writer))
        self._served.add(task)
        task.add_done_callback(self._served.discard)

    async def end(self) -> None:
        """End what is still served, so that no connection outlives the loop."""
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with closed_in_the_end(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            is_over = self.limit is not None and len(self.heads) >= self.limit
            if is_over and self.then is not None:
                writer.write(self.then)
                await writer.drain()
            else:
                if is_over and self.server is not None:
                    self.server.close()  # it is away after this answer
                await self.forward(head, writer)

    async def forward(self, head: str, writer: asyncio.StreamWriter) -> None:
        line, _, fields = head.partition("\r\n")
        method, url, version = line.split()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.site_port)
        path = url.removeprefix(HOST).removeprefix(":80") or "/"
        async with closed_in_the_end(far_writer):
            far_writer.write(f"{method} {path} {version}\r\nConnection: close\r\n{fields}".encode())
            while data := await far_reader.read(65_536):
                writer.write(data)
            await writer.drain()


@contextlib.asynccontextmanager
async def closed_in_the_end(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close a connection, also one whose other side is gone or whose task is cancelled."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        try:
            yield
        finally:
            writer.close()
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def forwarding(
    site_url: str, *, limit: int | None = None, then: bytes | None = None
) -> AsyncIterator[Forwarding]:
    proxy = Forwarding(site_url, limit, then)
    proxy.server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = proxy.server.sockets[0].getsockname()[1]
    async with proxy.server:
        try:
            yield proxy
        finally:
            proxy.server.close()
            await proxy.end()


@contextlib.contextmanager
def forwarding_beside(site_url: str, *limits: int | None) -> Iterator[list[Forwarding]]:
    """Run a proxy for each limit in a thread, for a crawl that blocks or is another process."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = contextlib.AsyncExitStack()

    async def opened() -> list[Forwarding]:
        return [await stack.enter_async_context(forwarding(site_url, limit=limit)) for limit in limits]

    try:
        yield asyncio.run_coroutine_threadsafe(opened(), loop).result(10)
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
