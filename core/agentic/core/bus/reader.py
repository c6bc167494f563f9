"""Reads events from the bus: all, or only of some project, run or kind."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from agentic.core.bus.envelope import PublishedEvent, from_message
from agentic.core.bus.port import EventBus
from agentic.core.graph import EventKind
from agentic.core.logging import get_logger

log = get_logger(__name__)

_REMEMBERED = 65_536
_FIRST_WINDOW = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Selects events; an omitted field matches all.

    Attributes:
        project: Only of this project.
        run_id: Only of this run and the runs nested in it.
        kinds: Only of these kinds.
    """

    project: str | None = None
    run_id: str | None = None
    kinds: frozenset[EventKind] = frozenset()

    def matches(self, published: PublishedEvent) -> bool:
        """Return whether ``published`` is wanted."""
        event = published.event
        return (
            (self.project is None or published.project == self.project)
            and (self.run_id is None or f"{event.run_id}/".startswith(f"{self.run_id}/"))
            and (not self.kinds or event.kind in self.kinds)
        )


EVERYTHING = EventFilter()


async def read_events(
    bus: EventBus, wanted: EventFilter = EVERYTHING, *, after: int = 0, until: int | None = None
) -> AsyncGenerator[PublishedEvent, None]:
    """Iterate over the stored events and, without ``until``, the coming ones, in stream order.

    An event that was stored twice comes once, unless 65,536 others lie between. A message that is not an
    event is skipped with a warning.

    Args:
        bus: The bus.
        wanted: Selects the events.
        after: Stream sequence to continue after.
        until: Stream sequence to stop at, as from ``bus.state()``.

    Raises:
        BusUnavailableError: See :meth:`EventBus.read`.
    """
    seen = _Recent(_REMEMBERED)
    async with aclosing(bus.read(after=after, until=until)) as messages:
        async for message in messages:
            try:
                published = from_message(message)
            except ValueError as exc:
                log.warning("event.unreadable", stream_sequence=message.sequence, reason=str(exc))
                continue
            if wanted.matches(published) and seen.add(f"{published.project}/{published.event.id}"):
                yield published


async def tail_events(
    bus: EventBus, wanted: EventFilter = EVERYTHING, *, last: int, follow: bool
) -> AsyncGenerator[PublishedEvent, None]:
    """Iterate over the newest ``last`` wanted events and then, if ``follow``, over new ones.

    Raises:
        BusUnavailableError: See :meth:`EventBus.read`.
    """
    end = (await bus.state()).last
    for published in await _newest(bus, wanted, last, end):
        yield published
    if follow:
        async with aclosing(read_events(bus, wanted, after=end)) as coming:
            async for published in coming:
                yield published


async def _newest(bus: EventBus, wanted: EventFilter, count: int, end: int) -> list[PublishedEvent]:
    """Look backwards in growing windows, because a whole stream may have a million messages."""
    first = (await bus.state()).first
    found: list[PublishedEvent] = []
    window = max(_FIRST_WINDOW, count)
    while end >= max(first, 1) and len(found) < count:  # a stream that never had messages begins with 0
        start = max(end - window, first - 1)
        async with aclosing(read_events(bus, wanted, after=start, until=end)) as events:
            found = [published async for published in events] + found
        end, window = start, 2 * window
    return found[-count:] if count else []


class _Recent:
    """The newest ``size`` ids."""

    def __init__(self, size: int) -> None:
        self._order: deque[str] = deque(maxlen=size)
        self._known: set[str] = set()

    def add(self, event_id: str) -> bool:
        """Remember ``event_id``; False if it is known."""
        if event_id in self._known:
            return False
        if len(self._order) == self._order.maxlen:
            self._known.discard(self._order[0])
        self._order.append(event_id)
        self._known.add(event_id)
        return True
