"""Metrics, read from executions on each database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from agentic.core.http.exits.uses import MAX_PROXIES, ProxyUse, dump_uses
from agentic.core.types import JSONValue
from agentic.executors.errors import ResultsRefusedError
from agentic.executors.metrics.metrics import SqlCollector, as_text
from agentic.executors.metrics.sql import Scope
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    add_agent,
    add_project,
    add_schedule,
    utc_now,
)
from agentic.mappers.tables.core import CrawlModel

QUEUED, RUNNING, SUCCEEDED, PARTIAL, FAILED, CANCELLED = ExecutionStatus
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
LABELS = ("project", "platform", "state", "outcome", "le", "proxy", "failure_class")
LONG_AGO = utc_now() - timedelta(hours=1)


@dataclass(frozen=True)
class History:
    """Executions of agents; they ended an hour ago, if they did."""

    database: Database

    def agent(self, platform: str = "web", project: str = "ours", name: str = "watcher") -> AgentModel:
        with self.database.writing() as session:
            return add_agent(session, add_project(session, project), name, platform)

    def add(
        self, agent: AgentModel, status: ExecutionStatus, *, took_s: float = 1.0, **columns: object
    ) -> None:
        ended = LONG_AGO if status in (SUCCEEDED, PARTIAL, FAILED, CANCELLED) else None
        values = {
            "attempts": 0 if status is QUEUED else 1,
            "started_at": LONG_AGO - timedelta(seconds=took_s),
            "finished_at": ended,
            **columns,
        }
        with self.database.writing() as session:
            session.add(
                ExecutionModel(project_id=agent.project_id, agent_id=agent.id, status=status, **values)
            )

    def told(self, name: str, project: str | None = None) -> dict[str, float]:
        """Return the samples of a metric that are not 0, by their labels."""
        families = text_string_to_metric_families(as_text(SqlCollector(self.database, project)))
        return {
            " ".join(sample.labels[label] for label in LABELS if label in sample.labels): sample.value
            for family in families
            for sample in family.samples
            if sample.name == name and sample.value
        }


@pytest.fixture
def history(migrated_database: Database) -> History:
    return History(migrated_database)


@pytest.mark.requirement("PL35")
def test_executions_are_counted_by_platform_and_by_where_they_stand(history: History) -> None:
    web, news = history.agent("web"), history.agent("hackernews", "theirs")
    for status in (SUCCEEDED, SUCCEEDED, FAILED, CANCELLED, QUEUED, RUNNING):
        history.add(web, status)
    history.add(news, SUCCEEDED)

    assert history.told("agentic_executions") == {
        "ours web cancelled": 1,
        "ours web failed": 1,
        "ours web queued": 1,
        "ours web running": 1,
        "ours web succeeded": 2,
        "theirs hackernews succeeded": 1,
    }


@pytest.mark.requirement("PL35")
def test_attempts_are_counted_so_that_a_retry_takes_nothing_back(history: History) -> None:
    agent = history.agent()
    history.add(agent, SUCCEEDED, attempts=3)
    history.add(agent, FAILED, attempts=2)
    history.add(agent, RUNNING, attempts=2)
    history.add(agent, FAILED, attempts=0)
    history.add(agent, CANCELLED, attempts=0)

    assert history.told("agentic_attempts_total") == {
        "ours web failed": 2 + 2 + 1,
        "ours web succeeded": 1,
    }


@pytest.mark.requirement("PL36")
def test_durations_are_a_histogram_for_each_platform(history: History) -> None:
    agent = history.agent()
    for took_s in (0.5, 4.0, 4.5, 100_000.0):
        history.add(agent, SUCCEEDED, took_s=took_s)
    history.add(agent, FAILED, took_s=7.0)

    buckets = history.told("agentic_execution_seconds_bucket")

    assert [buckets[f"ours web {limit}"] for limit in ("1.0", "2.5", "5.0", "21600.0", "+Inf")] == [
        1, 1, 3, 3, 4,
    ]  # fmt: skip
    assert history.told("agentic_execution_seconds_count") == {"ours web": 4}
    assert history.told("agentic_execution_seconds_sum")["ours web"] == pytest.approx(100_009, abs=0.01)


@pytest.mark.requirement("PL37", "PL38")
def test_rows_are_counted_by_what_became_of_them(history: History) -> None:
    first, second = history.agent(), history.agent("hackernews", "theirs")
    counts: dict[str, JSONValue] = {"inserted": 3, "updated": 2, "unchanged": 0, "rejected": 1}
    for agent in (first, first, second):
        history.add(agent, SUCCEEDED, counts=counts)
    history.add(first, SUCCEEDED, counts={})

    assert history.told("agentic_rows_total") == {
        "ours web inserted": 6,
        "ours web rejected": 2,
        "ours web updated": 4,
        "theirs hackernews inserted": 3,
        "theirs hackernews rejected": 1,
        "theirs hackernews updated": 2,
    }


@pytest.mark.requirement("PL37")
def test_rows_of_all_executions_are_counted_however_they_ended_or_stand(history: History) -> None:
    agent = history.agent()
    for status in (PARTIAL, FAILED):
        history.add(agent, status, outcome=status, counts={"inserted": 3, "failed": 1})
    for status in (RUNNING, CANCELLED, FAILED):
        history.add(agent, status, id=status[:1])
    history.add(agent, PARTIAL, id="p", outcome=PARTIAL, counts={"inserted": 1})
    with history.database.writing() as session:
        for run in ("r", "c", "f", "p"):
            crawl = CrawlModel(project_id=agent.project_id, run=run, inserted=10, failed=5, excluded=2)
            session.add(crawl)

    assert history.told("agentic_rows_total") == {"ours web inserted": 37, "ours web failed": 11}


def used(**requests: int) -> str | None:
    """Return stored requests through proxies; the first one of each fails."""
    failures = (("connect", 1),)
    return dump_uses(
        [
            ProxyUse(id=name, number=1, requests=count, received_bytes=10, failures=failures)
            for name, count in requests.items()
        ]
    )


def test_requests_through_proxies_are_counted_however_an_execution_ended(history: History) -> None:
    agent, other = history.agent(), history.agent("feed", "theirs")
    history.add(agent, SUCCEEDED, proxies=used(a=3, b=1))
    history.add(agent, PARTIAL, id="p", outcome=PARTIAL, proxies=used(a=4))
    history.add(agent, RUNNING, id="r")
    history.add(agent, FAILED, id="f")
    history.add(agent, SUCCEEDED)
    history.add(other, SUCCEEDED, proxies=used(a=50))
    with history.database.writing() as session:
        for run in ("p", "r", "f"):
            session.add(CrawlModel(project_id=agent.project_id, run=run, proxies=used(b=10)))

    assert history.told("agentic_proxy_requests_total") == {
        "ours web a": 7,
        "ours web b": 21,
        "theirs feed a": 50,
    }
    assert history.told("agentic_proxy_received_bytes_total")["ours web b"] == 30
    assert history.told("agentic_proxy_failures_total", "ours") == {
        "ours web a connect": 2,
        "ours web b connect": 3,
    }


def test_new_proxies_beyond_the_limit_are_counted_together_and_take_no_place(history: History) -> None:
    agent = history.agent()
    old = {f"old{number}": 1 for number in range(MAX_PROXIES - 1)}
    history.add(agent, SUCCEEDED, created_at=LONG_AGO, proxies=used(**old))
    history.add(agent, SUCCEEDED, proxies=used(new1=2, new2=3, old1=4, new3=5))

    found = history.told("agentic_proxy_requests_total")

    assert len(found) == MAX_PROXIES + 1
    assert {name: count for name, count in found.items() if count > 1} == {
        "ours web new1": 2,
        "ours web old1": 5,
        "ours web others": 8,
    }


@pytest.mark.requirement("PL37")
def test_results_that_a_mapper_would_not_store_are_counted(history: History) -> None:
    agent = history.agent()
    history.add(agent, FAILED, error=str(ResultsRefusedError("watcher", ["no title"])))
    history.add(agent, FAILED, error="TimeoutError")

    assert history.told("agentic_saves_refused") == {"ours web": 1}


def test_the_oldest_that_waits_for_its_first_attempt_is_told(history: History) -> None:
    agent = history.agent()
    history.add(agent, QUEUED, created_at=utc_now() - timedelta(seconds=50))
    history.add(agent, QUEUED)
    history.add(agent, QUEUED, created_at=LONG_AGO, attempts=2)

    assert history.told("agentic_queue_oldest_seconds") == {"ours web": pytest.approx(50, abs=5)}


def test_several_agents_of_a_platform_are_one(history: History) -> None:
    first = history.agent()
    with history.database.writing() as session:
        second = add_agent(session, first.project, "other", "web")
    history.add(first, SUCCEEDED)
    history.add(second, SUCCEEDED)

    assert history.told("agentic_executions") == {"ours web succeeded": 2}


def test_one_project_can_be_told_of_alone(history: History) -> None:
    history.add(history.agent(), SUCCEEDED)
    history.add(history.agent(project="theirs"), SUCCEEDED)

    assert history.told("agentic_executions", "ours") == {"ours web succeeded": 1}
    assert history.told("agentic_execution_seconds_count", "ours") == {"ours web": 1}


def test_no_label_grows_with_the_executions(history: History) -> None:
    history.add(history.agent(), SUCCEEDED, proxies=used(a=1))

    text = as_text(SqlCollector(history.database))

    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {label for sample in samples for label in sample.labels} == set(LABELS)


def test_every_metric_has_an_entry_in_the_reference(history: History) -> None:
    text = as_text(SqlCollector(history.database))

    documented = re.findall(r"^\| `(\w+)`", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert sorted(documented) == sorted(re.findall(r"^# HELP (\w+)", text, flags=re.MULTILINE))


def test_a_database_that_is_away_is_told_and_asked_again(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'nowhere.db'}")

    with capture_logs() as logs:
        text = as_text(SqlCollector(database))

    assert "agentic_database_up 0.0" in text
    assert [line["event"] for line in logs] == ["metrics.missed"]


def test_a_source_may_be_added_and_is_not_asked_at_each_of_many_scrapes(history: History) -> None:
    asked: list[Scope] = []

    def ours(scope: Scope) -> Iterator[Metric]:
        asked.append(scope)
        yield GaugeMetricFamily("ours", "Ours.", value=7)

    collector = SqlCollector(history.database, sources=[ours])

    assert "ours 7.0" in as_text(collector)
    assert as_text(collector) == as_text(collector)
    assert len(asked) == 1


def test_due_times_that_were_skipped_are_counted_by_project(history: History) -> None:
    agents = [history.agent("web"), history.agent("hackernews", "theirs")]
    with history.database.writing() as session:
        for agent in agents:
            add_schedule(session, agent, f"of {agent.agent_platform}", every_s=60).skipped_count = 3

    assert history.told("agentic_due_times_skipped_total") == {"ours": 3, "theirs": 3}
    assert history.told("agentic_due_times_skipped_total", "ours") == {"ours": 3}
