"""Metrics of executions: where they stand, how they end, how long they take, what they store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from sqlalchemy import ColumnElement, case, func, or_, select

from agentic.executors.metrics_sql import LABELS, Labels, Scope, SecondsBetween, filled, sums_by_platform
from agentic.mappers.columns import StoreNow
from agentic.mappers.execution_choice import ENDED
from agentic.mappers.execution_counts import COUNT_NAMES
from agentic.mappers.models import CrawlModel, ExecutionModel, ExecutionStatus

BUCKETS_S = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 150.0, 300.0, 600.0, 1800.0, 3600.0, 21_600.0)
# What a ResultsRefusedError says.
REFUSED = "the results of agent % were not stored:%"
_BUCKET_NAMES = (*map(str, BUCKETS_S), "+Inf")
_ENDED = ENDED
_HAS_RESULTS = or_(ExecutionModel.status == ExecutionStatus.SUCCEEDED, ExecutionModel.outcome.is_not(None))


def standing(scope: Scope) -> Iterator[Metric]:
    """Tell where executions stand, how their attempts ended, and for how long the oldest one waits."""
    model = ExecutionModel
    now = scope.session.execute(select(StoreNow())).scalar_one()
    sums = [
        func.count(),
        func.sum(case((model.attempts > 0, 1), else_=0)),
        func.sum(model.attempts),
        func.sum(case((model.error.like(REFUSED), 1), else_=0)),
        func.min(case((model.attempts <= 1, model.created_at))),
    ]
    found = _Standing(now)
    for labels, row in sums_by_platform(scope, sums, groups=[model.status]):
        found.add(labels, row)
    yield from found.metrics()


@dataclass
class _Standing:
    """What was found of each project, platform and state."""

    now: datetime
    count: Counter[Labels] = field(default_factory=Counter)
    ended: Counter[Labels] = field(default_factory=Counter)
    refused: Counter[Labels] = field(default_factory=Counter)
    waiting_s: dict[Labels, float] = field(default_factory=dict)

    def add(self, labels: Labels, row: tuple[Any, ...]) -> None:
        status, count, begun, attempts, refused, oldest = row
        self.count[*labels, str(status)] += count
        # All attempts but the last one have failed or were cancelled, or none would have followed.
        self.ended[*labels, "failed"] += attempts - begun
        if status in _ENDED:
            self.ended[*labels, str(status)] += begun
        self.refused[labels] += refused
        if status is ExecutionStatus.QUEUED and oldest is not None:
            waiting_s = (self.now - oldest).total_seconds()
            self.waiting_s[labels] = max(self.waiting_s.get(labels, 0.0), waiting_s)

    def metrics(self) -> Iterator[Metric]:
        text = "Executions, by where they stand now."
        yield filled(GaugeMetricFamily("agentic_executions", text, labels=[*LABELS, "state"]), self.count)
        text = "Attempts to run an execution that have ended, by how."
        yield filled(CounterMetricFamily("agentic_attempts", text, labels=[*LABELS, "outcome"]), self.ended)
        text = "Executions that stand as failed because their mapper would not store the results."
        yield filled(GaugeMetricFamily("agentic_saves_refused", text, labels=LABELS), self.refused)
        text = "Seconds since the oldest execution was made that waits for its first attempt."
        yield filled(GaugeMetricFamily("agentic_queue_oldest_seconds", text, labels=LABELS), self.waiting_s)


def durations(scope: Scope) -> Iterator[Metric]:
    """Tell how long executions took that succeeded; others may be run again."""
    took_s = SecondsBetween(ExecutionModel.started_at, ExecutionModel.finished_at)
    bucket = case(*((took_s <= limit, limit) for limit in BUCKETS_S))  # NULL above the last one
    counts: defaultdict[Labels, Counter[float | None]] = defaultdict(Counter)
    sums_s: Counter[Labels] = Counter()
    for labels, (limit, count, sum_s) in sums_by_platform(
        scope, [func.count(), func.sum(took_s)], groups=[bucket], where=[_has_succeeded()]
    ):
        counts[labels][limit] += count
        sums_s[labels] += sum_s
    text = "Seconds an execution that succeeded took, its last attempt alone."
    family = HistogramMetricFamily("agentic_execution_seconds", text, labels=LABELS)
    for labels, found in counts.items():
        upto = accumulate(found[limit] for limit in (*BUCKETS_S, None))
        family.add_metric(labels, list(zip(_BUCKET_NAMES, upto, strict=True)), sums_s[labels])
    yield family


def rows(scope: Scope) -> Iterator[Metric]:
    """Count the rows that executions have stored, whatever became of them, and what failed.

    One without results, as it runs or was cut off, has stored what its crawl has committed.
    """
    found: Counter[Labels] = Counter()
    ended = [func.sum(ExecutionModel.counts[name].as_integer()) for name in COUNT_NAMES]
    for labels, row in sums_by_platform(scope, ended, where=[_HAS_RESULTS]):
        _add(found, labels, row)
    crawled = [func.sum(getattr(CrawlModel, name)) for name in COUNT_NAMES[:-1]]
    crawled.append(func.sum(CrawlModel.failed - CrawlModel.excluded))
    of_crawl = (
        CrawlModel.run == ExecutionModel.id,
        CrawlModel.project_id == ExecutionModel.project_id,
        ~_HAS_RESULTS,
    )
    for labels, row in sums_by_platform(scope, crawled, where=of_crawl):
        _add(found, labels, row)
    text = "Rows that mappers were given, by what storing them did, and pages, items and steps that failed."
    yield filled(CounterMetricFamily("agentic_rows", text, labels=[*LABELS, "outcome"]), found)


def _add(found: Counter[Labels], labels: Labels, row: tuple[Any, ...]) -> None:
    for name, count in zip(COUNT_NAMES, row, strict=True):
        found[*labels, name] += count or 0


def _has_succeeded() -> ColumnElement[bool]:
    return ExecutionModel.status.in_((ExecutionStatus.SUCCEEDED, ExecutionStatus.PARTIAL))
