"""The bus of one process, for runs without a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from agentic.core.bus.limits import DEFAULT_MAX_MESSAGE_BYTES, refuse_oversized
from agentic.core.bus.port import BusMessage, StoredMessage, StreamState


class MemoryBus:
    """Keeps the newest ``max_messages`` for readers on the same event loop; see :class:`EventBus`."""

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
        """Return what is kept."""
        return StreamState(first=self._first, last=self._last, count=len(self._stored))

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    @property
    def _first(self) -> int:
        return self._last - len(self._stored) + 1

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
