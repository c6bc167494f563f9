"""Metrics for Prometheus, all read from the database at each scrape.

So they are right for any number of workers, also after a worker or the exporter restarts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agentic.core.logging import get_logger
from agentic.executors.metrics import executions, schedules
from agentic.executors.metrics import runs as durable
from agentic.executors.metrics.sql import Scope, project_ids
from agentic.mappers import Database, find_project
from agentic.mappers.errors import DataError

log = get_logger(__name__)

Source = Callable[[Scope], Iterator[Metric]]
"""Reads some metrics. Labels have few values: project, platform, queue, state; never an id."""

KEPT_TIMES = 20

SOURCES: tuple[Source, ...] = (
    executions.executions,
    durable.runs,
    durable.activations,
    durable.lags,
    durable.outbox,
    schedules.skipped,
)

KEEPERS = (executions.keep_executions, durable.keep_runs)
"""Saves counts that must not be computed again."""


class SqlCollector(Collector):
    """Reads ``sources`` at each scrape, all of them at the same moment.

    Past weeks are counted once: see :mod:`agentic.mappers.runs.totals`. Results are cached for 20 times as
    long as reading them took: however often it is scraped, it takes at most a twentieth of the database's
    time. While the database cannot be read, ``agentic_database_up`` is 0 and all else is missing.

    Args:
        database: Holds the executions and durable runs.
        project: Report only this project.
        sources: The sources to read.
    """

    def __init__(
        self, database: Database, project: str | None = None, sources: Sequence[Source] = SOURCES
    ) -> None:
        self._database = database
        self._project = project
        self._sources = sources
        self._reading = threading.Lock()
        self._found: list[Metric] = []
        self._kept_until = -math.inf

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics, or recent ones from the cache."""
        with self._reading:
            began = time.monotonic()
            if began >= self._kept_until:
                self._found = list(self._told(began))
                ended = time.monotonic()
                self._kept_until = ended + KEPT_TIMES * (ended - began)
            return iter(self._found)

    def _told(self, began: float) -> Iterator[Metric]:
        found = self._read()
        text = "Whether the database could be read."
        yield GaugeMetricFamily("agentic_database_up", text, value=int(found is not None))
        text = "Seconds to read the metrics."
        yield GaugeMetricFamily("agentic_read_seconds", text, value=time.monotonic() - began)
        yield from found or ()

    def _read(self) -> list[Metric] | None:
        try:
            with self._database.reading() as session:
                project_id = find_project(session, self._project).id if self._project else None
                projects = project_ids(Scope(session, project_id))
            for one in projects:
                for keep in KEEPERS:
                    keep(self._database, one)
            with self._database.reading() as session:
                scope = Scope(session, project_id)
                return [metric for source in self._sources for metric in source(scope)]
        except DataError as exc:
            log.warning("metrics.missed", reason=str(exc))
            return None


def registry_of(collector: Collector) -> CollectorRegistry:
    """Return a registry with only this collector: the exporter does not report its own process."""
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


def as_text(collector: Collector) -> str:
    """Return the metrics as Prometheus would get them now."""
    return generate_latest(registry_of(collector)).decode()
