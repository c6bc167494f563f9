"""Times of an execution's work: pages from their rows, steps from the ledger."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    SQLColumnExpression,
    String,
    case,
    func,
    literal_column,
    null,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agentic.core.hooks import Platform
from agentic.executors.reports.facts import STEP_BOUNDS_S, StepFacts, Timeline
from agentic.mappers import ExecutionModel, SourceColumns
from agentic.mappers.database.prefixes import is_within
from agentic.mappers.tables.ledger import ActivationModel, RunModel

INTERVALS = 60
"""Maximum number of points of a timeline."""

STEPS = 30
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200)
_DAY_S = 86_400.0
_TEXTS = ((21, 60.0), (19, 7_200.0), (16, math.inf))
"""Precision of times, for executions that take less than this number of seconds."""

_RUNS = 500


class TimeText(FunctionElement[str]):
    """A time in UTC as text, cut off after some characters, as SQL: ``2026-11-22 20:46:22.6`` has 21.

    Grouping by it takes a tenth of the time of reading every moment.
    """

    type = String()
    inherit_cache = True

    def __init__(self, time: SQLColumnExpression[Any], length: int) -> None:
        super().__init__(time, literal_column(str(length), Integer()))


@compiles(TimeText, "sqlite")
def _text_sqlite(element: TimeText, compiler: SQLCompiler, **kw: object) -> str:
    time, length = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"substr({time}, 1, {length})"


@compiles(TimeText)
def _text(element: TimeText, compiler: SQLCompiler, **kw: object) -> str:
    time, length = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"left(to_char({time} at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS.US'), {length})"


def page_timeline(
    session: Session, platform: Platform, execution: ExecutionModel, done: int
) -> Timeline | None:
    """Return when the pages of a crawl were fetched; None if no row has the time.

    Args:
        session: The session to read with.
        platform: The execution's platform: its first table with a column ``fetched_at`` has the pages.
        execution: The execution that fetched them.
        done: How many it fetched.
    """
    model = _page_model(platform)
    if model is None:
        return None
    time: SQLColumnExpression[Any] = getattr(model, "fetched_at")  # noqa: B009 - a platform's own column
    own = (model.project_id == execution.project_id, model.execution_id == execution.id)
    span_s = _span_s(execution)
    cut = TimeText(time, next(length for length, below_s in _TEXTS if span_s < below_s))
    way: SQLColumnExpression[Any] = getattr(model, "fetched_by", null())
    found = session.execute(select(cut, way, func.count()).where(*own).group_by(cut, way)).all()
    if not found:
        return None
    moments = [(_moment(text), count) for text, _, count in found]
    began, last = min(moments)[0], max(moments)[0]
    step_s = nice_step((last - began).total_seconds())
    counts = [0] * (_place(last - began, step_s) + 1)
    for moment, count in moments:
        counts[_place(moment - began, step_s)] += count
    ways: Counter[str] = Counter()
    for _, name, count in found:
        ways[str(name)] += count
    return Timeline(
        began=began,
        step_s=step_s,
        counts=tuple(counts),
        of=max(done, sum(counts)),
        ways={} if set(ways) == {"None"} else dict(ways.most_common()),
    )


def nice_step(span_s: float) -> float:
    """Return a round interval; at most :data:`INTERVALS` of it fill ``span_s`` seconds."""
    fitting = (step for step in _STEPS_S if span_s / step < INTERVALS)
    return next(fitting, max(_DAY_S, -(-span_s // (INTERVALS * _DAY_S)) * _DAY_S))


def run_ids(session: Session, execution: ExecutionModel) -> list[str]:
    """Return the run of an execution and its child runs, at most :data:`_RUNS`."""
    is_child = is_within(RunModel.run_id, execution.id)
    query = select(RunModel.run_id).where(
        RunModel.project_id == execution.project_id, (RunModel.run_id == execution.id) | is_child
    )
    return list(session.scalars(query.order_by(RunModel.created_at).limit(_RUNS)))


def workers(session: Session, execution: ExecutionModel, runs: Sequence[str]) -> list[str]:
    """Return the workers of runs, the busiest first."""
    query = (
        select(ActivationModel.worker)
        .where(*_activations(execution, runs), ActivationModel.worker.is_not(None))
        .group_by(ActivationModel.worker)
        .order_by(func.count().desc(), ActivationModel.worker)
    )
    return [worker for worker in session.scalars(query) if worker]


def step_times(session: Session, execution: ExecutionModel, runs: Sequence[str]) -> list[StepFacts]:
    """Return how long the steps of runs took, the longest total first.

    Where child runs did the work, the steps are from them: an execution's own run only waits for them.
    """
    runs = [run for run in runs if run != execution.id] or runs
    took = ActivationModel.finished_at - ActivationModel.started_at
    names = [f"below_{number}" for number in range(len(STEP_BOUNDS_S))]
    classes = [
        func.sum(case((took < bound, 1), else_=0)).label(name)
        for name, bound in zip(names, STEP_BOUNDS_S, strict=True)
    ]
    total, longest, count = func.sum(took), func.max(took), func.count()
    query = (
        select(
            ActivationModel.executor_id.label("name"),
            count.label("ended"),
            total.label("total_s"),
            longest.label("longest_s"),
            *classes,
        )
        .where(*_activations(execution, runs), ActivationModel.finished_at.is_not(None), took.is_not(None))
        .group_by(ActivationModel.executor_id)
        .order_by(total.desc())
    )
    return [
        StepFacts(
            name=row.name,
            count=row.ended,
            total_s=row.total_s,
            longest_s=row.longest_s,
            histogram=histogram([getattr(row, name) for name in names], row.ended),
        )
        for row in session.execute(query.limit(STEPS))
    ]


def histogram(below: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the count of each class, from the cumulative counts below all class ends except the last."""
    ends = [0, *below, count]
    return tuple(end - start for start, end in pairwise(ends))


def _moment(text: str) -> datetime:
    fraction = float(text[19:] or 0)
    return datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) + timedelta(seconds=fraction)


def _place(since: timedelta, step_s: float) -> int:
    # A tenth of a second is not a binary fraction: three of them are slightly less than 0.3.
    return int(since.total_seconds() / step_s + 1e-6)


def _span_s(execution: ExecutionModel) -> float:
    began = execution.started_at or execution.created_at
    return ((execution.finished_at or now_utc()) - began).total_seconds()


def now_utc() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


def _page_model(platform: Platform) -> type[SourceColumns] | None:
    models = [model for model in platform.models if issubclass(model, SourceColumns)]
    return next((model for model in models if hasattr(model, "fetched_at")), None)


def _activations(execution: ExecutionModel, runs: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    return (ActivationModel.project_id == execution.project_id, ActivationModel.run_id.in_(runs))
