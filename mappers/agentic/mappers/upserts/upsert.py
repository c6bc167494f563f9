"""Stores rows in a platform's table: in batches, without duplicates or losses, all counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Protocol, TypeVar, cast

from sqlalchemy.exc import StatementError
from sqlalchemy.orm import Session

from agentic.core.logging import get_logger
from agentic.core.types import SaveCounts
from agentic.mappers.database.driver import DriverCursor
from agentic.mappers.database.engine import reason_of
from agentic.mappers.database.postgresql import refuses_values
from agentic.mappers.database.savepoints import hot_savepoint
from agentic.mappers.errors import UnstableKeyError
from agentic.mappers.notifications.row_watch import RowWatch
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.core import SourceColumns
from agentic.mappers.upserts.snapshots import Counters, add_snapshots
from agentic.mappers.upserts.target import Entry, Key, Row, UpsertTable

BATCH_SIZE = 500
"""Rows selected and stored together: few enough for SQLite's 32,766 variables per statement."""

T = TypeVar("T")

MOST_RESTARTS = 20
"Attempts against concurrent writers, who interfere once or twice. After that the key is not stored as "
"given."

log = get_logger(__name__)


def upsert(  # noqa: PLR0913  # place, rows, and the roles of columns
    session: Session,
    model: type[SourceColumns],
    rows: Iterable[Row],
    *,
    key: Sequence[str],
    volatile: Sequence[str] = (),
    counters: Counters | None = None,
    warn: Callable[[str], object] | None = None,
    watch: RowWatch | None = None,
) -> SaveCounts:
    """Insert ``rows``, or update rows whose key exists already.

    A column that a row omits or sets to None keeps its stored value: an omission never erases a value. If the
    source says that a value does not exist, the row has ``CLEARED``. Several rows with one key count as one,
    as if they came one after the other. A row that the database refuses is rejected with a reason, and the
    others are stored. Values that are not JSON are removed from JSON columns, with a warning.
    ``last_seen_at``, ``execution_id`` and ``agent_id`` become the newest.

    Args:
        session: In a transaction; refused rows are rolled back by savepoint.
        model: A mapped class with :class:`SourceColumns`.
        rows: Column name -> value, with ``project_id``, ``execution_id`` and ``agent_id``. ``content_hash``
            may cover data outside of columns (the body of a page): it goes into the stored hash.
        key: Columns of the natural key, ``project_id`` among them; unique in the table.
        volatile: Columns whose change alone is not an update: a rank, a time of fetching.
        counters: Columns with numbers to record: a snapshot is stored when one of them changes.
        warn: Gets a sentence for each rejected row and each removed value; by default they are logged.
        watch: Sees each new and each changed row.

    Returns:
        Rows inserted, updated, unchanged (by content hash) and rejected.

    Raises:
        UnknownColumnError: A row, ``key``, ``volatile`` or ``counters`` names a missing column.
        DBAPIError: The database itself failed, independent of the rows.
    """
    target = _target(cast("Hashable", model), tuple(key), tuple(volatile), session.get_bind().dialect.name)
    if counters is not None:
        target.refuse_unknown(counters.columns.values())
    job = _Upsert(session, target, counters, warn or _log_warning, watch)
    entries, counts = job.entries(rows)
    return counts + job.store(entries) if entries else counts


@lru_cache(maxsize=256)  # a crawl stores a batch a few dozen times a second
def _target(model: Hashable, key: tuple[str, ...], volatile: tuple[str, ...], dialect: str) -> UpsertTable:
    return UpsertTable(cast("type[SourceColumns]", model), key, volatile, dialect)


