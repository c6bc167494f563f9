"""Metrics of executions: their states, ends, durations and stored rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from operator import itemgetter
from typing import Any, NotRequired, TypedDict, cast

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from sqlalchemy import ColumnElement, SQLColumnExpression, and_, case, func, or_, select
from sqlalchemy.orm import Session

from agentic.core.http.exits.uses import ProxyTally, load_uses, uses_of
from agentic.core.types import JSONValue
from agentic.executors.metrics.sql import (
    LABELS,
    Labels,
    Scope,
    SecondsBetween,
    filled,
    labels_of_agents,
    project_ids,
)
from agentic.mappers import Database
from agentic.mappers.catalog.execution_choice import ENDED
from agentic.mappers.catalog.execution_counts import COUNT_NAMES
from agentic.mappers.runs.totals import Span, keep_totals, totals_of
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.tables.core import CrawlModel, ExecutionModel, ExecutionStatus

BUCKETS_S = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 150.0, 300.0, 600.0, 1800.0, 3600.0, 21_600.0)
# The message of a ResultsRefusedError.
REFUSED = "the results of agent % were not stored:%"
_BUCKET_NAMES = (*map(str, BUCKETS_S), "+Inf")
_ENDED = ENDED
_HAS_RESULTS = or_(ExecutionModel.status == ExecutionStatus.SUCCEEDED, ExecutionModel.outcome.is_not(None))
_OF_CRAWL = (
    CrawlModel.run == ExecutionModel.id,
    CrawlModel.project_id == ExecutionModel.project_id,
    ~_HAS_RESULTS,
)


def executions(scope: Scope) -> Iterator[Metric]:
    """Yield metrics of executions: states, ends and durations of attempts, stored rows, use of proxies."""
    found = _Found(scope.session.execute(select(StoreNow())).scalar_one(), labels_of_agents(scope))
    for project_id in project_ids(scope):
        for totals in totals_of(scope.session, project_id, "executions", count_executions):
            found.add(cast("_Totals", totals))
    yield from found.standing.metrics()
    yield found.durations()
    yield found.rows()
    yield from found.through_proxies()


def keep_executions(database: Database, project_id: str) -> None:
    """Save the counts of past weeks."""
    keep_totals(database, project_id, "executions", _ended_executions)


class _Totals(TypedDict):
    """Counts of executions. Each row begins with the id of an agent."""

    standing: list[tuple[str, str, int, int, int, int, float | None]]
    durations: list[tuple[str, float | None, int, float]]
    rows: list[tuple[str, list[int | None]]]
    proxies: NotRequired[list[tuple[str, list[dict[str, Any]]]]]  # totals of older versions have none


def count_executions(session: Session, project_id: str, span: Span) -> JSONValue:
    """Count the executions that a project created in some weeks, by agent."""
    of = (ExecutionModel.project_id == project_id, *span.within("executions"))
    return cast(
        "JSONValue",
        {
            "standing": _standing(session, *of),
            "durations": _durations(session, *of),
            "rows": [*_rows(session, *of), *_crawled(session, *of)],
            "proxies": _proxies(session, *of),
        },
    )


def _ended_executions(session: Session, project_id: str, span: Span) -> JSONValue:
    """Return nothing if one is active: the stored rows of its crawl grow while the execution is unchanged."""
    totals = cast("_Totals", count_executions(session, project_id, span))
    is_ended = all(row[1] in _ENDED for row in totals["standing"])
    return cast("JSONValue", totals) if is_ended else None


def _standing(session: Session, *where: ColumnElement[bool]) -> list[list[object]]:
    model = ExecutionModel
    is_new = and_(model.status == ExecutionStatus.QUEUED, model.attempts <= 1)
    sums = (
        func.count(),
        func.sum(case((model.attempts > 0, 1), else_=0)),
        func.sum(model.attempts),
        func.sum(case((model.error.like(REFUSED), 1), else_=0)),
        func.min(case((is_new, model.created_at))),
    )
    found = _by_agent(session, sums, *where, by=[model.status])
    return [
        [agent, str(status), *counts, oldest and oldest.timestamp()]
        for agent, status, *counts, oldest in found
    ]


def _durations(session: Session, *where: ColumnElement[bool]) -> list[list[object]]:
    took_s = SecondsBetween(ExecutionModel.started_at, ExecutionModel.finished_at)
    bucket = case(*((took_s <= limit, limit) for limit in BUCKETS_S))  # NULL above the last one
    sums = (func.count(), func.sum(took_s))
    return [[*row] for row in _by_agent(session, sums, *where, _has_succeeded(), by=[bucket])]


def _rows(session: Session, *where: ColumnElement[bool]) -> Iterator[list[object]]:
    sums = [func.sum(ExecutionModel.counts[name].as_integer()) for name in COUNT_NAMES]
    for agent, *counts in _by_agent(session, sums, *where, _HAS_RESULTS):
        yield [agent, counts]


def _crawled(session: Session, *where: ColumnElement[bool]) -> Iterator[list[object]]:
    """Yield the stored rows of executions that run or were cut off, from their crawls."""
    sums = [func.sum(getattr(CrawlModel, name)) for name in COUNT_NAMES[:-1]]
    sums.append(func.sum(CrawlModel.failed - CrawlModel.excluded))
    for agent, *counts in _by_agent(session, sums, *where, *_OF_CRAWL):
        yield [agent, counts]


def _proxies(session: Session, *where: ColumnElement[bool]) -> list[list[object]]:
    """Return the requests through proxies by agent; until an execution completes, from its crawl.

    The oldest executions come first: a proxy that is counted separately stays so when others are added.
    """
    of, created = ExecutionModel, ExecutionModel.created_at
    ended = select(created, of.agent_id, of.proxies).where(*where, _HAS_RESULTS, of.proxies.is_not(None))
    crawled = select(created, of.agent_id, CrawlModel.proxies).where(
        *where, *_OF_CRAWL, CrawlModel.proxies.is_not(None)
    )
    found: defaultdict[str, ProxyTally] = defaultdict(ProxyTally)
    rows = [*session.execute(ended), *session.execute(crawled)]
    for _, agent, text in sorted(rows, key=itemgetter(0)):
        found[agent].add(load_uses(text))
    return [[agent, [use.to_dict() for use in tally.uses]] for agent, tally in found.items()]


def _by_agent(
    session: Session,
    sums: Sequence[SQLColumnExpression[Any]],
    *where: ColumnElement[bool],
    by: Sequence[SQLColumnExpression[Any]] = (),
) -> Iterator[tuple[Any, ...]]:
    # Computed, or SQLite would read the table by its index on agents, which takes twice as long.
    agent = ExecutionModel.agent_id.concat("")
    yield from session.execute(select(agent, *by, *sums).where(*where).group_by(agent, *by))


@dataclass
class _Found:
    """Values found, by label."""

    now: datetime
    labels: Mapping[str, Labels]
    standing: _Standing = field(init=False)
    counts: defaultdict[Labels, Counter[float | None]] = field(default_factory=lambda: defaultdict(Counter))
    sums_s: defaultdict[Labels, float] = field(default_factory=lambda: defaultdict(float))
    stored: Counter[Labels] = field(default_factory=Counter)
    proxies: defaultdict[Labels, ProxyTally] = field(default_factory=lambda: defaultdict(ProxyTally))

    def __post_init__(self) -> None:
        self.standing = _Standing(self.now.timestamp())

    def add(self, totals: _Totals) -> None:
        for agent, *row in totals["standing"]:
            self.standing.add(self.labels[agent], row)
        for agent, limit, count, sum_s in totals["durations"]:
            self.counts[self.labels[agent]][limit] += count
            self.sums_s[self.labels[agent]] += sum_s
        for agent, counts in totals["rows"]:
            for name, stored in zip(COUNT_NAMES, counts, strict=True):
                self.stored[*self.labels[agent], name] += stored or 0
        for agent, uses in totals.get("proxies", ()):
            self.proxies[self.labels[agent]].add(uses_of(uses))

    def durations(self) -> Metric:
        text = "Seconds of executions that succeeded, last attempt only."
        family = HistogramMetricFamily("agentic_execution_seconds", text, labels=LABELS)
        for labels, found in self.counts.items():
            upto = accumulate(found[limit] for limit in (*BUCKETS_S, None))
            family.add_metric(labels, list(zip(_BUCKET_NAMES, upto, strict=True)), self.sums_s[labels])
        return family

    def rows(self) -> Metric:
        text = "Rows given to mappers by result, and failed pages, items and steps."
        return filled(CounterMetricFamily("agentic_rows", text, labels=[*LABELS, "outcome"]), self.stored)

    def through_proxies(self) -> Iterator[Metric]:
        requests: Counter[Labels] = Counter()
        received: Counter[Labels] = Counter()
        failed: Counter[Labels] = Counter()
        for labels, tally in self.proxies.items():
            for use in tally.uses:
                requests[*labels, use.id] = use.requests
                received[*labels, use.id] = use.received_bytes
                failed.update({(*labels, use.id, name): count for name, count in use.failures})
        by = [*LABELS, "proxy"]
        text = "Requests sent through each of several proxies."
        yield filled(CounterMetricFamily("agentic_proxy_requests", text, labels=by), requests)
        text = "Bytes of bodies received through each of several proxies, unpacked."
        yield filled(CounterMetricFamily("agentic_proxy_received_bytes", text, labels=by), received)
        text = "Failed requests through each of several proxies, by class."
        by = [*by, "failure_class"]
        yield filled(CounterMetricFamily("agentic_proxy_failures", text, labels=by), failed)


@dataclass
class _Standing:
    """Values found for each project, platform and state."""

    now_s: float
    count: Counter[Labels] = field(default_factory=Counter)
    ended: Counter[Labels] = field(default_factory=Counter)
    refused: Counter[Labels] = field(default_factory=Counter)
    waiting_s: dict[Labels, float] = field(default_factory=dict)

    def add(self, labels: Labels, row: Sequence[Any]) -> None:
        status, count, begun, attempts, refused, oldest = row
        self.count[*labels, status] += count
        # All attempts except the last have failed or were cancelled, or none would have followed.
        self.ended[*labels, "failed"] += attempts - begun
        if status in _ENDED:
            self.ended[*labels, status] += begun
        self.refused[labels] += refused
        if oldest is not None:
            self.waiting_s[labels] = max(self.waiting_s.get(labels, 0.0), self.now_s - oldest)

    def metrics(self) -> Iterator[Metric]:
        text = "Executions by current status."
        yield filled(GaugeMetricFamily("agentic_executions", text, labels=[*LABELS, "state"]), self.count)
        text = "Ended attempts of executions, by result."
        yield filled(CounterMetricFamily("agentic_attempts", text, labels=[*LABELS, "outcome"]), self.ended)
        text = "Executions that failed because their mapper did not store the results."
        yield filled(GaugeMetricFamily("agentic_saves_refused", text, labels=LABELS), self.refused)
        text = "Seconds since the creation of the oldest execution that waits for its first attempt."
        yield filled(GaugeMetricFamily("agentic_queue_oldest_seconds", text, labels=LABELS), self.waiting_s)


def _has_succeeded() -> ColumnElement[bool]:
    return ExecutionModel.status.in_((ExecutionStatus.SUCCEEDED, ExecutionStatus.PARTIAL))
