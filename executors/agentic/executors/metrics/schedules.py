"""Metrics of schedules: due times skipped because an execution was still active."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from sqlalchemy import func, select

from agentic.executors.metrics.sql import Labels, Scope, filled
from agentic.mappers.tables.core import ProjectModel, ScheduleModel


def skipped(scope: Scope) -> Iterator[Metric]:
    """Yield how many due times were skipped because an execution of their schedule was active."""
    query = (
        select(ProjectModel.name, func.sum(ScheduleModel.skipped_count))
        .join(ScheduleModel, ScheduleModel.project_id == ProjectModel.id)
        .group_by(ProjectModel.name)
    )
    if scope.project_id is not None:
        query = query.where(ProjectModel.id == scope.project_id)
    counts: dict[Labels, float] = {(name,): count for name, count in scope.session.execute(query)}
    text = "Due times of schedules that were skipped because an earlier execution was still running."
    yield filled(CounterMetricFamily("agentic_due_times_skipped", text, labels=["project"]), counts)
