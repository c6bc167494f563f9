"""Two crawls compared in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentic.executors.reports.changes import (
    ChangedPage,
    ChangeReport,
    PageChange,
    compare_crawls,
    earlier_crawl,
)
from agentic.mappers import ExecutionModel

if TYPE_CHECKING:
    from tests.integration.executors.reports.conftest import Archive
from tests.integration.executors.reports.conftest import Known

pytestmark = pytest.mark.integration

SAME, OTHER = Known(content="h1"), Known(content="h2")
NEVER = Known()


def compared(
    archive: Archive, then: dict[str, Known], now: dict[str, Known], *, listed: int = 10
) -> ChangeReport:
    earlier, later = archive.crawl(then), archive.crawl(now)
    with archive.database.reading() as session:
        return compare_crawls(session, later, earlier, listed=listed)


def test_pages_are_new_changed_gone_or_as_they_were(archive: Archive) -> None:
    then = {"http://a/same": SAME, "http://a/changed": SAME, "http://a/gone": SAME, "http://a/lost": SAME}
    now = {
        "http://a/same": SAME,
        "http://a/changed": OTHER,
        "http://a/gone": Known(failure="http_404"),
        "http://a/new": SAME,
    }
    found = compared(archive, then, now)
    assert found.counts == {
        PageChange.NEW: 1,
        PageChange.CHANGED: 1,
        PageChange.GONE: 2,
        PageChange.UNCHANGED: 1,
        PageChange.UNKNOWN: 0,
    }
    assert found.pages == {
        PageChange.NEW: (ChangedPage(url="http://a/new"),),
        PageChange.CHANGED: (ChangedPage(url="http://a/changed"),),
        PageChange.GONE: (
            ChangedPage(url="http://a/gone", reason="http_404"),
            ChangedPage(url="http://a/lost", reason="no page links to it"),
        ),
    }
    assert found.is_whole


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (Known(failure="timeout"), "timeout"),
        (NEVER, "not fetched yet"),
        (Known(content=""), "its hash is not stored"),
    ],
)
def test_a_page_that_could_not_be_compared_is_not_taken_for_gone(
    archive: Archive, now: Known, reason: str
) -> None:
    found = compared(archive, {"http://a/1": SAME}, {"http://a/1": now})
    assert found.counts[PageChange.UNKNOWN] == sum(found.counts.values()) == 1
    assert found.pages[PageChange.UNKNOWN] == (ChangedPage(url="http://a/1", reason=reason),)


def test_pages_a_crawl_never_came_to_are_not_taken_for_gone(archive: Archive) -> None:
    found = compared(
        archive, {"http://a/1": SAME, "http://a/2": SAME}, {"http://a/1": SAME, "http://a/9": NEVER}
    )
    assert not found.is_whole
    assert found.counts[PageChange.GONE] == 0
    assert found.pages[PageChange.UNKNOWN] == (ChangedPage(url="http://a/2", reason="not found yet"),)


def test_a_page_that_failed_both_times_is_no_change(archive: Archive) -> None:
    failed = {"http://a/1": Known(failure="http_404")}
    assert sum(compared(archive, failed, failed).counts.values()) == 0


def test_a_page_that_came_back_is_new(archive: Archive) -> None:
    found = compared(archive, {"http://a/1": Known(failure="http_404")}, {"http://a/1": SAME})
    assert found.counts[PageChange.NEW] == 1


def test_lists_are_bounded_and_in_the_order_pages_were_found(archive: Archive) -> None:
    pages = {f"http://a/{number}": SAME for number in (5, 3, 9, 1)}
    found = compared(archive, {"http://a/0": SAME}, pages, listed=2)
    assert found.counts[PageChange.NEW] == 4
    assert [page.url for page in found.pages[PageChange.NEW]] == ["http://a/5", "http://a/3"]


def test_gone_pages_of_both_kinds_share_the_bound(archive: Archive) -> None:
    then = {f"http://a/{number}": SAME for number in range(4)}
    found = compared(archive, then, {"http://a/3": Known(failure="gone")}, listed=2)
    assert found.counts[PageChange.GONE] == 4
    assert [page.url for page in found.pages[PageChange.GONE]] == ["http://a/3", "http://a/0"]


def test_the_newest_earlier_crawl_of_the_agent_is_compared_with(archive: Archive) -> None:
    archive.crawl({"http://a/1": SAME})
    second = archive.crawl({"http://a/1": SAME})
    archive.crawl({"http://a/1": NEVER})
    last = archive.crawl({"http://a/1": SAME})
    archive.crawl({"http://a/1": SAME})
    assert _earlier(archive, last) == second.id


def test_the_first_crawl_has_none_before_it(archive: Archive) -> None:
    assert _earlier(archive, archive.crawl({"http://a/1": SAME})) is None


def _earlier(archive: Archive, execution: ExecutionModel) -> str | None:
    with archive.database.reading() as session:
        found = earlier_crawl(session, execution)
    return None if found is None else found.id
