"""What a crawl left in its frontier."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import literal, select

from agentic.core.types import JSONValue
from agentic.executors.agents.redaction import MASK, Redactor
from agentic.executors.reports.crawls import EXAMPLES, HOSTS, CrawlReader
from agentic.executors.reports.facts import HostFacts, PageCounts, StrategyFacts, TriedPage
from agentic.executors.reports.masking import Shown
from agentic.executors.reports.times import TimeText, histogram, nice_step
from agentic.mappers import ExecutionModel, UTCDateTime

if TYPE_CHECKING:
    from sqlalchemy.orm import Session
    from tests.integration.executors.reports.conftest import Archive
from tests.integration.executors.reports.conftest import Known

pytestmark = pytest.mark.integration

DONE = Known(content="h")
FAILED = Known(failure="timeout")


def reader(session: Session, execution: ExecutionModel) -> CrawlReader:
    return CrawlReader(session, execution, Shown(Redactor()))


def attempt(failure_class: str, action: str, after: str = "") -> JSONValue:
    return {"actor": "fetch", "failure_class": failure_class, "action": action, "next": after}


def test_failures_are_counted_by_class_with_the_first_of_each(archive: Archive) -> None:
    pages = {f"http://a/{number}": FAILED for number in range(5)}
    execution = archive.crawl({**pages, "http://a/x?token=abc": Known(failure="dns"), "http://a/y": DONE})
    with archive.database.reading() as session:
        timeout, dns = reader(session, execution).failures()
    assert (timeout.failure_class, timeout.count, dns.count) == ("timeout", 5, 1)
    assert [example.subject for example in timeout.examples] == ["http://a/0", "http://a/1", "http://a/2"]
    assert len(timeout.examples) == EXAMPLES
    assert dns.examples[0].message == f"http://a/x?token={MASK} was not fetched"


def test_pages_are_counted_by_host_and_port(archive: Archive) -> None:
    execution = archive.crawl(
        {
            "http://a:81/1": DONE,
            "http://a:81/2": FAILED,
            "http://a:81/3": Known(),
            "https://b": DONE,
            "https://b/?u=http://c/d": DONE,
        }
    )
    with archive.database.reading() as session:
        hosts, count = reader(session, execution).hosts()
    assert hosts == [
        HostFacts(host="a:81", done=1, failed=1, left=1),
        HostFacts(host="b", done=2, failed=0, left=0),
    ]
    assert count == 2


def test_only_the_busiest_hosts_are_named_and_all_are_counted(archive: Archive) -> None:
    execution = archive.crawl({f"http://h{number}/": DONE for number in range(HOSTS + 5)})
    with archive.database.reading() as session:
        hosts, count = reader(session, execution).hosts()
    assert (len(hosts), count) == (HOSTS, HOSTS + 5)


def test_what_was_done_about_failures_is_counted_by_page(archive: Archive) -> None:
    retried: list[JSONValue] = [attempt("timeout", "retry"), attempt("timeout", "retry"), {"actor": "fetch"}]
    handed_on = [attempt("http_403", "fallback", "browser"), attempt("http_403", "give_up")]
    execution = archive.crawl(
        {
            "http://a/1": Known(content="h", tries=retried),
            "http://a/2": Known(failure="http_403", tries=handed_on),
            "http://a/3": DONE,
        }
    )
    with archive.database.reading() as session:
        found = reader(session, execution).strategies()
    assert (found.page_count, found.looked_at, found.recovered) == (2, 2, 1)
    assert found.kinds == (
        StrategyFacts(failure_class="http_403", action="fallback", next="browser", count=1, recovered=0),
        StrategyFacts(failure_class="http_403", action="give_up", next="", count=1, recovered=0),
        StrategyFacts(failure_class="timeout", action="retry", next="fetch", count=1, recovered=1),
    )
    assert found.pages[0] == TriedPage(
        url="http://a/1", tries=("fetch: timeout", "fetch: timeout", "fetch: ok"), is_done=True
    )


def test_crawls_of_other_executions_are_not_seen(archive: Archive) -> None:
    archive.crawl({"http://other/1": FAILED})
    execution = archive.crawl({"http://a/1": DONE, "http://a/2": Known()})
    with archive.database.reading() as session:
        crawl = reader(session, execution)
        assert crawl.counts() == PageCounts(known=2, done=1, failed=0)
        assert crawl.failures() == []
        assert [host.host for host in crawl.hosts()[0]] == ["a"]
        assert crawl.strategies().page_count == 0


def test_times_are_cut_off_alike_on_every_database(archive: Archive) -> None:
    time = literal(datetime(2026, 5, 4, 23, 59, 7, 680_000, tzinfo=UTC), UTCDateTime())
    with archive.database.reading() as session:
        found = [session.scalar(select(TimeText(time, length))) for length in (21, 19, 16)]
    assert found == ["2026-05-04 23:59:07.6", "2026-05-04 23:59:07", "2026-05-04 23:59"]


@pytest.mark.parametrize(
    ("span_s", "step_s"), [(0, 0.1), (5.9, 0.1), (6, 0.2), (59, 1), (3_600, 120), (1e7, 172_800)]
)
def test_intervals_are_those_people_count_in(span_s: float, step_s: float) -> None:
    assert nice_step(span_s) == step_s


def test_a_histogram_comes_from_what_is_below_each_bound() -> None:
    assert histogram([1, 4, 4], 7) == (1, 3, 0, 3)
