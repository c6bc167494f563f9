"""Removes runs that ended long ago from the ledger, a little at a time, so that nobody waits for it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Select,
    Table,
    and_,
    delete,
    false,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, DecisionKind, acting_user, decided, decisions_of
from agentic.core.graph.errors import CorruptContentError
from agentic.core.ids import new_id
from agentic.core.ledger import EventBatch
from agentic.core.ledger.batches import read_batch
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.mappers.audit import KeptDecision, add_decisions, keep_decisions
from agentic.mappers.checkpoint_statements import CHECKPOINTS, PARTS
from agentic.mappers.database import Database
from agentic.mappers.ledger_reading import IS_OUTERMOST
from agentic.mappers.ledger_sql import ACTIVATIONS, EFFECTS, EVENTS, NOW, RUNS
from agentic.mappers.prefixes import begins_and_ends, range_of, texts

log = get_logger(__name__)

MAX_ROWS = 5_000
"""Rows that one transaction removes at most; on SQLite others wait for it."""

PAGE_SIZE = 500
"""Runs that are looked for, and removed, together."""

_MAX_NAMES = 5_000

_BATCH = ("run_id", "first", "last", "text")

_STATES = (CHECKPOINTS, PARTS, ACTIVATIONS, EFFECTS, EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRun:
    """A run that ended long ago.

    Attributes:
        run_id: The run.
        within: Runs within it: its child runs, theirs, and those that only their events tell of.
    """

    run_id: RunId
    within: Sequence[RunId] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRuns:
    """What may be removed.

    Attributes:
        runs: Those that ended first come first.
        held_count: Runs as old that have to stay, as some of their events are not published yet.
    """

    runs: Sequence[OldRun]
    held_count: int


class Retention:
    """Removes the runs of a project that ended long ago, with all that the ledger has of them.

    Results stay: rows of mappers, executions and the tables of plugins. What the runs decided becomes rows of
    the audit.

    Args:
        database: Holds the ledger.
        project_id: Owns the runs.
        older_than_s: How long ago they must have ended, by the clock of the database.
    """

    def __init__(self, database: Database, project_id: str, older_than_s: float) -> None:
        self._database = database
        self._project_id = project_id
        self._is_old = RUNS.c.finished_at <= NOW - older_than_s
        self._who = acting_user()
        self._alike: dict[int, Decision] = {}
        self._why = f"it ended more than {older_than_s:g} s before"

    def find(self, *, even_unpublished: bool = False) -> OldRuns:
        """Return all that may be removed; see :meth:`pages`."""
        pages = list(self.pages(even_unpublished=even_unpublished))
        runs = [run for page in pages for run in page.runs]
        return OldRuns(runs=runs, held_count=sum(page.held_count for page in pages))

    def pages(self, *, even_unpublished: bool = False) -> Iterator[OldRuns]:
        """Yield what may be removed, some at a time; a run with a child run that goes on may not.

        Each page is looked for when it is asked for, so that those before it may be removed meanwhile.

        Args:
            even_unpublished: Also runs of which events are not published yet.
        """
        columns, after = RUNS.c, None
        while True:
            query = select(columns.run_id, columns.finished_at).where(
                self._of_project(RUNS), IS_OUTERMOST, self._is_old
            )
            if after is not None:
                is_later = or_(columns.finished_at > after[1], columns.run_id > after[0])
                query = query.where(columns.finished_at >= after[1], is_later)
            with self._database.reading() as session:
                query = query.order_by(columns.finished_at, columns.run_id).limit(PAGE_SIZE)
                rows = session.execute(query).all()
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
            if session.scalar(select(RUNS.c.run_id).where(is_run, IS_OUTERMOST, self._is_old)) is None:
                return None
            found = self._removable(session, [run_id], even_unpublished=even_unpublished).runs
        return found[0] if found else None

    def remove(self, *runs: OldRun) -> int:
        """Remove runs, in one transaction or several; return how many rows that were.

        One that was let go on meanwhile stays.
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
        for run_id, is_unfinished in self._within(session, RUNS, names, RUNS.c.finished_at.is_(None)):
            root = run_id.partition("/")[0]
            within[root].append(run_id)
            if is_unfinished:
                go_on.add(root)
        for run_id, _ in self._within(session, EVENTS, names):
            within[run_id.partition("/")[0]].append(run_id)
        if not even_unpublished:
            is_held = self._unpublished(session, names)
        ended = [name for name in names if name not in go_on]
        found = [
            OldRun(run_id=RunId(name), within=sorted(set(within[name])))
            for name in ended
            if name not in is_held
        ]
        return OldRuns(runs=found, held_count=len(ended) - len(found))

    def _within(
        self, session: Session, table: Table, names: Sequence[str], fact: ColumnElement[Any] | None = None
    ) -> Iterator[tuple[RunId, object]]:
        """Yield the runs within some runs that a table tells of, each once, with a fact of its row."""
        roots = set(names)
        query = self._in_ranges(session, table, names, null() if fact is None else fact)
        # Not the runs themselves, but the rows of nothing: see there.
        query = query.where(or_(table.c.run_id.is_(None), table.c.run_id.contains("/", autoescape=True)))
        for run_id, found in session.execute(query.distinct()):
            root, slash, _ = (run_id or "").partition("/")
            if slash and root in roots:
                yield RunId(run_id), found

    def _unpublished(self, session: Session, names: Sequence[str]) -> set[str]:
        """Return those runs of which events are not published yet, or of runs within them."""
        query = self._in_ranges(session, EVENTS, names, null(), EVENTS.c.published_at.is_(None))
        return {run_id.partition("/")[0] for run_id, _ in session.execute(query.distinct()) if run_id}

    def _in_ranges(
        self,
        session: Session,
        table: Table,
        names: Sequence[str],
        fact: ColumnElement[Any],
        *where: ColumnElement[bool],
    ) -> Select[str, Any]:
        """Return a query for the rows of runs and of what is within them; it may find others, too."""
        ranges = [range_of(name) for name in names]
        known = [one for one in ranges if one is not None]
        query = select(table.c.run_id, fact.label("fact")).where(self._of_project(table), *where)
        if len(known) < len(ranges):  # names in another script: they may be anywhere in the order
            return query
        if not known:
            return query.where(false())
        begins = begins_and_ends(known, is_sqlite=session.get_bind().dialect.name == "sqlite")
        is_there = and_(
            self._of_project(table), table.c.run_id >= begins.c.low, table.c.run_id < begins.c.high, *where
        )
        # An outer join, so that SQLite begins with the ranges and not with all rows of the project. A range
        # without rows gives one of nothing: a condition that leaves it out would undo that.
        return select(table.c.run_id, fact.label("fact")).select_from(begins.outerjoin(table, is_there))

    def _remove_some(self, *runs: OldRun) -> int:
        with self._database.writing() as session:
            asked = self._of_runs(session, RUNS, [run.run_id for run in runs])
            old = set(session.scalars(select(RUNS.c.run_id).where(*asked, self._is_old).with_for_update()))
            still = [run for run in runs if run.run_id in old]
            count = 0
            for table, names in _in_order(still):
                count += self._remove_rows(session, table, names, MAX_ROWS - count)
                if count == MAX_ROWS:
                    break
            is_whole = count < MAX_ROWS
            left = set() if is_whole else set(session.scalars(select(RUNS.c.run_id).where(*asked)))
            gone = [self._pruned(run) for run in still if run.run_id not in left]
            add_decisions(session.connection(), self._project_id, gone)
            return count

    def _pruned(self, run: OldRun) -> Decision:
        count = len(run.within)
        if count not in self._alike:
            what = f"the run is removed from the ledger, with {count} runs within it"
            self._alike[count] = decided(
                DecisionKind.RUN_PRUNED, run.run_id, what, reason=self._why, who=self._who
            )
        # To check and mask the same words for each run takes as long as to remove its rows.
        own = {"id": new_id(), "time": time.time(), "subject": run.run_id}
        return self._alike[count].model_copy(update=own)

    def _remove_rows(self, session: Session, table: Table, names: Sequence[RunId], limit: int) -> int:
        of_runs = self._of_runs(session, table, names)
        is_sqlite = session.get_bind().dialect.name == "sqlite"
        place: ColumnElement[Any] = literal_column("rowid" if is_sqlite else "ctid")
        some = (
            select(place).select_from(table).where(*of_runs).order_by(*table.primary_key.columns).limit(limit)
        )
        if table is EVENTS:
            self._keep_decisions(session, of_runs, limit)
        result = session.execute(delete(table).where(place.in_(some)))
        return cast("CursorResult[object]", result).rowcount

    def _keep_decisions(self, session: Session, of_runs: Sequence[ColumnElement[bool]], limit: int) -> None:
        """Copy into the audit what events tell of decisions that are about to be removed."""
        some = select(EVENTS).where(*of_runs).order_by(*EVENTS.primary_key.columns).limit(limit).subquery()
        columns = some.c
        query = select(columns.run_id, columns.first, columns.last, columns.text, columns.published_at)
        kept: list[KeptDecision] = []
        for *batch, published_at in session.execute(query.where(columns.decided_at.is_not(None))):
            found = _decisions(EventBatch(**dict(zip(_BATCH, batch, strict=True))))
            kept += ((decision, published_at) for decision in found)
        keep_decisions(session.connection(), self._project_id, kept)

    def _of_runs(
        self, session: Session, table: Table, names: Sequence[RunId]
    ) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        is_sqlite = session.get_bind().dialect.name == "sqlite"
        return self._of_project(table), table.c.run_id.in_(texts(names, is_sqlite=is_sqlite))

    def _of_project(self, table: Table) -> ColumnElement[bool]:
        return table.c.project_id == self._project_id


def _decisions(batch: EventBatch) -> Sequence[Decision]:
    try:
        return decisions_of(read_batch(batch))
    except (CorruptContentError, ValueError) as exc:
        log.warning("decisions.lost", run_id=batch.run_id, first=batch.first, reason=str(exc))
        return ()


def _in_order(runs: Sequence[OldRun]) -> Iterator[tuple[Table, Sequence[RunId]]]:
    """Yield what is to be removed of runs.

    Without their checkpoints nobody can continue them, so these go first. Their own rows go last, so that
    what a killed process left is found again.
    """
    own, within = [run.run_id for run in runs], [name for run in runs for name in run.within]
    for table in _STATES:
        yield from ((table, names) for names in _some_at_a_time([*own, *within]))
    for names in (within, own):
        yield from ((RUNS, some) for some in _some_at_a_time(names))


def _some_at_a_time(names: Sequence[RunId]) -> Iterator[Sequence[RunId]]:
    return (names[start : start + _MAX_NAMES] for start in range(0, len(names), _MAX_NAMES))
