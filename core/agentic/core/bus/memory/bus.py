"""The bus of one process, for runs without a server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

from agentic.core.bus.errors import MessageTooLargeError
from agentic.core.bus.kv import KeyValue, fits
from agentic.core.bus.limits import DEFAULT_MAX_MESSAGE_BYTES, refuse_oversized
from agentic.core.bus.listening import Listener, Message
from agentic.core.bus.memory.kv import MemoryKeyValue
from agentic.core.bus.port import BusMessage, EventBus, StoredMessage, StreamState


class MemoryBus:
    """Keeps the newest ``max_messages`` for readers on the same event loop; see :class:`Bus`."""

    def __init__(
        self, *, max_messages: int = 10_000, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    ) -> None:
        self._max_messages = max_messages
        self._max_message_bytes = max_message_bytes
        self._stored: dict[int, StoredMessage] = {}
        self._id_of: dict[int, str] = {}
        self._known_ids: set[str] = set()
        self._last = 0
        self._news = asyncio.Event()
        self._listeners: list[tuple[str, Listener, str | None]] = []
        self._buckets: dict[tuple[str, str], MemoryKeyValue] = {}
        self._others: dict[str, MemoryBus] = {}

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store ``messages``; ids count as known for as long as their message is kept."""
        refuse_oversized(messages, self._max_message_bytes)
        for message in messages:
            if message.message_id not in self._known_ids:
                self._store(message)
        self._news.set()
        self._news = asyncio.Event()

    async def read(self, *, after: int = 0, until: int | None = None) -> AsyncGenerator[StoredMessage, None]:
        """Iterate over stored and coming messages."""
        while True:
            news = self._news
            after = max(after, self._first - 1)
            while after < self._last and (until is None or after < until):
                after += 1
                # The oldest may be dropped while the reader is busy with another.
                if (message := self._stored.get(after)) is not None:
                    yield message
            if until is not None:
                return
            await news.wait()

    async def state(self) -> StreamState:
        """Return the state of the stream."""
        return StreamState(first=self._first, last=self._last, count=len(self._stored))

    async def send(self, subject: str, payload: bytes, *, reply: str = "") -> None:
        """Send to all listeners; see :meth:`Bus.send`."""
        if len(payload) > self._max_message_bytes:
            raise MessageTooLargeError(subject, "the content", len(payload), self._max_message_bytes)
        if not await self._deliver(Message(subject=subject, payload=payload, reply=reply)) and reply:
            await self._deliver(Message(subject=reply, payload=b"", nobody_listens=True))

    @asynccontextmanager
    async def listen(self, subject: str, *, group: str | None = None) -> AsyncGenerator[Listener, None]:
        """Listen until the block ends; see :meth:`Bus.listen`."""
        entry = (subject, Listener(), group)
        self._listeners.append(entry)
        try:
            yield entry[1]
        finally:
            self._listeners.remove(entry)

    def inbox(self) -> str:
        """Return a subject without other listeners."""
        return f"_INBOX.{uuid4().hex}"

    @property
    def audit(self) -> EventBus:
        """The stream of decisions; same limit as the stream of events, and also ends with this process."""
        return self._other("audit")

    @property
    def metrics(self) -> EventBus:
        """The stream of measurements; see :attr:`audit`."""
        return self._other("metrics")

    def _other(self, name: str) -> EventBus:
        if name not in self._others:
            self._others[name] = MemoryBus(
                max_messages=self._max_messages, max_message_bytes=self._max_message_bytes
            )
        return self._others[name]

    @property
    def last_error(self) -> str:
        """Empty: a bus in memory has no server."""
        return ""

    def bucket(self, name: str, *, project: str, ttl_s: float | None = None) -> KeyValue:
        """Return a bucket of a project; see :meth:`Bus.bucket`."""
        return self._buckets.setdefault((name, project), MemoryKeyValue(ttl_s=ttl_s))

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    @property
    def _first(self) -> int:
        return self._last - len(self._stored) + 1

    async def _deliver(self, message: Message) -> bool:
        fitting = [entry for entry in self._listeners if fits(message.subject, entry[0])]
        heard = [listener for _, listener, group in fitting if group is None]
        shared: dict[str, list[Listener]] = {}
        for _, listener, group in fitting:
            if group is not None:
                shared.setdefault(group, []).append(listener)
        heard += [random.choice(listeners) for listeners in shared.values()]  # noqa: S311  # no secret
        for listener in heard:
            await listener.hear(message)
        return bool(heard)

    def _store(self, message: BusMessage) -> None:
        self._last += 1
        self._stored[self._last] = StoredMessage(
            sequence=self._last, subject=message.subject, payload=message.payload
        )
        self._id_of[self._last] = message.message_id
        self._known_ids.add(message.message_id)
        if len(self._stored) > self._max_messages:
            oldest = self._first
            del self._stored[oldest]
            self._known_ids.discard(self._id_of.pop(oldest))
