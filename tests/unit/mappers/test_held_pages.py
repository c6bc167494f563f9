from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from tests.unit.core.pipeline.drift.healthy import KIND, pages, profile_of

from agentic.core.pipeline.crawl.follow import frontier_link
from agentic.core.pipeline.crawl.store import CrawlBatch, CrawledPage, FrontierCounts, SliceId
from agentic.core.pipeline.drift.incidents import Incident
from agentic.core.pipeline.drift.profiles import KindProfile
from agentic.core.pipeline.drift.sights import PageSight, kind_of
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    FrontierModel,
    FrontierState,
    create_execution,
)
from agentic.mappers.catalog.dead_letter_retries import retry_failed_pages
from agentic.mappers.crawl.copying import PagesAgain, copy_crawl
from agentic.mappers.crawl.frontier import SqlCrawlStore
from agentic.mappers.crawl.held import held_crawls
from agentic.mappers.crawl.profiles import learn_profiles, load_profiles
from agentic.mappers.tables.core import CrawlModel

SLICE = SliceId(superstep=1)
PAGES = 40


class Crawl:
    """A crawl of 40 pages of one kind, and stores that know how healthy ones look."""

    def __init__(self, database: Database, agent: AgentModel) -> None:
        self.database = database
        self.agent = agent
        with database.writing() as session:
            self.execution = create_execution(session, agent)
        good: list[dict[str, JSONValue]] = [{"title": f"t{n}", "price": n} for n in range(1, 41)]
        self.profiles: Mapping[str, KindProfile] = {KIND.key: profile_of([pages(good), pages(good)])}
        self.noted: list[Incident] = []

    def store(self) -> SqlCrawlStore:
        return SqlCrawlStore(
            self.database,
            project_id=self.agent.project_id,
            run=self.execution.id,
            save=lambda session, pages: SaveCounts(inserted=len(pages)),
            profiles=lambda session: self.profiles,
            note_held=lambda session, incidents: self.noted.extend(incidents),
        )

    def states(self) -> Mapping[str, int]:
        query = select(FrontierModel.state, func.count()).group_by(FrontierModel.state)
        with self.database.reading() as session:
            return {str(state): count for state, count in session.execute(query)}


@pytest.fixture
def crawl(database: Database, agent: AgentModel) -> Crawl:
    return Crawl(database, agent)


def page(url: str, url_key: str, *, price: float | None) -> CrawledPage:
    return CrawledPage(
        url=url,
        url_key=url_key,
        depth=0,
        final_url=url,
        status=200,
        content_type="text/html",
        title="t",
        fields={"title": f"t{url.rpartition(chr(47))[2]}", "price": price},
        content_hash=url_key,
        fetched_at=datetime.now(UTC),
        item_key=url,
        sight=PageSight(KIND, 1_000),
    )


