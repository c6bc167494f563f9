"""A connection that breaks where a test wants it to."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

from tests.forwarding import closed_in_the_end

Loss = Literal["nothing", "answers", "requests"]


class Relay:
    """Passes bytes on between a client and a server.

    Attributes:
        port: Where it listens.
        loses: What is not passed on from now on, but read and thrown away; whoever loses something has the
            connection cut a moment after the first loss, and everything is passed on again.
        spares: How many pieces of that are passed on before.
        loss_count: How often that happened.
    """

    def __init__(self, host: str, port: int) -> None:
        self.port = 0
        self.loses: Loss = "nothing"
        self.spares = 0
        self.loss_count = 0
        self._target = (host, port)
        self._served: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on one connection in a task of its own."""
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._served.add(task)
        task.add_done_callback(self._served.discard)

    async def end(self) -> None:
        """End what is still passed on, so that no connection outlives the loop."""
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on one connection until an end of it closes."""
        with suppress(OSError):
            async with closed_in_the_end(writer):
                far_reader, far_writer = await asyncio.open_connection(*self._target)
                async with closed_in_the_end(far_writer):
                    both = [
                        asyncio.create_task(self._pass_on(reader, far_writer, "requests")),
                        asyncio.create_task(self._pass_on(far_reader, writer, "answers")),
                    ]
                    try:
                        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        for task in both:
                            task.cancel()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, what: Loss) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if self.loses == what and not self.spares:
                    self.loss_count += 1
                    await asyncio.sleep(0.1)  # what goes the other way arrives
                    self.loses = "nothing"
                    return
                self.spares -= self.loses == what
                writer.write(data)
                await writer.drain()


def at_port(url: str, port: int) -> str:
    """Return the URL of a server on this machine as one that listens elsewhere has it, the login included."""
    return re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", url)


@asynccontextmanager
async def relay_to(port: int, host: str = "127.0.0.1") -> AsyncIterator[Relay]:
    """Give a relay to a server on this machine."""
    relay = Relay(host, port)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        await relay.end()
