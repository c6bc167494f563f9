"""Metrics of durable runs: states of runs and activations, waiting work, deaths of workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import Column, ColumnElement, Table, and_, func, literal_column, select
from sqlalchemy.orm import Session

from agentic.core.graph import RunStatus
from agentic.core.ledger import ActivationStatus
from agentic.core.types import JSONValue
from agentic.executors.metrics.sql import Labels, Scope, filled, project_ids
from agentic.mappers import Database
from agentic.mappers.ledger.sql import ACTIVATIONS, EVENTS, NOW, PROJECTS, RUNS, word
from agentic.mappers.runs.reading import IS_OUTERMOST
from agentic.mappers.runs.requests import open_requests
from agentic.mappers.runs.totals import Span, keep_totals, totals_of

# The same condition as in the index of claimable activations.
_IS_OFFERED = and_(
    ACTIVATIONS.c.status == word(ActivationStatus.PENDING), ACTIVATIONS.c.is_held == literal_column("0")
)

MAX_BATCHES = 20_000
"""Without NATS all events of the history are unpublished: counting a million batches takes a second."""


def runs(scope: Scope) -> Iterator[Metric]:
    """Yield the states of runs, and the number of open questions."""
    names = dict(iter(scope.session.execute(select(PROJECTS.c.id, PROJECTS.c.name))))
    counts: Counter[Labels] = Counter()
    for project_id in project_ids(scope):
        for totals in totals_of(scope.session, project_id, "runs", count_runs):
            for status, count in cast("Mapping[str, int]", totals).items():
                counts[names[project_id], status] += count
    text = "Durable runs by current status, without child runs."
    yield filled(GaugeMetricFamily("agentic_runs", text, labels=["project", "status"]), counts)
    asked = open_requests(scope.session, project_id=scope.project_id)
    waiting = Counter[Labels]((names[request.project_id],) for request in asked)
    text = "Open requests of durable runs."
    yield filled(GaugeMetricFamily("agentic_requests_waiting", text, labels=["project"]), waiting)


def keep_runs(database: Database, project_id: str) -> None:
    """Save the counts of past weeks."""
    keep_totals(database, project_id, "runs", count_runs)


def count_runs(session: Session, project_id: str, span: Span) -> JSONValue:
    """Count the runs that a project created in some weeks, by status, without child runs."""
    status = RUNS.c.status
    own = (RUNS.c.project_id == project_id, IS_OUTERMOST, *span.within("runs"))
    # For each status a range of an index, which holds all that is counted.
    query = select(status, func.count()).where(*own, status.in_(list(RunStatus))).group_by(status)
    return {str(found): count for found, count in session.execute(query)}


def activations(scope: Scope) -> Iterator[Metric]:
    """Yield open activations by queue, failed ones, and the number of expired leases."""
    counts: Counter[Labels] = Counter()
    expiries: Counter[Labels] = Counter()
    by = [ACTIVATIONS.c.queue, ACTIVATIONS.c.status]
    for project, queue, status, count in _sums(
        scope,
        ACTIVATIONS,
        [func.count()],
        ACTIVATIONS.c.finished_at.is_(None),
        by=by,
        index="ix_activations_open",
    ):
        counts[project, queue, str(status)] += count
    sums = [func.count(), func.sum(ACTIVATIONS.c.crashes)]
    for project, queue, status, count, crashes in _sums(
        scope, ACTIVATIONS, sums, ACTIVATIONS.c.crashes > literal_column("0"), by=by
    ):
        expiries[project,] += crashes
        if status == ActivationStatus.DEAD:  # from crashes
            counts[project, queue, str(status)] += count
    text = "Activations that are open or failed for good, by current status."
    labels = ["project", "queue", "status"]
    yield filled(GaugeMetricFamily("agentic_activations", text, labels=labels), counts)
    text = "Expired leases: a worker died, or lost the database."
    yield filled(CounterMetricFamily("agentic_lease_expiries", text, labels=["project"]), expiries)


def lags(scope: Scope) -> Iterator[Metric]:
    """Yield how long the oldest claimable activation has waited, by queue."""
    lag_s = NOW - func.min(ACTIVATIONS.c.not_before)
    is_due = and_(_IS_OFFERED, ACTIVATIONS.c.not_before <= NOW)
    found = _sums(scope, ACTIVATIONS, [lag_s], is_due, by=[ACTIVATIONS.c.queue])
    text = "Seconds since the oldest activation that waits for a worker became due."
    family = GaugeMetricFamily("agentic_queue_lag_seconds", text, labels=["project", "queue"])
    yield filled(family, {(project, queue): waits_s for project, queue, waits_s in found})


def outbox(scope: Scope) -> Iterator[Metric]:
    """Yield the number of unpublished events, in a limited number of batches."""
    names = dict(iter(scope.session.execute(select(PROJECTS.c.id, PROJECTS.c.name))))
    found: dict[Labels, float] = {}
    for project_id in project_ids(scope):
        of = (EVENTS.c.project_id == project_id, EVENTS.c.published_at.is_(None))
        some = select((EVENTS.c.last - EVENTS.c.first + 1).label("count")).where(*of).limit(MAX_BATCHES)
        if count := scope.session.scalar(select(func.sum(some.subquery("some").c.count))):
            found[names[project_id],] = float(count)
    text = "Unpublished durable events, up to the counting limit; without NATS, all."
    yield filled(GaugeMetricFamily("agentic_events_unpublished", text, labels=["project"]), found)


def _sums(
    scope: Scope,
    table: Table,
    sums: Sequence[ColumnElement[Any]],
    *where: ColumnElement[bool],
    by: Sequence[Column[Any]] = (),
    index: str = "",
) -> Iterator[tuple[Any, ...]]:
    """Yield sums over a table, with the name of the project and the columns ``by`` before them.

    SQLite uses ``index`` if given: it cannot know how few rows of a large table an index has.
    """
    names = dict(iter(scope.session.execute(select(PROJECTS.c.id, PROJECTS.c.name))))
    query = select(table.c.project_id, *by, *sums).where(*where)
    if scope.project_id is not None:
        query = query.where(table.c.project_id == scope.project_id)
    if index:
        query = query.with_hint(table, f"INDEXED BY {index}", "sqlite")
    for project_id, *row in scope.session.execute(query.group_by(table.c.project_id, *by)):
        yield (names[project_id], *row)
