from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Mapped, Session, mapped_column

from agentic.core.http.exits.uses import ProxyUse
from agentic.core.pipeline.crawl.follow import frontier_link
from agentic.core.pipeline.crawl.page_items import FoundItem, with_items
from agentic.core.pipeline.crawl.store import (
    CountedWarning,
    CrawlBatch,
    CrawledPage,
    CrawlStore,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
    PageWarning,
    SliceId,
)
from agentic.core.pipeline.steps.state import FailureTally
from agentic.core.types import SaveCounts
from agentic.mappers import AgentModel, Base, Database, FrontierModel, FrontierState, SourceColumns, upsert
from agentic.mappers.crawl.frontier import SqlCrawlStore

SLICE = SliceId(superstep=2, number=0)
BESIDE = SliceId(superstep=2, number=1)
LATER = SliceId(superstep=3, number=0)


class CrawlPageModel(SourceColumns, Base):
    __tablename__ = "frontier_pages"

    url_key: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str | None]


class Crawl:
    """One crawl of one agent, and as many stores of it as a test asks for."""

    def __init__(self, database: Database, agent: AgentModel) -> None:
        self.database = database
        self.agent = agent

    def store(self, run: str = "r1") -> SqlCrawlStore:
        return SqlCrawlStore(self.database, project_id=self.agent.project_id, run=run, save=self.save)

    def save(self, session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        owner = {"project_id": self.agent.project_id, "agent_id": self.agent.id, "execution_id": "e1"}
        rows = [{**owner, "url_key": page.url_key, "title": page.title} for page in pages]
        counts = upsert(session, CrawlPageModel, rows, key=("project_id", "url_key"))
        session.commit()
        return counts

    def rows(self) -> list[FrontierModel]:
        with self.database.reading() as session:
            return list(session.scalars(select(FrontierModel).order_by(FrontierModel.id)))

    def titles(self) -> list[str | None]:
        with self.database.reading() as session:
            return list(session.scalars(select(CrawlPageModel.title).order_by(CrawlPageModel.url_key)))


@pytest.fixture
def crawl(database: Database, agent: AgentModel) -> Crawl:
    return Crawl(database, agent)


def links(*keys: str, depth: int = 0) -> list[FrontierLink]:
    return [FrontierLink(url=f"http://site/{key}", url_key=key, depth=depth) for key in keys]


def page(key: str, title: str = "t") -> CrawledPage:
    return CrawledPage(
        url=f"http://site/{key}",
        url_key=key,
        depth=0,
        final_url=f"http://site/{key}",
        status=200,
        content_type="text/html",
        title=title,
        fields={},
        content_hash="h",
        fetched_at=datetime.now(UTC),
    )


def failed(key: str) -> FailedPage:
    return FailedPage(url=f"http://site/{key}", url_key=key, depth=0, failure_class="timeout", message="30 s")


def counts(*, total: int, done: int, failed: int = 0, **rows: int) -> FrontierCounts:
    return FrontierCounts(total=total, done=done, failed=failed, saved=SaveCounts(**rows))


def used(**requests: int) -> list[ProxyUse]:
    return [
        ProxyUse(id=name, number=1, requests=count, failures=(("timeout", count),))
        for name, count in requests.items()
    ]


async def taken(store: CrawlStore, limit: int, slice_id: SliceId = SLICE) -> Sequence[FrontierEntry]:
    """Take pages, with nothing to write down."""
    return (await store.exchange(slice_id, CrawlBatch(), limit)).entries


async def written(store: CrawlStore, batch: CrawlBatch) -> SaveCounts:
    """Write down what was done, and take no page."""
    return (await store.exchange(SLICE, batch, 0)).saved


async def test_only_pages_that_are_gone_and_given_up_now_are_told_to_whoever_marks_them(crawl: Crawl) -> None:
    told: list[str] = []

    def mark(session: Session, pages: Sequence[FailedPage]) -> SaveCounts:
        told.extend(page.url_key for page in pages)
        return SaveCounts(updated=len(pages))

    store = SqlCrawlStore(
        crawl.database, project_id=crawl.agent.project_id, run="r1", save=crawl.save, mark_gone=mark
    )
    await store.seed(links("a", "b", "c", "d", "e"))
    given_up = [
        replace(failed("a"), failure_class="http_404"),
        replace(failed("b"), failure_class="gone"),
        replace(failed("c"), failure_class="gone", has_row=False),
        failed("d"),
    ]
    batch = CrawlBatch(failed=given_up, done=[page("e")])
    assert await written(store, batch) == SaveCounts(inserted=1, updated=2)
    assert await written(store, batch) == SaveCounts()
    assert told == ["a", "b"]


async def test_seeding_counts_only_pages_not_known_yet(crawl: Crawl) -> None:
    store: CrawlStore = crawl.store()
    assert await store.seed(links("a", "b", "a")) == 2
    assert await store.seed(links("b", "c")) == 1
    assert await store.seed([]) == 0
    assert await store.begin(SLICE) == FrontierCounts(total=3)


async def test_pages_are_claimed_in_the_order_they_were_found(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("c", "a", "b", depth=2))
    entries = await taken(store, 2)
    assert [(e.url, e.url_key, e.depth, e.attempts) for e in entries] == [
        ("http://site/c", "c", 2, 0),
        ("http://site/a", "a", 2, 0),
    ]
    assert await store.begin(SLICE) == FrontierCounts(total=3)


async def test_pages_of_sites_that_are_not_wanted_stay_for_later(crawl: Crawl) -> None:
    store = crawl.store()
    urls = [
        "http://a/1",
        "http://a.b/1",
        "http://a:8080/1",
        "https://a/1",
        "http://a/2/http://b/",
        "http://b/1",
    ]
    await store.seed([frontier_link(url, 0) for url in urls])
    exchange = await store.exchange(SLICE, CrawlBatch(), 2, without=["http://a/", "http://b/"])
    assert [entry.url for entry in exchange.entries] == ["http://a.b/1", "http://a:8080/1"]
    rest = await taken(store, 10)
    assert [entry.url for entry in rest] == [
        "http://a/1",
        "https://a/1",
        "http://a/2/http://b/",
        "http://b/1",
    ]


async def test_no_page_is_given_to_two_stores(crawl: Crawl) -> None:
    stores = [crawl.store() for _ in range(4)]
    await stores[0].seed(links(*(f"k{i:03}" for i in range(100))))
    claims = await asyncio.gather(*(taken(store, 10) for store in stores * 3))
    keys = [entry.url_key for entries in claims for entry in entries]
    assert len(keys) == len(set(keys)) == 100


async def test_pages_of_a_slice_that_was_cut_off_are_given_to_its_next_attempt(crawl: Crawl) -> None:
    killed, again = crawl.store(), crawl.store()
    await killed.seed(links("a", "b", "c"))
    await taken(killed, 1)
    await taken(killed, 1, BESIDE)
    assert await again.begin(SLICE) == FrontierCounts(total=3)
    assert [(e.url_key, e.attempts) for e in await taken(again, 10)] == [("a", 1), ("c", 0)]


async def test_pages_of_an_earlier_superstep_are_given_to_a_later_one(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a", "b"))
    await taken(store, 1)
    await taken(store, 1, BESIDE)
    await store.begin(LATER)
    assert [e.url_key for e in await taken(store, 10, LATER)] == ["a", "b"]


async def test_pages_of_the_slices_beside_stay_with_them(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a"))
    await taken(store, 10)
    await store.begin(BESIDE)
    assert await taken(store, 10, BESIDE) == []


async def test_pages_that_are_given_back_go_to_whoever_asks_next(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a", "b"))
    first, _ = await taken(store, 2)
    await store.give_back(BESIDE, [first])
    assert await taken(store, 10) == []
    await store.give_back(SLICE, [first])
    assert [(e.url_key, e.attempts) for e in await taken(store, 10, BESIDE)] == [("a", 0)]


async def test_a_commit_marks_pages_adds_links_and_stores_rows(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a", "b"))
    await taken(store, 2)
    batch = CrawlBatch(done=[page("a")], failed=[failed("b")], links=links("a", "c", depth=1))
    assert await written(store, batch) == SaveCounts(inserted=1)
    assert await store.begin(SLICE) == counts(total=3, done=1, failed=1, inserted=1)
    assert crawl.titles() == ["t"]
    gone = crawl.rows()[1]
    assert (gone.state, gone.failure_class, gone.message) == (FrontierState.FAILED, "timeout", "30 s")


async def test_a_link_may_fail_in_the_commit_that_adds_it(crawl: Crawl) -> None:
    batch = CrawlBatch(failed=[failed("sitemap")], links=links("sitemap", "a"))
    exchange = await crawl.store().exchange(SLICE, batch, 5)
    assert exchange.counts == counts(total=2, done=0, failed=1)
    assert [entry.url_key for entry in exchange.entries] == ["a"]
    assert (await crawl.store().exchange(SLICE, batch, 0)).counts == exchange.counts


async def test_rows_and_items_of_all_commits_are_counted_with_their_pages(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a", "b", "c", "d"))
    item = replace(page("a"), fields={"n": 1}, item_key="1")
    several = with_items(page("b"), [FoundItem("2", {"n": 2}), FoundItem("3", {"n": 3})])
    first = await store.exchange(SLICE, CrawlBatch(done=[item]), 0)
    await written(crawl.store(), CrawlBatch(done=[several, page("c")], links=links("e")))
    assert first.counts.saved == first.saved == SaveCounts(inserted=1)
    stood = await crawl.store().begin(LATER)
    assert (stood.items, stood.saved) == (3, SaveCounts(inserted=3))


async def test_pages_marked_as_gone_are_counted_too(crawl: Crawl) -> None:
    def mark(session: Session, pages: Sequence[FailedPage]) -> SaveCounts:
        return SaveCounts(updated=len(pages))

    store = SqlCrawlStore(
        crawl.database, project_id=crawl.agent.project_id, run="r1", save=crawl.save, mark_gone=mark
    )
    await store.seed(links("a"))
    await written(store, CrawlBatch(failed=[replace(failed("a"), failure_class="gone")]))
    assert (await store.begin(LATER)).saved == SaveCounts(updated=1)


async def test_failures_are_those_of_the_frontier_with_the_first_examples(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a", "b", "c", "d"))
    gone = replace(failed("c"), failure_class="dns", message="no such host")
    await written(store, CrawlBatch(failed=[failed("a"), replace(failed("b"), message="31 s"), gone]))
    await written(crawl.store("r2"), CrawlBatch(failed=[failed("a")]))
    assert await crawl.store().failures(1) == [
        FailureTally(failure_class="dns", count=1, examples=("no such host",)),
        FailureTally(failure_class="timeout", count=2, examples=("30 s",)),
    ]


@pytest.mark.requirement("PL29")
async def test_a_commit_whose_rows_fail_leaves_nothing(crawl: Crawl) -> None:
    def fail(session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        crawl.save(session, pages)
        raise RuntimeError("disk full")

    store = SqlCrawlStore(crawl.database, project_id=crawl.agent.project_id, run="r1", save=fail)
    await store.seed(links("a"))
    await taken(store, 1)
    with pytest.raises(RuntimeError, match="disk full"):
        await written(store, CrawlBatch(done=[page("a")], links=links("b")))
    assert await store.begin(SLICE) == FrontierCounts(total=1)
    assert crawl.titles() == []


async def test_requests_through_proxies_add_up_over_the_commits_of_all_stores(crawl: Crawl) -> None:
    one, other = crawl.store(), crawl.store()
    await one.seed(links("a"))
    assert await one.proxies() == ()
    await written(one, CrawlBatch(done=[page("a")], proxies=used(x=1, y=2)))
    await asyncio.gather(*(written(store, CrawlBatch(proxies=used(x=3))) for store in (one, other)))
    await written(other, CrawlBatch())
    assert await other.proxies() == tuple(used(x=7, y=2))
    assert await crawl.store("r2").proxies() == ()


async def test_a_commit_that_fails_counts_no_requests_through_proxies(crawl: Crawl) -> None:
    def fail(session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        raise RuntimeError("disk full")

    store = SqlCrawlStore(crawl.database, project_id=crawl.agent.project_id, run="r1", save=fail)
    await store.seed(links("a"))
    await written(store, CrawlBatch(proxies=used(x=1)))
    with pytest.raises(RuntimeError, match="disk full"):
        await written(store, CrawlBatch(done=[page("a")], proxies=used(x=10)))
    assert await store.proxies() == tuple(used(x=1))


async def test_a_row_sink_that_rolls_back_does_not_undo_the_marks(crawl: Crawl) -> None:
    def reject(session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        session.rollback()
        return SaveCounts(rejected=len(pages))

    store = SqlCrawlStore(crawl.database, project_id=crawl.agent.project_id, run="r1", save=reject)
    await store.seed(links("a"))
    await taken(store, 1)
    assert await written(store, CrawlBatch(done=[page("a")], links=links("b"))) == SaveCounts(rejected=1)
    assert await store.begin(SLICE) == counts(total=2, done=1, rejected=1)


@pytest.mark.requirement("PL28")
async def test_a_page_fetched_by_two_stores_counts_once_and_the_first_commit_stays(crawl: Crawl) -> None:
    slow, fast = crawl.store(), crawl.store()
    await slow.seed(links("a"))
    await taken(slow, 1)
    await fast.begin(SLICE)
    await taken(fast, 1)
    assert await written(fast, CrawlBatch(done=[page("a", "first")])) == SaveCounts(inserted=1)
    assert await written(slow, CrawlBatch(done=[page("a", "late")], links=links("b"))) == SaveCounts()
    assert crawl.titles() == ["first"]
    assert await fast.begin(SLICE) == counts(total=2, done=1, inserted=1)


async def test_a_late_failure_does_not_undo_a_page_that_is_done(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a"))
    await written(store, CrawlBatch(done=[page("a")]))
    await written(store, CrawlBatch(failed=[failed("a")]))
    assert await store.begin(SLICE) == counts(total=1, done=1, inserted=1)


async def test_a_page_that_failed_elsewhere_and_was_fetched_here_is_done(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a"))
    await written(store, CrawlBatch(failed=[failed("a")]))
    assert await written(store, CrawlBatch(done=[page("a")])) == SaveCounts(inserted=1)
    assert await store.begin(SLICE) == counts(total=1, done=1, inserted=1)
    assert crawl.rows()[0].failure_class is None


@pytest.mark.requirement("PL42")
async def test_crawls_of_other_names_and_projects_are_apart(crawl: Crawl, stranger: AgentModel) -> None:
    ours, another = crawl.store("r1"), crawl.store("r2")
    theirs = Crawl(crawl.database, stranger).store("r1")
    assert [await store.seed(links("a")) for store in (ours, another, theirs)] == [1, 1, 1]
    await written(theirs, CrawlBatch(done=[page("a")]))
    assert await ours.begin(SLICE) == FrontierCounts(total=1)
    assert len(await taken(ours, 10)) == 1
    assert await another.begin(SLICE) == FrontierCounts(total=1)


async def test_a_crawl_goes_on_after_its_process_was_killed(crawl: Crawl) -> None:
    first = crawl.store()
    await first.seed(links("a", "b", "c"))
    await taken(first, 2)
    await written(first, CrawlBatch(done=[page("a")], links=links("d")))
    second = crawl.store()
    await second.begin(SLICE)
    while entries := await taken(second, 10):
        await written(second, CrawlBatch(done=[page(entry.url_key) for entry in entries]))
    assert await second.begin(SLICE) == counts(total=4, done=4, inserted=4)
    assert len(crawl.titles()) == 4


async def test_a_cancelled_commit_ends_before_the_cancellation_goes_on(crawl: Crawl) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        inside.set()
        go_on.wait(10)
        return crawl.save(session, pages)

    store = SqlCrawlStore(crawl.database, project_id=crawl.agent.project_id, run="r1", save=wait)
    await store.seed(links("a"))
    commit = asyncio.create_task(written(store, CrawlBatch(done=[page("a")])))
    await asyncio.to_thread(inside.wait, 10)
    commit.cancel()
    asyncio.get_running_loop().call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await commit
    assert crawl.titles() == ["t"]


async def test_warnings_about_pages_are_counted_by_subject(crawl: Crawl) -> None:
    store = crawl.store()
    await store.seed(links("a", "b", "c", "d"))
    await taken(store, 4)
    price, day = (
        PageWarning("field 'price'", "'Sold out' on http://site/b"),
        PageWarning("field 'day'", "x\0"),
    )
    done = [
        replace(page("b"), warnings=(price,)),
        page("a"),
        replace(page("c"), warnings=(day, price, price)),
    ]
    await written(store, CrawlBatch(done=done, failed=[failed("d")]))
    assert await crawl.store().warnings() == [
        CountedWarning(subject="field 'price'", count=3, example="'Sold out' on http://site/b"),
        CountedWarning(subject="field 'day'", count=1, example="x"),
    ]
    assert await crawl.store("other").warnings() == []
    assert [row.failure_class for row in crawl.rows()] == [None, None, None, "timeout"]
