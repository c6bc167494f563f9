"""A bucket derived from events: each event counts once, even if its writer dies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.kv import NOT_THERE, KeyEntry, KeyValue, KeyWrite
from agentic.core.bus.projections.projection import Document, Documents
from agentic.core.logging import get_logger

log = get_logger(__name__)

_POSITION = "projector.position"
_MAX_KEYS = 900
_MAX_VALUE_BYTES = 200 * 1024
_MAX_KNOWN = 20_000


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """The last position read in a stream.

    Attributes:
        stream: The server's id of the stream; a stream that is created again has another.
        sequence: The newest sequence that was read.
    """

    stream: str
    sequence: int = 0

    async def keep(self, bucket: KeyValue) -> None:
        """Save it for the next reader."""
        await bucket.put(_POSITION, self.encoded())

    async def found(self, bucket: KeyValue) -> StreamPosition:
        """Return the saved position in this stream, or its start."""
        return self.kept_in(await bucket.get(_POSITION))

    def kept_in(self, entry: KeyEntry | None) -> StreamPosition:
        """Return the saved position, if it is of this stream."""
        kept = _document(entry) if entry else None
        sequence = kept.get("sequence") if kept and kept.get("stream") == self.stream else 0
        return StreamPosition(self.stream, sequence if isinstance(sequence, int) else 0)

    def encoded(self) -> bytes:
        """Return it as JSON."""
        return json.dumps({"stream": self.stream, "sequence": self.sequence}).encode()


@dataclass(frozen=True, slots=True)
class Projection:
    """Computes a bucket: pure functions of events and of its documents.

    Attributes:
        keys: Returns the keys whose documents ``apply`` reads or changes.
        apply: Updates documents; returns the keys of changed ones.
    """

    keys: Callable[[Iterable[PublishedEvent]], set[str]]
    apply: Callable[[Iterable[PublishedEvent], Documents], set[str]]


class ProjectedBucket:
    """Updates a bucket, and saves with each write how far it got.

    Both are one batch, and the position is compared and set: after a writer dies, the next one does not
    count its events twice.

    Args:
        bucket: The bucket to write.
        projection: Computes its content.
    """

    def __init__(self, bucket: KeyValue, projection: Projection) -> None:
        self._bucket = bucket
        self._projection = projection
        self._known: dict[str, Document] = {}
        self._revision = NOT_THERE
        self._at: StreamPosition | None = None

    async def take_in(self, events: Sequence[PublishedEvent], stream: str) -> None:
        """Write the changes of events that were not processed before.

        Args:
            events: In the order of their stream.
            stream: Id of the stream.

        Raises:
            KeyConflictError: Another process writes, too.
            BusUnavailableError: The server cannot be used.
        """
        at = self._at
        if at is None or at.stream != stream:
            at = await self._find(stream)
        for group in self._groups([one for one in events if one.stream_sequence > at.sequence]):
            await self._load(self._projection.keys(group))
            changed = self._projection.apply(group, self._known)
            await self._write(changed, StreamPosition(stream, group[-1].stream_sequence))

    async def documents(self, keys: Iterable[str]) -> Documents:
        """Return the documents of keys, without missing ones.

        Raises:
            BusUnavailableError: The server cannot be used.
        """
        wanted = set(keys)
        await self._load(wanted)
        return {key: self._known[key] for key in wanted & self._known.keys()}

    async def _find(self, stream: str) -> StreamPosition:
        entry = await self._bucket.get(_POSITION)
        self._revision = entry.revision if entry else NOT_THERE
        self._at = StreamPosition(stream).kept_in(entry)
        return self._at

    async def _load(self, keys: set[str]) -> None:
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        missing = keys - self._known.keys()
        for key, entry in (await self._bucket.get_many(missing)).items():
            if (document := _document(entry)) is not None:
                self._known[key] = document

    async def _write(self, changed: set[str], position: StreamPosition) -> None:
        await self._bucket.write(
            [
                *(KeyWrite(key=key, value=_encoded(self._known[key])) for key in sorted(changed)),
                KeyWrite(key=_POSITION, value=position.encoded(), revision=self._revision),
            ]
        )
        self._at = position
        entry = await self._bucket.get(_POSITION)
        self._revision = entry.revision if entry else NOT_THERE

    def _groups(self, events: Sequence[PublishedEvent]) -> Iterator[list[PublishedEvent]]:
        """Yield events in order, in groups whose changed keys can be written together."""
        group: list[PublishedEvent] = []
        keys: set[str] = set()
        for event in events:
            own = self._projection.keys([event])
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


def _document(entry: KeyEntry) -> Document | None:
    """Return the document of a key; None, and a warning, if it is invalid: it will be created again."""
    try:
        found = json.loads(entry.value)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    log.warning("document.unreadable", key=entry.key)
    return None
