"""What a crawl tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.clocks import Clock

from agentic.core.graph import CustomEvent, EventKind, WorkflowContext, WorkflowEvent
from agentic.core.pipeline.crawl.report import CRAWL_DRIFTED, CRAWL_PROGRESS, CrawlReport
from agentic.core.pipeline.crawl.statistics import (
    KEPT_CRAWLS,
    KEPT_HOSTS,
    SHOWN_HOSTS,
    CrawlStatistics,
    RunningCrawls,
)
from agentic.core.pipeline.crawl.store import (
    CrawlBatch,
    CrawledPage,
    Exchange,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
)
from agentic.core.pipeline.drift.incidents import Cause, FieldFault, Incident
from agentic.core.types import RunId, SaveCounts


def done(url: str) -> CrawledPage:
    return CrawledPage(
        url=url,
        url_key=url,
        depth=0,
        final_url=url,
        status=200,
        content_type="text/html",
        title=None,
        fields={},
        content_hash="",
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def failed(url: str, failure_class: str = "timeout") -> FailedPage:
    return FailedPage(url=url, url_key=url, depth=0, failure_class=failure_class, message="no answer")


def entry(url: str) -> FrontierEntry:
    return FrontierEntry(url=url, url_key=url, depth=0, attempts=0)


def exchange(
    entries: Iterable[FrontierEntry] = (), *, total: int = 0, finished: int = 0, failures: int = 0
) -> Exchange:
    counts = FrontierCounts(total=total, done=finished - failures, failed=failures)
    return Exchange(saved=SaveCounts(), entries=list(entries), counts=counts)


@dataclass
class Told:
    """Stands for a context: keeps what it is told."""

    events: list[CustomEvent]
    progress: list[tuple[int, int | None, str]]

    async def add_event(self, event: CustomEvent) -> None:
        self.events.append(event)

    def report_progress(self, done: int, total: int | None = None, note: str = "") -> None:
        self.progress.append((done, total, note))


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def told() -> Told:
    return Told([], [])


@pytest.fixture
def statistics(clock: Clock) -> CrawlStatistics:
    return CrawlStatistics(clock)


@pytest.fixture
def report(told: Told, statistics: CrawlStatistics) -> CrawlReport:
    return CrawlReport(cast(WorkflowContext, told), statistics)


async def test_a_commit_is_told_with_counts_failures_and_hosts(
    report: CrawlReport, told: Told, clock: Clock
) -> None:
    await report.committed(CrawlBatch(), exchange(map(entry, ["http://a/1", "http://a/2", "http://b:8/1"])))
    clock.now += 2
    pages = CrawlBatch(done=[done("http://a/1")], failed=[failed("http://b:8/1")])
    await report.committed(pages, exchange([entry("http://a/3")], total=9, finished=2, failures=1))
    [event] = told.events
    assert event.type == CRAWL_PROGRESS
    assert event.data == {
        "done": 1,
        "failed": 1,
        "known": 9,
        "left": 7,
        "pages_per_s": 1.0,
        "failures": {"timeout": 1},
        "hosts": {
            "a": {"pages": 1, "failed": 0, "waiting": 2},
            "b:8": {"pages": 0, "failed": 1, "waiting": 0},
        },
    }


async def test_pages_that_have_drifted_are_told_with_their_fields(report: CrawlReport, told: Told) -> None:
    fault = FieldFault(field="price", fault="missing", pages=7, of=7, usual=0.01)
    incident = Incident(kind="k", label="*/p/*", cause=Cause.LAYOUT, faults=(fault,), urls=("http://a/1",))
    found = replace(exchange(), incidents=[incident])
    await report.committed(CrawlBatch(holds_drift=True), found)
    [event] = told.events
    assert event.type == CRAWL_DRIFTED
    assert event.data == {**incident.model_dump(mode="json"), "is_held": True}


async def test_a_commit_is_told_as_progress_too(report: CrawlReport, told: Told) -> None:
    await report.committed(
        CrawlBatch(failed=[failed("http://a/1")]), exchange(total=3, finished=2, failures=1)
    )
    assert told.progress == [(2, 3, "1 failed")]


async def test_pages_that_robots_txt_excludes_do_not_count_as_failed(report: CrawlReport, told: Told) -> None:
    counts = FrontierCounts(total=9, done=2, failed=3, excluded=1)
    pages = CrawlBatch(failed=[failed("http://a/1", "robots_denied")])
    await report.committed(pages, Exchange(saved=SaveCounts(), entries=[], counts=counts))
    assert told.progress == [(5, 9, "2 failed · 1 excluded by robots.txt")]


async def test_progress_is_reported_ten_times_a_second_and_at_the_end(
    report: CrawlReport, told: Told, clock: Clock
) -> None:
    for number in range(9):
        await report.committed(CrawlBatch(done=[done(f"http://a/{number}")]), exchange(finished=number + 1))
        clock.now += 1 / 32
    assert [finished for finished, _, _ in told.progress] == [1, 5, 9]
    await report.committed(CrawlBatch(done=[done("http://a/9")]), exchange(finished=10))
    report.end()
    report.end()
    assert [finished for finished, _, _ in told.progress] == [1, 5, 9, 10]


async def test_a_commit_without_pages_is_not_told(report: CrawlReport, told: Told) -> None:
    await report.committed(CrawlBatch(), exchange([entry("http://a/1")], total=1))
    assert (told.events, told.progress) == ([], [])


async def test_it_is_told_at_most_once_a_second(report: CrawlReport, told: Told, clock: Clock) -> None:
    for number in range(24):
        await report.committed(CrawlBatch(done=[done(f"http://a/{number}")]), exchange(finished=number + 1))
        clock.now += 0.125
    assert [event.data["done"] for event in told.events] == [1, 9, 17]


async def test_slices_of_a_crawl_share_the_second_and_the_counts(
    told: Told, statistics: CrawlStatistics, clock: Clock
) -> None:
    for number in range(4):
        report = CrawlReport(cast(WorkflowContext, told), statistics)
        await report.committed(CrawlBatch(done=[done("http://a/1")]), exchange(finished=number + 1))
        clock.now += 0.5
    hosts = [cast(dict[str, Any], event.data["hosts"])["a"]["pages"] for event in told.events]
    assert hosts == [1, 3]


async def test_the_rate_is_that_of_the_last_ten_reports(
    report: CrawlReport, told: Told, clock: Clock
) -> None:
    finished = 0
    for second in range(30):
        clock.now += 1
        finished += 5 if second < 15 else 50
        await report.committed(CrawlBatch(done=[done("http://a/1")]), exchange(finished=finished))
    rates = [event.data["pages_per_s"] for event in told.events]
    assert (rates[14], rates[-1]) == (5.0, 50.0)


async def test_pages_that_are_left_to_others_no_longer_wait(
    report: CrawlReport, statistics: CrawlStatistics
) -> None:
    await report.committed(CrawlBatch(), exchange(map(entry, ["http://a/1", "http://a/2"])))
    await report.committed(CrawlBatch(done=[done("http://a/1")]), exchange(finished=1))
    assert statistics.hosts["a"].waiting == 1
    report.end()
    assert statistics.hosts["a"].waiting == 0


def test_only_the_busiest_hosts_are_told(statistics: CrawlStatistics) -> None:
    pages = [done(f"http://h{host}/{page}") for host in range(50) for page in range(host + 1)]
    statistics.add(CrawlBatch(done=pages), exchange(finished=len(pages)))
    due = statistics.due()
    assert due is not None
    hosts = list(cast(dict[str, Any], due["hosts"]))
    assert hosts == [f"h{49 - number}" for number in range(SHOWN_HOSTS)]


def test_memory_is_bounded_however_many_hosts_there_are(statistics: CrawlStatistics) -> None:
    busy = [done("http://busy/1"), done("http://busy/2")]
    statistics.add(CrawlBatch(done=[*busy, *(done(f"http://h{n}/") for n in range(5_000))]), exchange())
    assert len(statistics.hosts) <= KEPT_HOSTS
    assert statistics.hosts["busy"].pages == 2


def test_each_run_has_statistics_of_its_own_and_old_runs_are_forgotten() -> None:
    crawls = RunningCrawls()
    first = crawls.of(RunId("first"))
    assert crawls.of(RunId("first")) is first
    for number in range(KEPT_CRAWLS):
        crawls.of(RunId(str(number)))
    assert crawls.of(RunId("first")) is not first


async def test_a_crawl_tells_how_it_goes(compiled: Callable[[str], Any], site: Any) -> None:
    site.pages.update({"http://a/0": "http://a/1 http://a/2", "http://a/1": ""})
    workflow = compiled("steps: [{type: crawl, start: 'http://a/0', commit_pages: 1}]")
    events: list[WorkflowEvent] = [event async for event in workflow.run_stream({})]
    found = [e for e in events if e.kind is EventKind.CUSTOM and e.data["type"] == CRAWL_PROGRESS]
    assert found
    data = cast(dict[str, Any], found[0].data["data"])
    assert (data["done"], list(data["hosts"])) == (1, ["a"])
