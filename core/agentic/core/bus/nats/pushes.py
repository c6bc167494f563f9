"""Reads a stream through one short-lived push consumer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy
from nats.js.client import JetStreamContext

_POLL_S = 1.0
_DOUBTED_AFTER = 5
"""Polls without a message before checking that the server still has the consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A delivered message; ``sequence`` is its place in the stream."""

    sequence: int
    subject: str
    payload: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Pushes:
    """The messages of one consumer, in order and without gaps.

    Attributes:
        pending_count: Messages stored above the last one delivered.
    """

    def __init__(
        self, subscription: Subscription, consumer: ConsumerInfo, jetstream: JetStreamContext
    ) -> None:
        self.pending_count = consumer.num_pending or 0
        self._subscription = subscription
        self._consumer = consumer
        self._jetstream = jetstream
        self._delivered_count = 0
        self._silent_count = 0

    async def next(self) -> Pushed | None:
        """Return the next message, or None after a second without one.

        Raises:
            nats.errors.Error: The connection is closed, a message was dropped in transit, or the stream was
                deleted, which is noticed within some seconds.
        """
        _raise_if_cancelled()
        try:
            message = await self._subscription.next_msg(timeout=_POLL_S)
        except nats.errors.TimeoutError:
            await self._doubt()
            return None
        self._silent_count = 0
        facts = message.metadata
        self._delivered_count += 1
        if facts.sequence.consumer != self._delivered_count:
            raise nats.errors.Error("messages were dropped because the reader was too slow")
        self.pending_count = facts.num_pending
        return Pushed(
            sequence=facts.sequence.stream,
            subject=message.subject,
            payload=message.data,
            headers=message.headers or {},
        )

    async def _doubt(self) -> None:
        """Check now and then whether the stream still exists: the server does not report a deletion."""
        self._silent_count += 1
        if self._silent_count % _DOUBTED_AFTER == 0:
            await self._jetstream.consumer_info(self._consumer.stream_name, self._consumer.name)


@dataclass(slots=True)
class StreamCursor:
    """The last position read in a stream; it restarts when the stream is deleted and created again."""

    after: int
    _created: datetime | None = None

    async def find(self, client: Client, stream: str) -> int:
        """Return the sequence to continue after.

        Raises:
            nats.errors.Error: The server does not answer.
        """
        created = (await client.jetstream().stream_info(stream)).created
        if self._created not in (None, created):
            self.after = 0
        self._created = created
        return self.after


def _raise_if_cancelled() -> None:
    """Raise a cancellation that the client lost.

    It waits with ``asyncio.wait_for``. Up to Python 3.11, a message that comes at the same time is returned
    instead.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


@asynccontextmanager
async def open_pushes(
    client: Client, stream: str, after: int, *, subject: str | None = None, headers_only: bool = False
) -> AsyncGenerator[Pushes, None]:
    """Receive the messages above sequence ``after`` until the block ends.

    The client's own ordered consumer is not used: after a reconnect it stays silent for 10 to 15 s. A reader
    that knows its last sequence can simply open this again.

    Args:
        client: Connected.
        stream: The stream to read.
        after: Sequence already known.
        subject: Only messages with this subject.
        headers_only: Omit the payloads.
    """
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    wanted = ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=after + 1,
        deliver_subject=inbox,
        filter_subject=subject,
        headers_only=headers_only,
        ack_policy=AckPolicy.NONE,
        max_deliver=1,
        num_replicas=1,
        mem_storage=True,
    )
    try:
        jetstream = client.jetstream()
        yield Pushes(subscription, await jetstream.add_consumer(stream, wanted), jetstream)
    finally:
        if not client.is_closed:
            # Without a listener the server removes the consumer within seconds.
            await subscription.unsubscribe()
