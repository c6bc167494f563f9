"""One stream of NATS JetStream as a bus of events: written in atomic batches, read from any position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from nats.js.api import StreamConfig
from nats.js.errors import APIError

from agentic.core.bus.errors import BusUnavailableError, StreamFullError
from agentic.core.bus.limits import refuse_oversized
from agentic.core.bus.nats.batch import store, store_singly
from agentic.core.bus.nats.link import NATS_FAULTS, NatsLink
from agentic.core.bus.nats.pushes import StreamCursor, open_pushes
from agentic.core.bus.nats.streams import name_of
from agentic.core.bus.port import BusMessage, StoredMessage, StreamState

_RETRY_S = 0.5

_FULL = frozenset({10023, 10047, 10077})
"""Error codes of the server: no space in the account, on the disk, in the stream."""


class NatsEvents:
    """A stream, created if needed; see :class:`EventBus`.

    Args:
        link: Connection to the server; its creator closes it.
        config: Configuration of the stream.
    """

    def __init__(self, link: NatsLink, config: StreamConfig) -> None:
        self._link = link
        self._config = config
        self._stream = name_of(config)

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store ``messages``; see :meth:`EventBus.publish`."""
        async with self._link.requesting(self._config) as client:
            refuse_oversized(messages, client.max_payload)
            put = store if self._config.allow_atomic else store_singly
            try:
                await put(client, self._stream, messages)
            except APIError as exc:
                if exc.err_code in _FULL:
                    raise StreamFullError(self._stream, exc.description or str(exc)) from exc
                raise

    async def read(self, *, after: int = 0, until: int | None = None) -> AsyncGenerator[StoredMessage, None]:
        """Iterate over stored and coming messages; see :meth:`EventBus.read`."""
        await self._link.client(self._config)
        cursor = StreamCursor(after)
        while True:
            try:
                async with aclosing(self._read_while_connected(cursor, until)) as messages:
                    async for message in messages:
                        yield message
            except BusUnavailableError:
                if until is not None:
                    raise
                await asyncio.sleep(_RETRY_S)
            else:
                return

    async def state(self) -> StreamState:
        """Return the state of the stream."""
        async with self._link.requesting(self._config) as client:
            info = await client.jetstream().stream_info(self._stream)
        return StreamState(
            first=info.state.first_seq,
            last=info.state.last_seq,
            count=info.state.messages,
            made="" if info.created is None else info.created.isoformat(),
        )

    async def aclose(self) -> None:
        """Do nothing: it does not own the connection."""

    async def _read_while_connected(
        self, cursor: StreamCursor, until: int | None
    ) -> AsyncGenerator[StoredMessage, None]:
        client = await self._link.client(self._config)
        connection = self._link.reconnect_count
        try:
            async with open_pushes(client, self._stream, await cursor.find(client, self._stream)) as pushes:
                while until is None or (cursor.after < until and pushes.pending_count):
                    if self._link.reconnect_count != connection:
                        # The server may have restarted, and it keeps consumers in memory.
                        raise ConnectionResetError("the connection was lost while reading")
                    message = await pushes.next()
                    if message is None:
                        continue
                    cursor.after = message.sequence
                    if until is None or message.sequence <= until:
                        yield StoredMessage(
                            sequence=message.sequence, subject=message.subject, payload=message.payload
                        )
        except NATS_FAULTS as exc:
            raise self._link.failed(exc) from exc
