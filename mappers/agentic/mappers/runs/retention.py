"""Removes old ended runs from the ledger, a little at a time, so that other work never waits long."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, or_, select
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, DecisionKind, acting_user, decided, decisions_of
from agentic.core.audit.deriving import DECIDING
from agentic.core.graph.errors import CorruptContentError
from agentic.core.ledger import EventBatch
from agentic.core.ledger.batches import read_batch
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.mappers.audit import KeptDecision, add_decision_about, keep_decisions
from agentic.mappers.checkpoints.statements import CHECKPOINTS, PARTS
from agentic.mappers.database.database import Database
from agentic.mappers.database.driver import DriverCursor, Row, Values, cursor_of
from agentic.mappers.database.prefixes import range_of
from agentic.mappers.ledger.sql import ACTIVATIONS, EFFECTS, EVENTS, RUNS
from agentic.mappers.runs.reading import IS_OUTERMOST
from agentic.mappers.runs.retention_statements import (
    IS_OLD,
    Fact,
    deciding_events,
    in_ranges,
    named,
    removal,
    still_old,
)

log = get_logger(__name__)

MAX_ROWS = 5_000
"""Maximum number of rows one transaction removes; on SQLite others wait for it."""

PAGE_SIZE = 500
"""How many runs are selected and removed together."""

CACHE_KIB = 16_384
"""SQLite's cache for changed pages. A page of runs changes 5 MB: with the usual 2 MB, the pages that do
not fit are written to the log, read again and written again."""

_MAX_NAMES = 5_000

_BATCH = ("run_id", "first", "last", "text")

_STATES = (CHECKPOINTS, PARTS, ACTIVATIONS, EFFECTS, EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRun:
    """A run that ended long ago.

    Attributes:
        run_id: The run.
        within: Runs within it: child runs at any depth, and runs known only from their events.
    """

    run_id: RunId
    within: Sequence[RunId] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRuns:
    """Runs that may be removed.

    Attributes:
        runs: Ordered by their end, the earliest first.
        held_count: Equally old runs that must stay, because some of their events are not published yet.
    """

    runs: Sequence[OldRun]
    held_count: int


class Retention:
    """Removes the runs of a project that ended long ago, with all their data in the ledger.

    Results stay: rows of mappers, executions and the tables of plugins. Decisions of the runs become rows of
    the audit.

    Args:
        database: Holds the ledger.
        project_id: Owns the runs.
        older_than_s: How long ago they ended at least, by the clock of the database.
    """

    def __init__(self, database: Database, project_id: str, older_than_s: float) -> None:
        self._database = database
        self._project_id = project_id
        self._older_than_s = older_than_s
        self._who = acting_user()
        self._why = f"it ended more than {older_than_s:g} s before"

    def find(self, *, even_unpublished: bool = False) -> OldRuns:
        """Return all runs that may be removed; see :meth:`pages`."""
        pages = list(self.pages(even_unpublished=even_unpublished))
        runs = [run for page in pages for run in page.runs]
        return OldRuns(runs=runs, held_count=sum(page.held_count for page in pages))

    def pages(self, *, even_unpublished: bool = False) -> Iterator[OldRuns]:
        """Yield removable runs, some at a time; a run with an open child run is not removable.

        Each page is read on demand, so that the previous pages may be removed meanwhile.

        Args:
            even_unpublished: Also runs with unpublished events.
        """
        columns, after = RUNS.c, None
        while True:
            query = select(columns.run_id, columns.finished_at).where(
                self._of_project(RUNS), IS_OUTERMOST, IS_OLD
            )
            if after is not None:
                is_later = or_(columns.finished_at > after[1], columns.run_id > after[0])
                query = query.where(columns.finished_at >= after[1], is_later)
            with self._database.reading() as session:
                query = query.order_by(columns.finished_at, columns.run_id).limit(PAGE_SIZE)
                rows = session.execute(query, {"older_than_s": self._older_than_s}).all()
                names = [str(run_id) for run_id, _ in rows]
                page = self._removable(session, names, even_unpublished=even_unpublished)
            if names:
                yield page
            if len(rows) < PAGE_SIZE:
                return
            after = rows[-1]

    def of(self, run_id: RunId, *, even_unpublished: bool = False) -> OldRun | None:
        """Return one run, if it may be removed; see :meth:`pages`."""
        is_run = self._of_project(RUNS) & (RUNS.c.run_id == run_id)
        with self._database.reading() as session:
            query = select(RUNS.c.run_id).where(is_run, IS_OUTERMOST, IS_OLD)
            if session.scalar(query, {"older_than_s": self._older_than_s}) is None:
                return None
            found = self._removable(session, [run_id], even_unpublished=even_unpublished).runs
        return found[0] if found else None

    def remove(self, *runs: OldRun) -> int:
        """Remove runs, in one transaction or several; return the number of removed rows.

        A run that was continued meanwhile stays.
        """
        count = removed = self._remove_some(*runs)
        while removed == MAX_ROWS:
            removed = self._remove_some(*runs)
            count += removed
        return count

    def _removable(self, session: Session, names: Sequence[str], *, even_unpublished: bool) -> OldRuns:
        within: dict[str, list[RunId]] = defaultdict(list)
        is_held: set[str] = set()
        go_on: set[str] = set()
        with cursor_of(session.connection()) as cursor:
            for run_id, is_unfinished in self._within(cursor, "runs within", names):
                root = run_id.partition("/")[0]
                within[root].append(run_id)
                if is_unfinished:
                    go_on.add(root)
            for run_id, _ in self._within(cursor, "events within", names):
                within[run_id.partition("/")[0]].append(run_id)
            if not even_unpublished:
                found = self._in_ranges(cursor, "unpublished", names)
                is_held = {run_id.partition("/")[0] for run_id, _ in found if run_id}
        ended = [name for name in names if name not in go_on]
        runs = [
            OldRun(run_id=RunId(name), within=sorted(set(within[name])))
            for name in ended
            if name not in is_held
        ]
        return OldRuns(runs=runs, held_count=len(ended) - len(runs))

    def _within(
        self, cursor: DriverCursor, fact: Fact, names: Sequence[str]
    ) -> Iterator[tuple[RunId, object]]:
        """Yield the runs within some runs from a table, each once, with a fact of its row."""
        roots = set(names)
        for run_id, found in self._in_ranges(cursor, fact, names):
            root, slash, _ = (run_id or "").partition("/")
            if slash and root in roots:
                yield RunId(run_id), found

    def _in_ranges(self, cursor: DriverCursor, fact: Fact, names: Sequence[str]) -> Sequence[Row]:
        """Return rows of runs and of the runs within them, and perhaps of others."""
        if not names:
            return ()
        ranges = [range_of(name) for name in names]
        known = dict(one for one in ranges if one is not None)
        # Names in another script may sort anywhere.
        statement = in_ranges(fact, is_sqlite=not cursor.is_postgresql, is_ranged=None not in ranges)
        return cursor.rows(statement, {**self._project, "ranges": json.dumps(known)})

    def _remove_some(self, *runs: OldRun) -> int:
        with self._database.writing() as session:
            with cursor_of(session.connection()) as cursor:
                is_sqlite = not cursor.is_postgresql
                if is_sqlite:
                    cursor.control(f"PRAGMA cache_size=-{CACHE_KIB}")
                asked = self._named([run.run_id for run in runs])
                old = {run_id for (run_id,) in cursor.rows(still_old(is_sqlite=is_sqlite), asked)}
                still = [run for run in runs if run.run_id in old]
                count = 0
                for table, names in _in_order(still):
                    count += self._remove_rows(session, cursor, table, names, MAX_ROWS - count)
                    if count == MAX_ROWS:
                        break
                left: set[str] = set()
                if count == MAX_ROWS:
                    left = {run_id for (run_id,) in cursor.rows(named(is_sqlite=is_sqlite), asked)}
            self._tell(session, [run for run in still if run.run_id not in left])
            return count

    def _tell(self, session: Session, gone: Sequence[OldRun]) -> None:
        """Record the removed runs in the audit."""
        alike: dict[int, list[RunId]] = defaultdict(list)
        for run in gone:
            alike[len(run.within)].append(run.run_id)
        for count, names in alike.items():
            what = f"the run is removed from the ledger, with {count} runs within it"
            decision = decided(DecisionKind.RUN_PRUNED, "", what, reason=self._why, who=self._who)
            add_decision_about(session.connection(), self._project_id, decision, names)

    def _remove_rows(
        self, session: Session, cursor: DriverCursor, table: Table, names: Sequence[RunId], limit: int
    ) -> int:
        some = {**self._named(names), "limit": limit}
        if table is EVENTS:
            self._keep_decisions(session, cursor, some)
        return cursor.run(removal(table, is_sqlite=not cursor.is_postgresql), some)

    def _keep_decisions(self, session: Session, cursor: DriverCursor, some: Values) -> None:
        """Copy decisions from events into the audit before the events are removed."""
        kept: list[KeptDecision] = []
        for *batch, published_at in cursor.rows(deciding_events(is_sqlite=not cursor.is_postgresql), some):
            found = _decisions(EventBatch(**dict(zip(_BATCH, batch, strict=True))))
            kept += ((decision, published_at) for decision in found)
        keep_decisions(session.connection(), self._project_id, kept)

    def _named(self, names: Sequence[RunId]) -> dict[str, Any]:
        return {**self._project, "older_than_s": self._older_than_s, "names": json.dumps(names)}

    @property
    def _project(self) -> dict[str, Any]:
        return {"project_id": self._project_id}

    def _of_project(self, table: Table) -> ColumnElement[bool]:
        return table.c.project_id == self._project_id


def _decisions(batch: EventBatch) -> Sequence[Decision]:
    try:
        return decisions_of(read_batch(batch, DECIDING))
    except (CorruptContentError, ValueError) as exc:
        log.warning("decisions.lost", run_id=batch.run_id, first=batch.first, reason=str(exc))
        return ()


def _in_order(runs: Sequence[OldRun]) -> Iterator[tuple[Table, Sequence[RunId]]]:
    """Yield the rows to remove of runs, table by table.

    Their checkpoints go first, because runs cannot continue without them. Their own rows go last, so that
    the leftovers of a killed process are found again.
    """
    own, within = [run.run_id for run in runs], [name for run in runs for name in run.within]
    for table in _STATES:
        yield from ((table, names) for names in _some_at_a_time([*own, *within]))
    for names in (within, own):
        yield from ((RUNS, some) for some in _some_at_a_time(names))


def _some_at_a_time(names: Sequence[RunId]) -> Iterator[Sequence[RunId]]:
    return (names[start : start + _MAX_NAMES] for start in range(0, len(names), _MAX_NAMES))
