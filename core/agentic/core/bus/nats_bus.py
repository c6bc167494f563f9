"""The bus over NATS JetStream: one stream, written in atomic batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from agentic.core.bus.errors import BusUnavailableError
from agentic.core.bus.limits import refuse_oversized
from agentic.core.bus.nats_batch import store
from agentic.core.bus.nats_link import NATS_FAULTS, NatsLink
from agentic.core.bus.nats_pushes import open_pushes
from agentic.core.bus.nats_stream import STREAM
from agentic.core.bus.port import BusMessage, StoredMessage, StreamState

_RETRY_S = 0.5


class NatsBus:
    """Uses the stream ``AGENTIC_EVENTS``, which it makes if needed; see :class:`EventBus`.

    Args:
        url: ``nats://host:port``, several separated by commas; a user or token may be part of it.
    """

    def __init__(self, url: str) -> None:
        self._link = NatsLink(url)

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store ``messages``; see :meth:`EventBus.publish`."""
        async with self._link.requesting() as client:
            refuse_oversized(messages, client.max_payload)
            await store(client, messages)

    async def read(self, *, after: int = 0, until: int | None = None) -> AsyncGenerator[StoredMessage, None]:
        """Iterate over stored and coming messages; see :meth:`EventBus.read`."""
        await self._link.client()
        while True:
            try:
                async with aclosing(self._read_while_connected(after, until)) as messages:
                    async for message in messages:
                        after = message.sequence
                        yield message
            except BusUnavailableError:
                if until is not None:
                    raise
                await asyncio.sleep(_RETRY_S)
            else:
                return

    async def state(self) -> StreamState:
        """Return what the stream holds."""
        async with self._link.requesting() as client:
            state = (await client.jetstream().stream_info(STREAM)).state
        return StreamState(first=state.first_seq, last=state.last_seq, count=state.messages)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._link.aclose()

    async def _read_while_connected(
        self, after: int, until: int | None
    ) -> AsyncGenerator[StoredMessage, None]:
        client = await self._link.client()
        connection = self._link.reconnect_count
        try:
            async with open_pushes(client, after) as pushes:
                while until is None or (after < until and pushes.pending_count):
                    if self._link.reconnect_count != connection:
                        # The server may have been restarted, and its consumers are in memory.
                        raise ConnectionResetError("the connection was lost while reading")
                    message = await pushes.next()
                    if message is not None and (until is None or message.sequence <= until):
                        yield message
                    after = message.sequence if message else after
        except NATS_FAULTS as exc:
            raise self._link.failed(exc) from exc
