"""Removes runs that ended long ago from the ledger, a little at a time, so that nobody waits for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import ColumnElement, CursorResult, Table, delete, select, tuple_, union
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, DecisionKind, decisions_of
from agentic.core.graph.errors import CorruptContentError
from agentic.core.ledger import EventBatch
from agentic.core.ledger.batches import read_batch
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.mappers.audit import add_decisions, audit
from agentic.mappers.checkpoint_statements import CHECKPOINTS, PARTS
from agentic.mappers.database import Database
from agentic.mappers.ledger_reading import IS_OUTERMOST
from agentic.mappers.ledger_sql import ACTIVATIONS, EFFECTS, EVENTS, NOW, RUNS

log = get_logger(__name__)

MAX_ROWS = 2_000
"""Rows that one transaction removes at most; on SQLite others wait for it."""

_MAX_NAMES = 500

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
        self._why = f"it ended more than {older_than_s:g} s before"

    def find(self, *, even_unpublished: bool = False) -> OldRuns:
        """Return what may be removed; a run with a child run that goes on may not.

        Args:
            even_unpublished: Also runs of which events are not published yet.
        """
        with self._database.reading() as session:
            old = session.scalars(
                select(RUNS.c.run_id)
                .where(self._of_project(RUNS), IS_OUTERMOST, self._is_old)
                .order_by(RUNS.c.finished_at)
            ).all()
            go_on = self._outermost(session, RUNS, RUNS.c.finished_at.is_(None))
            unpublished = self._outermost(session, EVENTS, EVENTS.c.published_at.is_(None))
            within = self._within(session, set(old))
        ended = [RunId(run_id) for run_id in old if run_id not in go_on]
        kept = set() if even_unpublished else unpublished
        found = [OldRun(run_id=run_id, within=within[run_id]) for run_id in ended if run_id not in kept]
        return OldRuns(runs=found, held_count=len(ended) - len(found))

    def remove(self, run: OldRun) -> int:
        """Remove a run, in one transaction or several; return how many rows that were.

        One that was let go on meanwhile stays.
        """
        count = removed = self._remove_some(run)
        while removed == MAX_ROWS:
            removed = self._remove_some(run)
            count += removed
        return count

    def _remove_some(self, run: OldRun) -> int:
        with self._database.writing() as session:
            is_run = self._of_project(RUNS) & (RUNS.c.run_id == run.run_id)
            if session.scalar(select(RUNS.c.run_id).where(is_run, self._is_old).with_for_update()) is None:
                return 0
            count = 0
            for table, names in _in_order(run):
                count += self._remove_rows(session, table, names, MAX_ROWS - count)
                if count == MAX_ROWS:
                    break
            if session.scalar(select(RUNS.c.run_id).where(is_run)) is None:
                what = f"the run is removed from the ledger, with {len(run.within)} runs within it"
                audit(session, self._project_id, DecisionKind.RUN_PRUNED, run.run_id, what, reason=self._why)
            return count

    def _remove_rows(self, session: Session, table: Table, names: Sequence[RunId], limit: int) -> int:
        key = table.primary_key.columns
        of_runs = self._of_project(table), table.c.run_id.in_(names)
        some = select(*key).where(*of_runs).order_by(*key).limit(limit)
        if table is EVENTS:
            self._keep_decisions(session, of_runs, limit)
        result = session.execute(delete(table).where(tuple_(*key).in_(some)))
        return cast("CursorResult[object]", result).rowcount

    def _keep_decisions(self, session: Session, of_runs: Sequence[ColumnElement[bool]], limit: int) -> None:
        """Copy into the audit what events tell of decisions that are about to be removed."""
        columns = EVENTS.c
        query = select(columns.run_id, columns.first, columns.last, columns.text, columns.published_at)
        some = query.where(*of_runs).order_by(*EVENTS.primary_key.columns).limit(limit)
        for *batch, published_at in session.execute(some):
            found = _decisions(EventBatch(**dict(zip(_BATCH, batch, strict=True))))
            add_decisions(session.connection(), self._project_id, found, published_at=published_at)

    def _outermost(self, session: Session, table: Table, *where: ColumnElement[bool]) -> set[str]:
        """Return the outermost runs of those that rows are about."""
        query = select(table.c.run_id).where(self._of_project(table), *where).distinct()
        return {run_id.partition("/")[0] for run_id in session.scalars(query)}

    def _within(self, session: Session, outermost: set[str]) -> dict[str, list[RunId]]:
        """Return the runs within each of some runs; one look, as no index finds them by how they begin."""
        is_within = [
            select(table.c.run_id).where(self._of_project(table), table.c.run_id.contains("/"))
            for table in (EVENTS, RUNS)
        ]
        found: dict[str, list[RunId]] = defaultdict(list)
        for run_id in session.scalars(union(*is_within)):
            name = run_id.partition("/")[0]
            if name in outermost:
                found[name].append(RunId(run_id))
        return found

    def _of_project(self, table: Table) -> ColumnElement[bool]:
        return table.c.project_id == self._project_id


def _decisions(batch: EventBatch) -> Sequence[Decision]:
    try:
        return decisions_of(read_batch(batch))
    except (CorruptContentError, ValueError) as exc:
        log.warning("decisions.lost", run_id=batch.run_id, first=batch.first, reason=str(exc))
        return ()


def _in_order(run: OldRun) -> Iterator[tuple[Table, Sequence[RunId]]]:
    """Yield what is to be removed of a run.

    Without its checkpoints nobody can go on with it any more, so these go first. Its own row goes last, so
    that what was left of it when a process was killed is found again.
    """
    within = [run.within[start : start + _MAX_NAMES] for start in range(0, len(run.within), _MAX_NAMES)]
    for table in _STATES:
        yield from ((table, names) for names in ([run.run_id], *within))
    yield from ((RUNS, names) for names in (*within, [run.run_id]))
