"""Keeps the buckets of live state and of patterns up to date with the stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from agentic.core.bus.buckets import learnt_patterns, live_state
from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.kv import NOT_THERE, KeyValue, KeyWrite
from agentic.core.bus.leases import Lease
from agentic.core.bus.patterns import apply_patterns, pattern_keys
from agentic.core.bus.port import Bus
from agentic.core.bus.projection import Document, Documents, apply_state, state_keys
from agentic.core.bus.reader import read_events
from agentic.core.logging import get_logger

log = get_logger(__name__)

LOOK_S = 0.5
"""What happened stands in the buckets about so long after it was published."""

WINDOW = 500
"""Events taken together: of a key that they change many times only the last value is written."""

_MAX_KEYS = 900
_MAX_VALUE_BYTES = 200 * 1024
_MAX_KNOWN = 20_000
_LEASE_S = 10
_LAST_RETRY_S = 10.0
_POSITION = "projector.position"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A bucket that follows from events."""

    bucket: Callable[[Bus, str], KeyValue]
    keys: Callable[[Iterable[PublishedEvent]], set[str]]
    apply: Callable[[Iterable[PublishedEvent], Documents], set[str]]


_KINDS = (
    _Kind(live_state, state_keys, apply_state),
    _Kind(learnt_patterns, pattern_keys, apply_patterns),
)


class Projector:
    """Writes what events tell into the buckets of their projects, once, whatever happens to it.

    Every batch of keys holds how far it got, by compare-and-set: what was written by one that died is not
    counted twice by the next. One of many is at it, who holds a lease.

    Args:
        bus: Where events are read, and buckets kept.
        holder: Name of this process, for people.
    """

    def __init__(self, bus: Bus, holder: str) -> None:
        self._bus = bus
        self._lease = Lease(bus.bucket("AGENTIC_LEASES", project=""), "projector", holder, ttl_s=_LEASE_S)
        self._targets: dict[tuple[_Kind, str], _Target] = {}
        self._position = NOT_THERE

    async def keep_projecting(self) -> None:
        """Follow the stream until cancelled; tell once of a bus that is away, and try on."""
        retry_s = 0.0
        try:
            while True:
                try:
                    has_more = await self.look()
                except Exception as exc:  # whatever a client library comes up with: events stay in the stream
                    if not retry_s:
                        log.warning("projections.waiting", error=str(exc) or type(exc).__name__)
                    retry_s = min(2 * retry_s or LOOK_S, _LAST_RETRY_S)
                    self._forget()
                    await asyncio.sleep(retry_s)
                else:
                    retry_s = 0.0
                    await asyncio.sleep(0 if has_more else LOOK_S)
        finally:
            self._forget()

    async def look(self) -> bool:
        """Take in what is new, up to 500 events; return whether there is more.

        Raises:
            BusUnavailableError: The server cannot be used; nothing is lost or doubled by going on later.
        """
        if not await self._lease.hold():
            self._forget()
            return False
        state = await self._bus.state()
        if self._position > state.last:  # the stream was made anew
            self._forget()
        until = min(max(self._position, state.first - 1) + WINDOW, state.last)
        if until <= self._position:
            return False
        events: dict[str, list[PublishedEvent]] = {}
        async with aclosing(read_events(self._bus, after=self._position, until=until)) as found:
            async for published in found:
                events.setdefault(published.project, []).append(published)
        for project, told in events.items():
            for kind in _KINDS:
                await self._target(kind, project).take_in(told, state.last)
        self._position = until
        return until < state.last

    def _target(self, kind: _Kind, project: str) -> _Target:
        key = (kind, project)
        if key not in self._targets:
            self._targets[key] = _Target(kind, kind.bucket(self._bus, project))
        return self._targets[key]

    def _forget(self) -> None:
        """Begin anew: somebody else may have written meanwhile."""
        self._targets.clear()
        self._position = NOT_THERE


class _Target:
    """One bucket, what is known of its documents, and how far it got."""

    def __init__(self, kind: _Kind, bucket: KeyValue) -> None:
        self._kind = kind
        self._bucket = bucket
        self._known: dict[str, Document] = {}
        self._revision = NOT_THERE
        self._position: int | None = None

    async def take_in(self, events: Sequence[PublishedEvent], last: int) -> None:
        """Write what events change that were not taken in before."""
        if self._position is None:
            await self._find_position(last)
        for group in _groups(
            [one for one in events if one.stream_sequence > (self._position or 0)], self._kind
        ):
            await self._load(self._kind.keys(group))
            changed = self._kind.apply(group, self._known)
            await self._write(changed, group[-1].stream_sequence)

    async def _find_position(self, last: int) -> None:
        entry = await self._bucket.get(_POSITION)
        position = int(json.loads(entry.value)["sequence"]) if entry else 0
        self._revision = entry.revision if entry else NOT_THERE
        self._position = position if position <= last else 0

    async def _load(self, keys: set[str]) -> None:
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        missing = keys - self._known.keys()
        for key, entry in (await self._bucket.get_many(missing)).items():
            self._known[key] = json.loads(entry.value)

    async def _write(self, changed: set[str], position: int) -> None:
        """Write documents and how far that gets, all or none; a conflict means that another one is at it."""
        at = json.dumps({"sequence": position}).encode()
        await self._bucket.write(
            [
                *(KeyWrite(key=key, value=_encoded(self._known[key])) for key in sorted(changed)),
                KeyWrite(key=_POSITION, value=at, revision=self._revision),
            ]
        )
        self._position = position
        entry = await self._bucket.get(_POSITION)
        self._revision = entry.revision if entry else NOT_THERE


def _groups(events: Sequence[PublishedEvent], kind: _Kind) -> Iterator[list[PublishedEvent]]:
    """Yield events in order, in groups that change no more keys than can be written together."""
    group: list[PublishedEvent] = []
    keys: set[str] = set()
    for event in events:
        own = kind.keys([event])
        if group and len(keys | own) > _MAX_KEYS:
            yield group
            group, keys = [], set()
        group.append(event)
        keys |= own
    if group:
        yield group


def _encoded(document: Document) -> bytes:
    value = json.dumps(document, default=str).encode()
    return value if len(value) <= _MAX_VALUE_BYTES else json.dumps({"dropped_bytes": len(value)}).encode()
