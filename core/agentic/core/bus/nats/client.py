"""A client of nats-py that never stops listening while it looks connected."""

from __future__ import annotations

import asyncio

from nats.aio.client import Client
from nats.errors import UnexpectedEOF


class ListeningClient(Client):
    """Reads on after a late pong, and connects again when its reader ends for another reason.

    The client of nats-py (2.16) gives a result to each ping that the server answers. If its caller stopped
    waiting before (a timeout, a cancelled task), this is an error, and any unforeseen error ends the reader
    for good. Such a connection sends, but hears nothing, until unanswered pings end it minutes later.
    """

    async def _process_pong(self) -> None:
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()

    async def _read_loop(self) -> None:
        await super()._read_loop()
        task = asyncio.current_task()
        was_cancelled = task is not None and task.cancelling() > 0
        if self.is_connected and self._reading_task is task and not was_cancelled:
            await self._process_op_err(UnexpectedEOF())