async def drifted(crawl: Crawl, *, holds: bool = True) -> tuple[SqlCrawlStore, FrontierCounts]:
    """Return the store of a crawl after 10 good pages, 10 broken ones, and 20 that were taken."""
    store = crawl.store()
    await store.seed([frontier_link(f"http://site/{number}", 0) for number in range(PAGES)])
    taken = (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
    good = [page(one.url, one.url_key, price=3.0 + number) for number, one in enumerate(taken[:10])]
    broken = [page(one.url, one.url_key, price=None) for one in taken[10:20]]
    assert not (await store.exchange(SLICE, CrawlBatch(done=good, holds_drift=holds), 0)).incidents
    exchange = await store.exchange(SLICE, CrawlBatch(done=broken, holds_drift=holds), 0)
    assert [incident.cause for incident in exchange.incidents] == ["layout"]
    held = [one.url_key for one in taken[20:]] if holds else []
    return store, (await store.exchange(SLICE, CrawlBatch(held=held, holds_drift=holds), 0)).counts


async def test_pages_of_a_drifted_kind_are_held_and_no_slice_claims_them(crawl: Crawl) -> None:
    store, counts = await drifted(crawl)
    assert counts.holds == {KIND.key}
    assert (counts.done, counts.held, counts.left, counts.open) == (20, 20, 20, 0)
    assert crawl.states() == {"done": 20, "held": 20}
    assert not (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
    assert [incident.faults[0].field for incident in crawl.noted] == ["price"]
    with crawl.database.reading() as session:
        (found,) = held_crawls(session, crawl.agent.project_id)
    assert (found.held, found.incidents) == (20, crawl.noted)


async def test_another_process_continues_with_the_evidence_and_the_held_pages(crawl: Crawl) -> None:
    await drifted(crawl)
    other = crawl.store()
    counts = await other.begin(SliceId(superstep=2))
    assert counts.holds == {KIND.key}
    assert counts.held == 20
    assert await other.incidents() == crawl.noted


async def test_released_pages_are_new_and_those_that_raised_the_alarm_too(crawl: Crawl) -> None:
    store, _ = await drifted(crawl)
    for _ in range(2):  # a second call changes nothing
        await store.release(is_accepted=False)
        assert crawl.states() == {"done": 10, "new": 30}
    counts = await store.begin(SLICE)
    assert (counts.done, counts.items, counts.held, counts.open, counts.holds) == (10, 10, 0, 30, frozenset())
    assert not await store.incidents()
    taken = (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
    mended = [page(one.url, one.url_key, price=9.0 + number) for number, one in enumerate(taken)]
    exchange = await store.exchange(SLICE, CrawlBatch(done=mended, holds_drift=True), 0)
    assert not exchange.incidents
    assert (exchange.counts.done, exchange.counts.items, exchange.counts.open) == (40, 40, 0)


async def test_accepted_pages_are_new_and_not_watched_any_longer(crawl: Crawl) -> None:
    store, _ = await drifted(crawl)
    await store.release(is_accepted=True)
    assert crawl.states() == {"done": 10, "new": 30}
    taken = (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
    same = [page(one.url, one.url_key, price=None) for one in taken]
    assert not (await store.exchange(SLICE, CrawlBatch(done=same, holds_drift=True), 0)).incidents


async def test_a_crawl_that_continues_notes_the_incident_and_holds_nothing(crawl: Crawl) -> None:
    store, counts = await drifted(crawl, holds=False)
    assert (counts.held, counts.holds, len(await store.incidents())) == (0, frozenset(), 1)
    assert not crawl.noted


async def test_an_execution_teaches_its_good_kinds_once_and_a_drifted_one_never(
    crawl: Crawl, agent: AgentModel
) -> None:
    store = crawl.store()
    await store.seed([frontier_link(f"http://site/{number}", 0) for number in range(PAGES)])
    taken = (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
    good = [page(one.url, one.url_key, price=3.0 + number) for number, one in enumerate(taken)]
    await store.exchange(SLICE, CrawlBatch(done=good), 0)
    for _ in range(2):
        with crawl.database.writing() as session:
            learn_profiles(session, crawl.execution)
    with crawl.database.reading() as session:
        known = load_profiles(session, agent.project_id, agent.id)
    assert [sum(pages for pages, _ in one.pages.values()) for one in known.values()] == [40]
    assert [*known[KIND.key].fields] == ["title", "price"]
    drifted_one = Crawl(crawl.database, agent)
    await drifted(drifted_one)
    with crawl.database.writing() as session:
        learn_profiles(session, drifted_one.execution)
        assert load_profiles(session, agent.project_id, agent.id) == known


async def test_an_edit_of_another_field_does_not_forget_a_repaired_one(
    crawl: Crawl, agent: AgentModel
) -> None:
    def rule(**schema: JSONValue) -> DetailRules:
        return DetailRules(match=("/product/*",), config={"schema": schema})

    written, repaired = rule(title="h1", price=".price"), rule(title="h1", price=".cost")
    store = crawl.store()
    await store.seed([frontier_link(f"http://site/{number}", 0) for number in range(PAGES)])
    taken = (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
    sight = PageSight(kind_of(written), 1_000)
    good = [replace(page(one.url, one.url_key, price=3.0 + at), sight=sight) for at, one in enumerate(taken)]
    await store.exchange(SLICE, CrawlBatch(done=good), 0)
    with crawl.database.writing() as session:
        learn_profiles(session, crawl.execution, [written], [repaired])
    edited, in_effect = rule(title="h2", price=".price"), rule(title="h2", price=".cost")
    with crawl.database.reading() as session:
        known = load_profiles(session, agent.project_id, agent.id, [edited], [in_effect])
    assert [*known[kind_of(edited).key].fields] == ["price"]


async def test_a_copied_crawl_fetches_the_held_pages(crawl: Crawl) -> None:
    await drifted(crawl)
    with crawl.database.writing() as session:
        made = create_execution(session, crawl.agent)
        copy_crawl(
            session, crawl.execution, made, PagesAgain(fetch=FrontierModel.state == FrontierState.FAILED)
        )
        assert _counted(session, made, FrontierState.NEW) == 20
        copied = session.get_one(CrawlModel, (made.project_id, made.id))
        assert (copied.held, copied.holds, copied.watch) == (0, "", None)


async def test_a_retry_fetches_held_pages_and_those_that_raised_the_alarm(crawl: Crawl) -> None:
    await drifted(crawl)
    with crawl.database.writing() as session:
        made, count = retry_failed_pages(session, crawl.execution, crawl.agent)
        assert count == 30
        assert _counted(session, made, FrontierState.NEW) == 30
        copied = session.get_one(CrawlModel, (made.project_id, made.id))
        assert (copied.total, copied.done, copied.items) == (40, 10, 10)


async def test_a_crawl_that_has_ended_is_not_listed_as_held(crawl: Crawl) -> None:
    await drifted(crawl)
    with crawl.database.writing() as session:
        session.get_one(ExecutionModel, crawl.execution.id).status = ExecutionStatus.PARTIAL
    with crawl.database.reading() as session:
        assert not held_crawls(session, crawl.agent.project_id)


def _counted(session: Session, execution: ExecutionModel, state: FrontierState) -> int | None:
    mine = (FrontierModel.run == execution.id, FrontierModel.state == state)
    return session.scalar(select(func.count()).select_from(FrontierModel).where(*mine))
