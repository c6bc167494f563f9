"""The bus over NATS JetStream: streams, buckets, and messages that are not stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

from nats.aio.msg import Msg

from agentic.core.bus.errors import MessageTooLargeError
from agentic.core.bus.kv import KeyValue
from agentic.core.bus.listening import Listener, Message
from agentic.core.bus.nats.access import NatsAccess
from agentic.core.bus.nats.events import NatsEvents
from agentic.core.bus.nats.kv import NatsKeyValue
from agentic.core.bus.nats.link import NatsLink
from agentic.core.bus.nats.streams import AUDIT, EVENTS, METRICS
from agentic.core.bus.port import EventBus
from agentic.core.bus.subjects import bucket_name

_FLUSH_S = 5
_NOBODY = "503"


class NatsBus(NatsEvents):
    """Uses ``AGENTIC_EVENTS``, ``AGENTIC_AUDIT`` and buckets, and creates them if needed; see :class:`Bus`.

    Args:
        url: ``nats://host:port``, several separated by commas; a user or token may be part of it.
        access: Other credentials for the server.
    """

    def __init__(self, url: str, access: NatsAccess | None = None) -> None:
        super().__init__(NatsLink(url, access), EVENTS)

    @property
    def audit(self) -> EventBus:
        """The stream ``AGENTIC_AUDIT``; nothing is ever removed from it."""
        return NatsEvents(self._link, AUDIT)

    @property
    def metrics(self) -> EventBus:
        """The stream ``AGENTIC_METRICS``, which keeps a day."""
        return NatsEvents(self._link, METRICS)

    async def send(self, subject: str, payload: bytes, *, reply: str = "") -> None:
        """Send to all listeners; see :meth:`Bus.send`."""
        async with self._link.requesting() as client:
            if len(payload) > client.max_payload:
                raise MessageTooLargeError(subject, "the content", len(payload), client.max_payload)
            await client.publish(subject, payload, reply=reply)
            await client.flush(_FLUSH_S)

    @asynccontextmanager
    async def listen(self, subject: str, *, group: str | None = None) -> AsyncGenerator[Listener, None]:
        """Listen until the block ends; see :meth:`Bus.listen`."""
        listener = Listener()

        async def hear(message: Msg) -> None:
            await listener.hear(_message(message))

        async with self._link.requesting() as client:
            # It is automatic again after a reconnect.
            subscription = await client.subscribe(subject, queue=group or "", cb=hear)
            await client.flush(_FLUSH_S)
        try:
            yield listener
        finally:
            if not client.is_closed:
                await subscription.unsubscribe()

    def inbox(self) -> str:
        """Return a subject without other listeners."""
        return f"_INBOX.{uuid4().hex}"

    @property
    def last_error(self) -> str:
        """The last complaint of the server."""
        return self._link.last_error

    def bucket(self, name: str, *, project: str, ttl_s: float | None = None) -> KeyValue:
        """Return a bucket of a project; it is created at its first use.

        Args:
            name: Name of its content: ``A-Z``, digits and ``_``.
            project: The project that owns the values; other projects have their own buckets.
            ttl_s: Seconds after which every value is gone, if the bucket does not exist yet; None for never.
        """
        return NatsKeyValue(self._link, bucket_name(name, project), ttl_s=ttl_s)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._link.aclose()


def _message(heard: Msg) -> Message:
    status = (heard.headers or {}).get("Status") if not heard.data else None
    return Message(
        subject=heard.subject, payload=heard.data, reply=heard.reply, nobody_listens=status == _NOBODY
    )
