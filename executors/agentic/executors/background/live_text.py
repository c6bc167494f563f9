"""The text of a background run as it is made, from the events on the bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from agentic.core.agents.executor import UPDATE
from agentic.core.agents.responses import AgentChunk, ChunkKind
from agentic.core.bus import EventBus, EventFilter, PublishedEvent, read_events
from agentic.core.errors import line_of
from agentic.core.graph import EventKind
from agentic.core.logging import get_logger

log = get_logger(__name__)

_AHEAD = 256  # events read before the caller takes them

_TEXTS = (ChunkKind.TEXT, ChunkKind.THINKING, ChunkKind.RESTARTED)


class LiveText:
    """The live events of one run."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[PublishedEvent] = asyncio.Queue(_AHEAD)
        self._kept: PublishedEvent | None = None
        self._kept_before = 0

    def keep(self, event: PublishedEvent) -> bool:
        """Return an event again as the next one; False if it has been kept before."""
        if event.stream_sequence <= self._kept_before:
            return False
        self._kept, self._kept_before = event, event.stream_sequence
        return True

    async def next(self, timeout_s: float) -> PublishedEvent | None:
        """Return the next event; None if none comes in time."""
        if (kept := self._kept) is not None:
            self._kept = None
            return kept
        try:
            async with asyncio.timeout(timeout_s):
                return await self.queue.get()
        except TimeoutError:
            return None


@asynccontextmanager
async def live_text(
    bus: EventBus | None, project: str, run_id: str, after: int
) -> AsyncGenerator[LiveText, None]:
    """Read the live events of a run while the block lasts. A bus that is away gives none.

    Args:
        bus: The bus, if there is one.
        project: Name of the run's project.
        run_id: The run.
        after: Place in the stream to continue after.
    """
    live = LiveText()
    wanted = EventFilter(project=project, run_id=run_id, kinds=frozenset({EventKind.CUSTOM}))

    async def pump(bus: EventBus) -> None:
        try:
            is_older = after <= (await bus.state()).last
            # A bus in memory begins again with its process.
            async with aclosing(read_events(bus, wanted, after=after if is_older else 0)) as events:
                async for event in events:
                    await live.queue.put(event)
        except Exception as exc:  # any error of a client library: the messages come from the thread
            log.warning("background.without_text", run_id=run_id, error=line_of(exc))

    task = None if bus is None else asyncio.create_task(pump(bus), name=f"live-text-{run_id}")
    try:
        yield live
    finally:
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


def text_piece(published: PublishedEvent) -> AgentChunk | None:
    """Return the piece of an event; None if it has no text: then the thread may have something new.

    Its sequence is the number of the kept piece before it; -1 if the event does not say.
    """
    if published.event.data.get("type") != UPDATE:
        return None
    facts = cast(dict[str, Any], published.event.data.get("data") or {})
    if facts.get("kind") not in _TEXTS:
        return None
    return AgentChunk(
        kind=ChunkKind(facts["kind"]),
        author_name=facts["agent"],
        path=tuple(facts["path"]),
        sequence=facts.get("after", -1),
        text=facts.get("text", ""),
        offset=facts.get("at"),
    )
