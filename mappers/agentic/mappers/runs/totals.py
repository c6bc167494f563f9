"""Totals of past weeks: counted once, and kept until a row of the week changes.

So totals are exact without reading the whole history. Database triggers remove the totals of a past week in
the transaction that inserts, changes or removes one of its rows; for rows of the current week they cost one
comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, cast

from sqlalchemy import Column, ColumnElement, Table, delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from agentic.core.ids import new_id
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue
from agentic.mappers.database.database import Database
from agentic.mappers.errors import DataError
from agentic.mappers.ledger.sql import NOW, RUNS
from agentic.mappers.runs.reading import IS_OUTERMOST
from agentic.mappers.tables.core import ExecutionModel, KeptTotalsModel

log = get_logger(__name__)

WEEK_S = 604_800

TotalsKind: TypeAlias = Literal["runs", "executions"]

_KEPT = cast("Table", KeptTotalsModel.__table__)
_EXECUTIONS = cast("Table", ExecutionModel.__table__)
_CREATED: dict[TotalsKind, tuple[Table, Column[Any]]] = {
    "runs": (RUNS, RUNS.c.created_at),
    "executions": (_EXECUTIONS, _EXECUTIONS.c.created_at),
}


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive weeks; None for an open start or end.

    Attributes:
        first: Number of the first week since the epoch.
        end: Number of the first week after it.
    """

    first: int | None
    end: int | None

    def within(self, kind: TotalsKind) -> list[ColumnElement[bool]]:
        """Return conditions that a row was created in these weeks."""
        _, created = _CREATED[kind]
        found = []
        if self.first is not None:
            found.append(created >= _moment(kind, self.first))
        if self.end is not None:
            found.append(created < _moment(kind, self.end))
        return found


Count: TypeAlias = Callable[[Session, str, Span], JSONValue]
"""Counts the results of a project in some weeks; None for counts that may still change: not stored."""


def keep_totals(database: Database, project_id: str, kind: TotalsKind, count: Count) -> None:
    """Count and store the totals of past weeks; do nothing if the database refuses.

    A week is marked first. A later change to one of its rows removes the mark, and the counts are dropped.
    So no transaction waits for the count.
    """
    try:
        for week in _uncounted(database, project_id, kind):
            token = new_id()
            if not _mark(database, project_id, kind, week, token):
                return
            with database.reading() as session:
                totals = count(session, project_id, Span(week, week + 1))
            _finish(database, token, totals)
    except (DataError, DBAPIError) as exc:
        log.info("totals.unkept", project_id=project_id, reason=type(exc).__name__)


def totals_of(session: Session, project_id: str, kind: TotalsKind, count: Count) -> Iterator[JSONValue]:
    """Yield totals that add up to all of a project: stored totals, and totals counted now."""
    kept = select(_KEPT.c.week, _KEPT.c.totals).where(*_own(project_id, kind), _KEPT.c.totals.is_not(None))
    after: int | None = None
    for week, totals in session.execute(kept.order_by(_KEPT.c.week)).all():
        yield totals
        if week != after:
            yield count(session, project_id, Span(after, week))
        after = week + 1
    yield count(session, project_id, Span(after, None))


def _uncounted(database: Database, project_id: str, kind: TotalsKind) -> list[int]:
    """Return the weeks with rows that ended at least a week ago and have no stored totals."""
    table, created = _CREATED[kind]
    found: list[int] = []
    with database.reading() as session:
        kept = select(_KEPT.c.week).where(*_own(project_id, kind), _KEPT.c.totals.is_not(None))
        known = set(session.scalars(kept))
        # A transaction that began last week may still change a row of it: its totals are not stored yet.
        end = _week(session.scalar(select(NOW)) or 0.0) - 1
        week: int | None = None
        while True:
            where = [table.c.project_id == project_id, *Span(week, end).within(kind)]
            if kind == "runs":
                where.append(IS_OUTERMOST)
            if (oldest := session.scalar(select(func.min(created)).where(*where))) is None:
                return found
            week = _week(oldest.timestamp() if isinstance(oldest, datetime) else oldest)
            if week not in known:
                found.append(week)
            week += 1


def _mark(database: Database, project_id: str, kind: TotalsKind, week: int, token: str) -> bool:
    with database.writing() as session:
        if session.get_bind().dialect.name == "postgresql":
            # Does not wait: a transaction that changes rows of past weeks right now would not see the mark.
            session.execute(text("LOCK TABLE kept_totals IN SHARE ROW EXCLUSIVE MODE NOWAIT"))
        own = (*_own(project_id, kind), _KEPT.c.week == week)
        session.execute(delete(_KEPT).where(*own, _KEPT.c.totals.is_(None)))
        if session.scalar(select(_KEPT.c.week).where(*own)) is not None:  # another process was faster
            return False
        values = {"project_id": project_id, "kind": kind, "week": week, "token": token}
        session.execute(insert(_KEPT).values(**values))
    return True


def _finish(database: Database, token: str, totals: JSONValue) -> None:
    is_mine = _KEPT.c.token == token
    with database.writing() as session:
        statement = delete(_KEPT) if totals is None else update(_KEPT).values(totals=totals)
        session.execute(statement.where(is_mine))


def _own(project_id: str, kind: TotalsKind) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _KEPT.c.project_id == project_id, _KEPT.c.kind == kind


def _week(seconds: float) -> int:
    return int(seconds // WEEK_S)


def _moment(kind: TotalsKind, week: int) -> float | datetime:
    seconds = week * WEEK_S
    return float(seconds) if kind == "runs" else datetime.fromtimestamp(seconds, UTC)
