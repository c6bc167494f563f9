"""Reads a stream through one short-lived consumer, which the server pushes from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

_POLL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A message as it was delivered; ``sequence`` is its place in the stream."""

    sequence: int
    subject: str
    payload: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Pushes:
    """What one consumer delivers, in order and without gaps.

    Attributes:
        pending_count: Messages stored above the last one delivered.
    """

    def __init__(self, subscription: Subscription, pending_count: int) -> None:
        self.pending_count = pending_count
        self._subscription = subscription
        self._delivered_count = 0

    async def next(self) -> Pushed | None:
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
        return Pushed(
            sequence=facts.sequence.stream,
            subject=message.subject,
            payload=message.data,
            headers=message.headers or {},
        )


def _raise_if_cancelled() -> None:
    """Raise a cancellation that the client lost.

    It waits with ``asyncio.wait_for``, which up to Python 3.11 returns a message that comes just then instead
    of raising.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


@asynccontextmanager
async def open_pushes(
    client: Client, stream: str, after: int, *, subject: str | None = None, headers_only: bool = False
) -> AsyncGenerator[Pushes, None]:
    """Have the messages above sequence ``after`` pushed until the block ends.

    The client's own ordered consumer is not used: after a reconnect it stays silent for 10 to 15 s. A reader
    that knows its last sequence can simply open this again.

    Args:
        client: Connected.
        stream: To read.
        after: Sequence already known.
        subject: Only messages with such a subject.
        headers_only: Leave the payloads out.
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
        consumer = await client.jetstream().add_consumer(stream, wanted)
        yield Pushes(subscription, consumer.num_pending or 0)
    finally:
        if not client.is_closed:
            # Without a listener the server removes the consumer within seconds.
            await subscription.unsubscribe()
