"""The interface of every bus."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.bus.kv import KeyValue
from agentic.core.bus.listening import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class BusMessage:
    """A message to store.

    Attributes:
        subject: Dotted, without wildcards.
        payload: Any bytes.
        message_id: ASCII without blanks. A message whose id was stored within the last ten minutes is not
            stored again.
    """

    subject: str
    payload: bytes
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A stored message; ``sequence`` grows along the stream, with gaps where messages were removed."""

    sequence: int
    subject: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """Sequences of the oldest and the newest message (0 before the first), and how many are kept.

    ``made`` distinguishes streams of the same name: it changes when a stream is deleted and created again.
    """

    first: int
    last: int
    count: int
    made: str = field(default="", compare=False)


class EventBus(Protocol):
    """Keeps messages in order and hands them to any number of readers.

    It connects to a server at the first use, and again after the connection is lost.
    """

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store ``messages`` next to each other in this order, all or none; return when they are stored.

        Raises:
            MessageTooLargeError: A message is larger than the bus accepts.
            BusUnavailableError: They may or may not be stored; publish the same again.
        """
        ...

    def read(self, *, after: int = 0, until: int | None = None) -> AsyncGenerator[StoredMessage, None]:
        """Iterate over the messages with a sequence above ``after``, each once and in order.

        Args:
            after: Sequence already known; to resume, the last one seen.
            until: Stop after this sequence, or when nothing is left up to it, without waiting; None waits
                for new messages for ever, also after the server was away for a while.

        Raises:
            BusUnavailableError: The server cannot be reached at first, or (with ``until``) later.
        """
        ...

    async def state(self) -> StreamState:
        """Return the state of the stream.

        Raises:
            BusUnavailableError: The server does not answer.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection, if there is one."""
        ...


class Bus(EventBus, Protocol):
    """All traffic over NATS or within this process: events, buckets, messages that are not stored."""

    async def send(self, subject: str, payload: bytes, *, reply: str = "") -> None:
        """Send a message to all current listeners.

        Args:
            subject: Must not be in a stream: a stream would answer instead of the listeners.
            payload: Any bytes.
            reply: Subject for answers, as from :meth:`inbox`; it also receives the notice that the message
                has no listeners.

        Raises:
            MessageTooLargeError: It is larger than the bus accepts.
            BusUnavailableError: The server cannot be used.
        """
        ...

    def listen(self, subject: str, *, group: str | None = None) -> AbstractAsyncContextManager[Listener]:
        """Listen from the start of the block to its end.

        Messages are lost while the server is away, and when the listener is too slow.

        Args:
            subject: May contain ``*`` for any one word, and end in ``>`` for any further words.
            group: Listeners that share the messages: each goes to one of them (NATS calls it a queue group).

        Raises:
            BusUnavailableError: The server cannot be used.
        """
        ...

    def inbox(self) -> str:
        """Return a subject without other listeners."""
        ...

    @property
    def audit(self) -> EventBus:
        """The stream of decisions. A server never removes any; a full stream rejects new ones.

        Its ``publish`` also raises :class:`StreamFullError`.
        """
        ...

    @property
    def metrics(self) -> EventBus:
        """The stream of measurements: executor speeds, kept for at most a day; stored one by one."""
        ...

    @property
    def last_error(self) -> str:
        """The last complaint of the server. A missing permission is reported only here."""
        ...

    def bucket(self, name: str, *, project: str, ttl_s: float | None = None) -> KeyValue:
        """Return a bucket of a project; it is created at its first use.

        Args:
            name: Name of its content: ``A-Z``, digits and ``_``.
            project: The project that owns the values; other projects have their own buckets.
            ttl_s: Seconds after which every value is gone, if the bucket does not exist yet; None for never.
        """
        ...
