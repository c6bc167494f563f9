"""When an execution did what: pages by the rows they left, steps by the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, case, func, select
from sqlalchemy.orm import Session

from agentic.core.hooks import Platform
from agentic.executors.reports.facts import STEP_BOUNDS_S, StepFacts, Timeline
from agentic.mappers import ExecutionModel, SourceColumns
from agentic.mappers.ledger_models import ActivationModel, RunModel

INTERVALS = 60
"""Of a timeline, at most."""

STEPS = 30
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200)
_DAY_S = 86_400.0
_BATCH = 10_000
_RUNS = 500


def page_timeline(
    session: Session, platform: Platform, execution: ExecutionModel, done: int
) -> Timeline | None:
    """Return when the pages of a crawl were fetched; None where no row tells.

    Args:
        session: To read with.
        platform: Of the execution: its first table with a column ``fetched_at`` is that of the pages.
        execution: That fetched them.
        done: How many it fetched.
    """
    model = _page_model(platform)
    if model is None:
        return None
    time: SQLColumnExpression[Any] = getattr(model, "fetched_at")  # noqa: B009 - a platform's own column
    own = (model.project_id == execution.project_id, model.execution_id == execution.id)
    first, last = session.execute(select(func.min(time), func.max(time)).where(*own)).one()
    if first is None:
        return None
    step_s = nice_step((last - first).total_seconds())
    counts = [0] * (int((last - first).total_seconds() / step_s) + 1)
    for moment in session.scalars(select(time).where(*own)).yield_per(_BATCH):
        counts[int((moment - first).total_seconds() / step_s)] += 1
    return Timeline(
        began=first,
        step_s=step_s,
        counts=tuple(counts),
        of=max(done, sum(counts)),
        ways=_ways(session, model, own),
    )


def nice_step(span_s: float) -> float:
    """Return an interval that people count in, of which at most :data:`INTERVALS` fill ``span_s`` seconds."""
    fitting = (step for step in _STEPS_S if span_s / step < INTERVALS)
    return next(fitting, max(_DAY_S, -(-span_s // (INTERVALS * _DAY_S)) * _DAY_S))


def run_ids(session: Session, execution: ExecutionModel) -> list[str]:
    """Return the run of an execution and its child runs, not more than :data:`_RUNS`."""
    is_child = RunModel.run_id.startswith(f"{execution.id}/", autoescape=True)
    query = select(RunModel.run_id).where(
        RunModel.project_id == execution.project_id, (RunModel.run_id == execution.id) | is_child
    )
    return list(session.scalars(query.order_by(RunModel.created_at).limit(_RUNS)))


def workers(session: Session, execution: ExecutionModel, runs: Sequence[str]) -> list[str]:
    """Return who worked on runs, the busiest first."""
    query = (
        select(ActivationModel.worker)
        .where(*_activations(execution, runs), ActivationModel.worker.is_not(None))
        .group_by(ActivationModel.worker)
        .order_by(func.count().desc(), ActivationModel.worker)
    )
    return [worker for worker in session.scalars(query) if worker]


def step_times(session: Session, execution: ExecutionModel, runs: Sequence[str]) -> list[StepFacts]:
    """Return how long the steps of runs took, the longest in all first.

    Where child runs did the work, the steps are theirs: an execution's own run only waits for them.
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
    """Return how many are in each class, from how many are below the end of each but the last."""
    ends = [0, *below, count]
    return tuple(end - start for start, end in pairwise(ends))


def now_utc() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


def _page_model(platform: Platform) -> type[SourceColumns] | None:
    models = [model for model in platform.models if issubclass(model, SourceColumns)]
    return next((model for model in models if hasattr(model, "fetched_at")), None)


def _ways(session: Session, model: type[SourceColumns], own: Sequence[ColumnElement[bool]]) -> dict[str, int]:
    """Return how pages were fetched, where the platform keeps that in a column ``fetched_by``."""
    way: SQLColumnExpression[Any] | None = getattr(model, "fetched_by", None)
    if way is None:
        return {}
    query = select(way, func.count()).where(*own).group_by(way).order_by(func.count().desc(), way)
    return {str(name): count for name, count in session.execute(query).tuples()}


def _activations(execution: ExecutionModel, runs: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    return (ActivationModel.project_id == execution.project_id, ActivationModel.run_id.in_(runs))
