"""The bus over NATS JetStream: one stream, written in atomic batches, and buckets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from uuid import uuid4

from nats.aio.msg import Msg

from agentic.core.bus.errors import BusUnavailableError, MessageTooLargeError
from agentic.core.bus.kv import KeyValue
from agentic.core.bus.limits import refuse_oversized
from agentic.core.bus.listening import Listener, Message
from agentic.core.bus.nats_batch import store
from agentic.core.bus.nats_kv import NatsKeyValue
from agentic.core.bus.nats_link import NATS_FAULTS, NatsLink
from agentic.core.bus.nats_pushes import Place, open_pushes
from agentic.core.bus.nats_stream import EVENTS, STREAM
from agentic.core.bus.port import BusMessage, StoredMessage, StreamState
from agentic.core.bus.subjects import bucket_name

_RETRY_S = 0.5
_FLUSH_S = 5
_NOBODY = "503"


class NatsBus:
    """Uses the stream ``AGENTIC_EVENTS``, and buckets, which it makes if needed; see :class:`Bus`.

    Args:
        url: ``nats://host:port``, several separated by commas; a user or token may be part of it.
    """

    def __init__(self, url: str) -> None:
        self._link = NatsLink(url)

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store ``messages``; see :meth:`EventBus.publish`."""
        async with self._link.requesting(EVENTS) as client:
            refuse_oversized(messages, client.max_payload)
            await store(client, STREAM, messages)

    async def read(self, *, after: int = 0, until: int | None = None) -> AsyncGenerator[StoredMessage, None]:
        """Iterate over stored and coming messages; see :meth:`EventBus.read`."""
        await self._link.client(EVENTS)
        place = Place(after)
        while True:
            try:
                async with aclosing(self._read_while_connected(place, until)) as messages:
                    async for message in messages:
                        yield message
            except BusUnavailableError:
                if until is not None:
                    raise
                await asyncio.sleep(_RETRY_S)
            else:
                return

    async def state(self) -> StreamState:
        """Return what the stream holds."""
        async with self._link.requesting(EVENTS) as client:
            state = (await client.jetstream().stream_info(STREAM)).state
        return StreamState(first=state.first_seq, last=state.last_seq, count=state.messages)

    async def send(self, subject: str, payload: bytes, *, reply: str = "") -> None:
        """Send to who listens; see :meth:`Bus.send`."""
        async with self._link.requesting() as client:
            if len(payload) > client.max_payload:
                raise MessageTooLargeError(subject, "the content", len(payload), client.max_payload)
            await client.publish(subject, payload, reply=reply)
            await client.flush(_FLUSH_S)

    @asynccontextmanager
    async def listen(self, subject: str) -> AsyncGenerator[Listener, None]:
        """Listen until the block ends; see :meth:`Bus.listen`."""
        listener = Listener()

        async def hear(message: Msg) -> None:
            await listener.hear(_message(message))

        async with self._link.requesting() as client:
            subscription = await client.subscribe(subject, cb=hear)  # again by itself after a reconnect
            await client.flush(_FLUSH_S)
        try:
            yield listener
        finally:
            if not client.is_closed:
                await subscription.unsubscribe()

    def inbox(self) -> str:
        """Return a subject that nobody else listens to."""
        return f"_INBOX.{uuid4().hex}"

    @property
    def last_error(self) -> str:
        """What the server complained of last."""
        return self._link.last_error

    def bucket(self, name: str, *, project: str, ttl_s: float | None = None) -> KeyValue:
        """Return a bucket of a project; it is made when it is first used.

        Args:
            name: Of what is in it: ``A-Z``, digits and ``_``.
            project: Whose values these are; those of other projects are in buckets of their own.
            ttl_s: Seconds after which every value is gone, if the bucket is not there yet; None for never.
        """
        return NatsKeyValue(self._link, bucket_name(name, project), ttl_s=ttl_s)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._link.aclose()

    async def _read_while_connected(
        self, place: Place, until: int | None
    ) -> AsyncGenerator[StoredMessage, None]:
        client = await self._link.client(EVENTS)
        connection = self._link.reconnect_count
        try:
            async with open_pushes(client, STREAM, await place.find(client, STREAM)) as pushes:
                while until is None or (place.after < until and pushes.pending_count):
                    if self._link.reconnect_count != connection:
                        # The server may have been restarted, and its consumers are in memory.
                        raise ConnectionResetError("the connection was lost while reading")
                    message = await pushes.next()
                    if message is None:
                        continue
                    place.after = message.sequence
                    if until is None or message.sequence <= until:
                        yield StoredMessage(
                            sequence=message.sequence, subject=message.subject, payload=message.payload
                        )
        except NATS_FAULTS as exc:
            raise self._link.failed(exc) from exc


def _message(heard: Msg) -> Message:
    status = (heard.headers or {}).get("Status") if not heard.data else None
    return Message(
        subject=heard.subject, payload=heard.data, reply=heard.reply, nobody_listens=status == _NOBODY
    )
