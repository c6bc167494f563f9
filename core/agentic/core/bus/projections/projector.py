"""Keeps the buckets of live state and of patterns up to date with the stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.leases import KeyLease
from agentic.core.bus.port import Bus
from agentic.core.bus.projections.buckets import learnt_patterns, live_state
from agentic.core.bus.projections.measures import measure_message, measured
from agentic.core.bus.projections.patterns import apply_patterns, pattern_keys
from agentic.core.bus.projections.projected import ProjectedBucket, Projection, StreamPosition
from agentic.core.bus.projections.projection import apply_state, run_key, state_keys
from agentic.core.bus.reader import read_events
from agentic.core.logging import get_logger

log = get_logger(__name__)

LOOK_S = 0.5
"""Delay from an event to its value in the buckets."""

WINDOW = 500
"""Events processed together: if a key changes several times, only the last value is written."""

_LEASE_S = 10
_LAST_RETRY_S = 10.0

_STATE = Projection(state_keys, apply_state)
_PATTERNS = Projection(pattern_keys, apply_patterns)


class Projector:
    """Writes the data of events into the buckets of their projects, exactly once, even if it dies.

    Only one of many projectors works: the holder of a lease.

    Args:
        bus: The bus of the events and buckets.
        holder: Name of this process, for people.
    """

    def __init__(self, bus: Bus, holder: str) -> None:
        self._bus = bus
        self._shared = bus.bucket("AGENTIC_LEASES", project="")
        self._lease = KeyLease(self._shared, "projector", holder, ttl_s=_LEASE_S)
        self._projects: dict[str, _Project] = {}
        self._position: StreamPosition | None = None

    async def keep_projecting(self) -> None:
        """Follow the stream until cancelled; log once that the bus is away, and keep trying."""
        retry_s = 0.0
        while True:
            try:
                has_more = await self.look()
            except Exception as exc:  # any error of a client library: events stay in the stream
                if not retry_s:
                    log.warning("projections.waiting", error=str(exc) or type(exc).__name__)
                retry_s = min(2 * retry_s or LOOK_S, _LAST_RETRY_S)
                self._forget()
                await asyncio.sleep(retry_s)
            else:
                retry_s = 0.0
                await asyncio.sleep(0 if has_more else LOOK_S)

    async def look(self) -> bool:
        """Process new events, up to 500; return whether there are more.

        Raises:
            BusUnavailableError: The server cannot be used; continuing later loses and doubles nothing.
        """
        if not await self._lease.hold():
            self._forget()
            return False
        state = await self._bus.state()
        if self._position is None or self._position.stream != state.made:
            self._forget()
            self._position = await StreamPosition(state.made).found(self._shared)
        after = self._position.sequence
        until = min(max(after, state.first - 1) + WINDOW, state.last)
        if until <= after:
            return False
        events = await self._read(after, until)
        new = {name: await self._project(name).take_in(told, state.made) for name, told in events.items()}
        self._position = StreamPosition(state.made, until)
        await self._position.keep(self._shared)
        for name, told in new.items():  # last: reported once, or at worst not at all
            messages = [measure_message(measure, name, until) for measure in measured(told)]
            if messages:
                await self._bus.metrics.publish(messages)
        return until < state.last

    async def _read(self, after: int, until: int) -> dict[str, list[PublishedEvent]]:
        """Return events by project."""
        found: dict[str, list[PublishedEvent]] = {}
        async with aclosing(read_events(self._bus, after=after, until=until)) as events:
            async for published in events:
                found.setdefault(published.project, []).append(published)
        return found

    def _project(self, name: str) -> _Project:
        if name not in self._projects:
            self._projects[name] = _Project(
                state=ProjectedBucket(live_state(self._bus, name), _STATE),
                patterns=ProjectedBucket(learnt_patterns(self._bus, name), _PATTERNS),
            )
        return self._projects[name]

    def _forget(self) -> None:
        """Start again: another process may have written meanwhile."""
        self._projects.clear()
        self._position = None


@dataclass(frozen=True, slots=True)
class _Project:
    """The buckets of a project."""

    state: ProjectedBucket
    patterns: ProjectedBucket

    async def take_in(self, events: Sequence[PublishedEvent], stream: str) -> Sequence[PublishedEvent]:
        """Write the changes of events; return the events that are new to all streams.

        A stream that is created again repeats the events of the ledger. The status document of a run says
        which of its events are known, so it is written last.
        """
        runs = {run_key(published) for published in events}
        known = await self.state.documents(runs)
        seen = {key: int(document.get("sequence", 0)) for key, document in known.items()}
        new = [one for one in events if (one.event.sequence or 0) > seen.get(run_key(one), 0)]
        await self.patterns.take_in(new, stream)
        await self.state.take_in(events, stream)
        return new