class _Upsert:
    """Stores entries, with one statement per purpose and batch.

    Two writers that lock the same rows in different orders would deadlock. So all stored rows are locked
    before the first write, and new rows are inserted afterwards, both in key order, independent of batches.
    If another writer inserted a row meanwhile, all locks are released and the upsert begins again.
    """

    def __init__(
        self,
        session: Session,
        target: UpsertTable,
        counters: Counters | None,
        warn: Callable[[str], object],
        watch: RowWatch | None,
    ) -> None:
        self._session = session
        self._watch = watch
        self._target = target
        self._counters = counters
        self._warn = warn
        self._refused: dict[Key, str] = {}

    def entries(self, rows: Iterable[Row]) -> tuple[list[Entry], SaveCounts]:
        """Return one entry per key, in key order, and the count of rows without a usable key."""
        found: dict[Key, Entry] = {}
        rejected = 0
        for index, row in enumerate(rows):
            try:
                entry = self._target.entry(row)
                found[entry.key] = found[entry.key].followed_by(entry) if entry.key in found else entry
            except (ValueError, TypeError) as exc:
                rejected += self._reject(f"row {index}", str(exc))
            else:
                for sentence in entry.removed:
                    self._warn(f"{self._target.named(entry.key)}: {sentence}")
        return sorted(found.values(), key=self._target.order), SaveCounts(rejected=rejected)

    def store(self, entries: Sequence[Entry]) -> SaveCounts:
        """Store all at once; if the database refuses, find the bad rows and store the others."""
        is_doubtful = False
        restarts = 0
        while True:
            self._refused.clear()
            if self._watch is not None:
                self._watch.forget()
            try:
                with hot_savepoint(self._session) as cursor:
                    counts = self._store(entries, self._halving if is_doubtful else _Whole(cursor))
            except _CameBetweenError:
                restarts += 1
                if restarts > MOST_RESTARTS:
                    names = [column.key for column in self._target.key]
                    raise UnstableKeyError(self._target.table.name, names) from None
            except (StatementError, OverflowError) as exc:
                if is_doubtful or not _is_refusal(exc):
                    raise
                is_doubtful = True
            else:
                rejected = [self._reject(self._target.named(k), why) for k, why in self._refused.items()]
                return counts + SaveCounts(rejected=len(rejected))

    def _store(self, entries: Sequence[Entry], do: _Do) -> SaveCounts:
        stored: dict[Key, Row] = {}
        for batch in _batches(entries):
            for rows in do(self._read, batch):
                stored |= rows
        counts = SaveCounts()
        for batch in _batches([entry for entry in entries if entry.key not in self._refused]):
            counts = sum(do(partial(self._write, stored=stored), batch), counts)
        return counts

    def _halving(
        self, part: Callable[[DriverCursor, Sequence[Entry]], T], entries: Sequence[Entry]
    ) -> list[T]:
        """Do a part for all entries; if the database refuses, halve until the bad ones are alone."""
        try:
            with hot_savepoint(self._session) as cursor:
                return [part(cursor, entries)]
        except (StatementError, OverflowError) as exc:
            if not _is_refusal(exc):
                raise
            if len(entries) == 1:
                self._refused[entries[0].key] = reason_of(exc)
                return []
        middle = len(entries) // 2
        return [*self._halving(part, entries[:middle]), *self._halving(part, entries[middle:])]

    def _read(self, cursor: DriverCursor, entries: Sequence[Entry]) -> dict[Key, Row]:
        target = self._target
        return {target.key_of(row): row for row in target.read(cursor, [entry.key for entry in entries])}

    def _write(self, cursor: DriverCursor, entries: Sequence[Entry], stored: Mapping[Key, Row]) -> SaveCounts:
        target, dialect = self._target, cursor.dialect
        now = utc_now()  # after a wait for locks, this write is the later one
        new = [target.record(entry.values, None, now) for entry in entries if entry.key not in stored]
        added = [target.bound(record, dialect) for record in new]
        if added and cursor.run_each(target.adding, added) < len(added):
            raise _CameBetweenError
        known = [(entry, stored[entry.key]) for entry in entries if entry.key in stored]
        changed = [target.record(entry.values, row, now) for entry, row in known]
        if changed:
            cursor.run_each(target.changing, [target.bound(record, dialect) for record in changed])
        if counters := self._counters:
            stages = [
                *((None, record) for record in new),
                *zip((row for _, row in known), changed, strict=True),
            ]
            moved = (after for before, after in stages if counters.moved(before, after))
            key = [column.key for column in target.key]
            add_snapshots(cursor, (counters.snapshot(target.table, key, record) for record in moved))
        pairs = zip((row for _, row in known), changed, strict=True)
        updated = [pair for pair in pairs if pair[0]["content_hash"] != pair[1]["content_hash"]]
        if (watch := self._watch) is not None:
            for record in new:
                watch.see(None, record)
            for before, after in updated:
                watch.see(before, after)
        return SaveCounts(inserted=len(new), updated=len(updated), unchanged=len(known) - len(updated))

    def _reject(self, what: str, reason: str) -> int:
        self._warn(f"{what} was rejected: {reason}")
        return 1


class _Do(Protocol):
    """Does a part of the work for a batch and returns the result: once, or for pieces of it."""

    def __call__(
        self, part: Callable[[DriverCursor, Sequence[Entry]], T], entries: Sequence[Entry], /
    ) -> list[T]: ...


@dataclass(frozen=True, slots=True)
class _Whole:
    """Does it for the whole batch."""

    cursor: DriverCursor

    def __call__(
        self, part: Callable[[DriverCursor, Sequence[Entry]], T], entries: Sequence[Entry], /
    ) -> list[T]:
        return [part(self.cursor, entries)]


def _batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    return (entries[start : start + BATCH_SIZE] for start in range(0, len(entries), BATCH_SIZE))


def _is_refusal(error: Exception) -> bool:
    """Whether the database refuses a value, and does not fail itself."""
    return not isinstance(error, StatementError) or refuses_values(error)


class _CameBetweenError(Exception):
    """On PostgreSQL, another writer inserted one of our rows after we had searched for it."""


def _log_warning(sentence: str) -> None:
    log.warning("row.warned", reason=sentence)
