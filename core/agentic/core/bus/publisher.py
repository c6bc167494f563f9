"""Publishes the events of a run without delaying it."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

from agentic.core.bus.envelope import to_message, without_data
from agentic.core.bus.errors import MessageTooLargeError
from agentic.core.bus.port import BusMessage, EventBus
from agentic.core.graph import WorkflowEvent
from agentic.core.logging import get_logger

log = get_logger(__name__)

_MAX_QUEUED = 20_000
_MAX_BATCH = 500
_MAX_BATCH_BYTES = 4 * 1024 * 1024
_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 5.0


class EventPublisher:
    """Stores events on the bus in the order they came, in batches, from its own task.

    A bus that is down never fails or delays a run: it is logged once, and events wait in memory. Events not
    stored by the end of :meth:`close` are counted in ``failed`` and logged. An event too large for the bus is
    stored with ``{"dropped_bytes": size}`` instead of its data.

    Use it as a context manager, or call :meth:`close`.

    Args:
        bus: The bus; stays open.
        project: The project the runs belong to.
        max_queued: How many events may wait; further events are dropped while the bus is down.

    Attributes:
        published: Events the bus has confirmed.
        failed: Dropped events.
    """

    def __init__(self, bus: EventBus, project: str, *, max_queued: int = _MAX_QUEUED) -> None:
        self.published = 0
        self.failed = 0
        self._bus = bus
        self._project = project
        self._max_queued = max_queued
        self._queue: deque[WorkflowEvent] = deque()
        self._batch: list[BusMessage] = []
        self._events: dict[str, WorkflowEvent] = {}
        self._retry_s = 0.0
        self._drain: asyncio.Task[None] | None = None
        self._has_work = asyncio.Event()
        self._has_moved = asyncio.Event()
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def publish(self, event: WorkflowEvent) -> None:
        """Queue ``event`` for publishing.

        Returns at once, unless the queue is full and the bus works: then it waits for room.
        """
        while len(self._queue) >= self._max_queued and not self._retry_s:
            self._has_moved.clear()
            await self._has_moved.wait()
        self.offer(event)

    def offer(self, event: WorkflowEvent) -> None:
        """Queue ``event`` for publishing if there is room; otherwise count it as failed."""
        if len(self._queue) >= self._max_queued or self._closing.is_set():
            self.failed += 1
            return
        self._queue.append(event)
        self._has_work.set()
        if self._drain is None:
            self._drain = asyncio.create_task(self._store_all(), name="event-publisher")

    async def close(self, timeout_s: float = 3.0) -> None:
        """Store the waiting events, for at most ``timeout_s``, and log how many were lost."""
        self._closing.set()
        self._has_work.set()
        try:
            if self._drain is not None:
                await asyncio.wait({self._drain}, timeout=timeout_s)
        finally:
            if self._drain is not None:
                await _end(self._drain)
            self._give_up()

    async def _store_all(self) -> None:
        while await self._fill_batch():
            try:
                await self._bus.publish(self._batch)
            except MessageTooLargeError as exc:
                self._shrink(exc)
            except Exception as exc:
                # Any error of the client library: a run does not depend on it.
                await self._wait_to_retry(exc)
            else:
                self._confirm()
            finally:
                self._has_moved.set()

    async def _fill_batch(self) -> bool:
        """Wait for an event to store; False when closing without one."""
        while not self._batch:
            self._take()
            if not self._batch and self._closing.is_set():
                return False
            if not self._batch:
                self._has_work.clear()
                await self._has_work.wait()
        return True

    def _take(self) -> None:
        size = 0
        while self._queue and len(self._batch) < _MAX_BATCH and size < _MAX_BATCH_BYTES:
            event = self._queue.popleft()
            try:
                message = to_message(event, self._project)
            except (TypeError, ValueError) as exc:
                self._drop(event.id, str(exc))
                continue
            self._batch.append(message)
            self._events[message.message_id] = event
            size += len(message.payload)

    def _confirm(self) -> None:
        self.published += len(self._batch)
        self._batch = []
        self._events = {}
        if self._retry_s:
            self._retry_s = 0.0
            log.warning("events.resumed", project=self._project)

    def _shrink(self, fault: MessageTooLargeError) -> None:
        """Replace a message that is too large by its event without data; drop it if it is still too large."""
        position = [message.message_id for message in self._batch].index(fault.message_id)
        event = self._events.pop(fault.message_id, None)
        if event is None:
            self._drop(fault.message_id, str(fault))
            del self._batch[position]
            return
        log.warning("event.shrunk", event_id=event.id, reason=str(fault))
        self._batch[position] = to_message(without_data(event, fault.size_bytes), self._project)

    async def _wait_to_retry(self, fault: Exception) -> None:
        if not self._retry_s:
            log.warning("events.waiting", error=str(fault) or type(fault).__name__, project=self._project)
        self._retry_s = min(2 * self._retry_s or _FIRST_RETRY_S, _LAST_RETRY_S)
        self._has_moved.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._retry_s):
                await self._closing.wait()
            await asyncio.sleep(_FIRST_RETRY_S)

    def _drop(self, event_id: str, reason: str) -> None:
        self.failed += 1
        log.warning("event.dropped", event_id=event_id, reason=reason)

    def _give_up(self) -> None:
        lost = len(self._batch) + len(self._queue)
        self._batch = []
        self._queue.clear()
        self.failed += lost
        if self.failed:
            log.warning("events.lost", failed=self.failed, published=self.published, project=self._project)


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel ``task`` until it is done: nats-py swallows a cancellation while it flushes."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.1)
