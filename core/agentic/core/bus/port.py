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
    """What is to be stored.

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
    """What was stored; ``sequence`` grows along the stream, with gaps where messages were removed."""

    sequence: int
    subject: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """Sequences of the oldest and the newest message (0 before the first), and how many are kept.

    ``made`` tells streams apart of one name: one that was deleted and made anew has another.
    """

    first: int
    last: int
    count: int
    made: str = field(default="", compare=False)


class EventBus(Protocol):
    """Keeps messages in order and hands them to any number of readers.

    A server is connected to when it is first needed, and again when it was lost.
    """

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store ``messages`` next to each other in this order, all or none; done when they are stored.

        Raises:
            MessageTooLargeError: One is larger than the bus takes.
            BusUnavailableError: They may or may not be stored; publish the same again.
        """
        ...

    def read(self, *, after: int = 0, until: int | None = None) -> AsyncGenerator[StoredMessage, None]:
        """Iterate over the messages with a sequence above ``after``, each once and in order.

        Args:
            after: Sequence already known; to resume, the last one seen.
            until: Stop after this sequence, or when nothing is left up to it, without waiting; None goes on
                with new messages for ever, also after the server was away for a while.

        Raises:
            BusUnavailableError: The server cannot be reached at first, or (with ``until``) any more.
        """
        ...

    async def state(self) -> StreamState:
        """Return what the stream holds.

        Raises:
            BusUnavailableError: The server does not answer.
        """
        ...

    async def aclose(self) -> None:
        """Let go of the connection; harmless when there is none."""
        ...


class Bus(EventBus, Protocol):
    """Everything that goes over NATS, or stays in this process: events, buckets, messages nobody keeps."""

    async def send(self, subject: str, payload: bytes, *, reply: str = "") -> None:
        """Send a message to everybody who listens at this moment.

        Args:
            subject: In no stream: a stream would answer for those who listen.
            payload: Any bytes.
            reply: Where answers are listened for, as from :meth:`inbox`; there one learns, too, that nobody
                listens.

        Raises:
            MessageTooLargeError: It is larger than the bus takes.
            BusUnavailableError: The server cannot be used.
        """
        ...

    def listen(self, subject: str) -> AbstractAsyncContextManager[Listener]:
        """Listen until the block ends; what is sent once it has begun is heard.

        What is sent while the server is away is missed, and so is what a listener is too slow for.

        Args:
            subject: May hold ``*`` for any one word, and end in ``>`` for any further ones.

        Raises:
            BusUnavailableError: The server cannot be used.
        """
        ...

    def inbox(self) -> str:
        """Return a subject that nobody else listens to."""
        ...

    @property
    def audit(self) -> EventBus:
        """The stream of decisions. On a server nothing is ever removed from it; full, it takes no more.

        Its ``publish`` also raises :class:`StreamFullError`.
        """
        ...

    @property
    def metrics(self) -> EventBus:
        """The stream of measures: how fast executors were, for a day at most; stored one by one."""
        ...

    @property
    def last_error(self) -> str:
        """What the server complained of last: of a permission that is missing nobody else is told."""
        ...

    def bucket(self, name: str, *, project: str, ttl_s: float | None = None) -> KeyValue:
        """Return a bucket of a project; it is made when it is first used.

        Args:
            name: Of what is in it: ``A-Z``, digits and ``_``.
            project: Whose values these are; those of other projects are in buckets of their own.
            ttl_s: Seconds after which every value is gone, if the bucket is not there yet; None for never.
        """
        ...
