"""Reads the stream through one short-lived consumer, which the server pushes from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from agentic.core.bus.nats_stream import STREAM
from agentic.core.bus.port import StoredMessage

_POLL_S = 1.0


class Pushes:
    """What one consumer delivers, in order and without gaps.

    Attributes:
        pending_count: Messages stored above the last one delivered.
    """

    def __init__(self, subscription: Subscription, pending_count: int) -> None:
        self.pending_count = pending_count
        self._subscription = subscription
        self._delivered_count = 0

    async def next(self) -> StoredMessage | None:
        """Return the next message, or None when there was none for a second.

        Raises:
            nats.errors.Error: The connection is closed, or a message was dropped on the way.
        """
        _raise_if_cancelled()
        try:
            message = await self._subscription.next_msg(timeout=_POLL_S)
        except nats.errors.TimeoutError:
            return None
        facts = message.metadata
        self._delivered_count += 1
        if facts.sequence.consumer != self._delivered_count:
            raise nats.errors.Error("messages were dropped, as they were not read as fast as they came")
        self.pending_count = facts.num_pending
        return StoredMessage(sequence=facts.sequence.stream, subject=message.subject, payload=message.data)


def _raise_if_cancelled() -> None:
    """Raise a cancellation that the client lost.

    It waits with ``asyncio.wait_for``, which up to Python 3.11 returns a message that comes just then instead
    of raising.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


@asynccontextmanager
async def open_pushes(client: Client, after: int) -> AsyncGenerator[Pushes, None]:
    """Have the messages above sequence ``after`` pushed until the block ends.

    The client's own ordered consumer is not used: after a reconnect it stays silent for 10 to 15 s. A reader
    that knows its last sequence can simply open this again.
    """
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    try:
        consumer = await client.jetstream().add_consumer(STREAM, _from_sequence(after + 1, inbox))
        yield Pushes(subscription, consumer.num_pending or 0)
    finally:
        if not client.is_closed:
            # Without a listener the server removes the consumer within seconds.
            await subscription.unsubscribe()


def _from_sequence(sequence: int, inbox: str) -> ConsumerConfig:
    return ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=sequence,
        deliver_subject=inbox,
        ack_policy=AckPolicy.NONE,
        max_deliver=1,
        num_replicas=1,
        mem_storage=True,
    )
