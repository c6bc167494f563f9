"""Rows into a platform's table: batch by batch, nothing doubled, nothing erased, all counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import cast

from sqlalchemy.exc import StatementError
from sqlalchemy.orm import Session

from agentic.core.logging import get_logger
from agentic.core.types import SaveCounts
from agentic.mappers.columns import utc_now
from agentic.mappers.driver import HotCursor, hot_savepoint
from agentic.mappers.engine import reason_of
from agentic.mappers.models import SourceColumns
from agentic.mappers.postgresql import refuses_values
from agentic.mappers.snapshots import Counters, add_snapshots
from agentic.mappers.target import Entry, Key, Row, Target

BATCH_SIZE = 500
"""Rows looked for and stored at once: few enough for the 32,766 variables of a statement of SQLite."""

log = get_logger(__name__)


def upsert(  # noqa: PLR0913  # where, and what, and how each column is meant
    session: Session,
    model: type[SourceColumns],
    rows: Iterable[Row],
    *,
    key: Sequence[str],
    volatile: Sequence[str] = (),
    counters: Counters | None = None,
    warn: Callable[[str], object] | None = None,
) -> SaveCounts:
    """Insert ``rows``, or update those whose key is stored already.

    What a row leaves out, or gives as None, keeps its stored value: a source that omits something never
    erases it. What the source says is not there the row gives as ``CLEARED``. Several rows with one key count
    as one, as if they had come one after the other. A row the database refuses is rejected with a reason and
    the others are stored. Whatever is no JSON is taken out of JSON columns, with a warning. ``last_seen_at``,
    ``execution_id`` and ``agent_id`` become the newest.

    Args:
        session: In a transaction; what is refused is rolled back by savepoint.
        model: A mapped class with :class:`SourceColumns`.
        rows: Column name -> value, with ``project_id``, ``execution_id`` and ``agent_id``. ``content_hash``
            may tell of something in no column (the body of a page): it goes into the stored hash.
        key: Columns of the natural key, ``project_id`` among them; unique in the table.
        volatile: Columns that are stored but whose change alone is none: a rank, a time of fetching.
        counters: Columns whose numbers are followed: a snapshot of them is kept when one of them changes.
        warn: Told of each rejected row and each removed value in a sentence; they are logged when omitted.

    Returns:
        Rows inserted, updated, unchanged (by content hash) and rejected.

    Raises:
        UnknownColumnError: A row, ``key``, ``volatile`` or ``counters`` names a column that is not there.
        DBAPIError: The database itself failed, whatever the rows.
    """
    target = _target(cast("Hashable", model), tuple(key), tuple(volatile), session.get_bind().dialect.name)
    if counters is not None:
        target.refuse_unknown(counters.columns.values())
    job = _Upsert(session, target, counters, warn or _log_warning)
    entries, counts = job.entries(rows)
    waiting = iter(entries)
    while batch := list(islice(waiting, BATCH_SIZE)):
        counts += job.store(batch)
    return counts


@lru_cache(maxsize=256)  # a crawl stores a batch a few dozen times a second
def _target(model: Hashable, key: tuple[str, ...], volatile: tuple[str, ...], dialect: str) -> Target:
    return Target(cast("type[SourceColumns]", model), key, volatile, dialect)


class _Upsert:
    def __init__(
        self, session: Session, target: Target, counters: Counters | None, warn: Callable[[str], object]
    ) -> None:
        self._session = session
        self._target = target
        self._counters = counters
        self._warn = warn

    def entries(self, rows: Iterable[Row]) -> tuple[list[Entry], SaveCounts]:
        """Return one entry a key, and the count of rows without a usable key."""
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
        # Two writers that lock the same rows in another order would wait for each other.
        return sorted(found.values(), key=_order), SaveCounts(rejected=rejected)

    def store(self, entries: Sequence[Entry]) -> SaveCounts:
        """Store all at once; when the database refuses, halve until the bad rows are alone."""
        try:
            with hot_savepoint(self._session) as cursor:
                return self._write(cursor, entries)
        except _CameBetweenError:
            return self.store(entries)
        except (StatementError, OverflowError) as exc:
            if isinstance(exc, StatementError) and not refuses_values(exc):
                raise
            if len(entries) == 1:
                return SaveCounts(rejected=self._reject(self._target.named(entries[0].key), reason_of(exc)))
            middle = len(entries) // 2
            return self.store(entries[:middle]) + self.store(entries[middle:])

    def _write(self, cursor: HotCursor, entries: Sequence[Entry]) -> SaveCounts:
        target, dialect = self._target, cursor.dialect
        stored = {target.key_of(row): row for row in target.read(cursor, [entry.key for entry in entries])}
        now = utc_now()  # who waited for others' locks stores what it has after them
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
        updated = sum(
            before["content_hash"] != after["content_hash"]
            for (_, before), after in zip(known, changed, strict=True)
        )
        return SaveCounts(inserted=len(new), updated=updated, unchanged=len(known) - updated)

    def _reject(self, what: str, reason: str) -> int:
        self._warn(f"{what} was rejected: {reason}")
        return 1


def _order(entry: Entry) -> tuple[str, ...]:
    return tuple(map(str, entry.key))


class _CameBetweenError(Exception):
    """On PostgreSQL, another writer inserted a row of ours after we had looked for it."""


def _log_warning(sentence: str) -> None:
    log.warning("row.warned", reason=sentence)
