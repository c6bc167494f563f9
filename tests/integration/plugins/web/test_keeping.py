"""What is kept of pages, as rows of ``web_contents`` and ``web_links``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, select
from tests.databases import only_postgresql

from agentic.core.actors import ContentsOutput, PageLink
from agentic.core.hooks import get_registry
from agentic.core.http import url_key
from agentic.core.pipeline import CrawledPage, FailedPage, PageContents
from agentic.core.pipeline.policies.policies import StepAttempt
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing import RunAgent, Site
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution
from agentic.migrations.drift import differences
from agentic.plugins.web.mapper import WebResultMapper
from agentic.plugins.web.models import ItemModel, WebContentModel, WebLinkModel, WebPageModel

pytestmark = pytest.mark.integration

ROOT = "http://a.example/"
Save = Callable[..., SaveCounts]
Links = dict[tuple[str, str], tuple[str, bool]]


def crawled(url: str, contents: PageContents | None = None, body: str = "") -> CrawledPage:
    return CrawledPage(
        url=url,
        url_key=url_key(url),
        depth=0,
        final_url=url,
        status=200,
        content_type="text/html",
        title=None,
        fields={},
        content_hash=body,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        contents=contents,
    )


def missing(url: str, failure_class: str = "http_404") -> FailedPage:
    return FailedPage(
        url=url, url_key=url_key(url), depth=0, failure_class=failure_class, message="not there"
    )


def linking(url: str, *targets: str, rel: str = "", followed: tuple[str, ...] = ()) -> CrawledPage:
    read = ContentsOutput(links=tuple(PageLink(url=target, rel=rel, text="there") for target in targets))
    return crawled(url, PageContents(read=read, followed=frozenset(followed)))


class TestRows:
    """On SQLite and on PostgreSQL."""

    @pytest.fixture
    def database(self, whole_url: str) -> Iterator[Database]:
        opened = Database(whole_url)
        yield opened
        opened.dispose()

    @pytest.fixture
    def agent(self, database: Database) -> AgentModel:
        with database.writing() as session:
            return add_agent(session, add_project(session, "shops"), "crawler", "web", {})

    @pytest.fixture
    def save(self, database: Database, agent: AgentModel) -> Save:
        """Store pages as an execution of its own."""

        def save(*pages: CrawledPage, by: AgentModel = agent) -> SaveCounts:
            with database.joined() as session:
                execution = create_execution(session, by)
                return WebResultMapper(session, execution.id, by).save_pages("site", pages)

        return save

    @pytest.fixture
    def mark_gone(self, database: Database, agent: AgentModel) -> Save:
        """Mark pages as an execution of its own."""

        def mark(*pages: FailedPage) -> SaveCounts:
            with database.joined() as session:
                execution = create_execution(session, agent)
                return WebResultMapper(session, execution.id, agent).mark_gone(pages)

        return mark

    @pytest.fixture
    def links(self, database: Database) -> Callable[[], Links]:
        def links() -> Links:
            with database.reading() as session:
                rows = session.scalars(select(WebLinkModel)).all()
            return {(row.from_url, row.to_url): (row.rel, row.is_followed) for row in rows}

        return links

    def test_a_page_seen_again_has_the_links_it_has_now(self, save: Save, links: Callable[[], Links]) -> None:
        a, b, c = f"{ROOT}a", f"{ROOT}b", f"{ROOT}c"
        assert save(linking(ROOT, a, b, followed=(a,)), linking(a, ROOT)) == SaveCounts(inserted=5)
        assert save(linking(ROOT, b, c, rel="nofollow")) == SaveCounts(inserted=1, updated=1, unchanged=1)
        assert links() == {
            (ROOT, b): ("nofollow", False),
            (ROOT, c): ("nofollow", False),
            (a, ROOT): ("", False),
        }
        save(linking(ROOT))
        assert links() == {(a, ROOT): ("", False)}

    def test_what_a_page_no_longer_says_is_gone_and_what_is_not_asked_for_stays(
        self, save: Save, database: Database
    ) -> None:
        read = ContentsOutput(text="Said", html="<p>Said", language="en", canonical_url=f"{ROOT}c")
        tries = (StepAttempt("fetch"), StepAttempt("fetch"))
        save(replace(crawled(ROOT, PageContents(read=read)), title="One", attempts=tries))
        bare = crawled(ROOT, PageContents(read=ContentsOutput(text="Said")))
        assert save(replace(bare, content_type="")) == SaveCounts(updated=2)
        with database.reading() as session:
            (page,), (kept,) = session.scalars(select(WebPageModel)), session.scalars(select(WebContentModel))
        assert (page.title, page.content_type, page.attempts) == (None, None, None)
        assert (kept.text, kept.html, kept.language, kept.canonical_url) == ("Said", "<p>Said", None, None)

    @pytest.mark.parametrize(("failure_class", "status"), [("http_404", 404), ("gone", 410)])
    def test_a_page_that_is_gone_is_marked_and_keeps_its_words_until_it_is_back(
        self, save: Save, mark_gone: Save, database: Database, failure_class: str, status: int
    ) -> None:
        page = replace(crawled(ROOT, PageContents(read=ContentsOutput(text="Said"))), title="One")
        save(page)
        gone = missing(ROOT, failure_class)
        assert mark_gone(gone, missing(f"{ROOT}never")) == SaveCounts(updated=1)
        with database.reading() as session:
            (first,) = session.scalars(select(WebPageModel))
            kept = session.scalars(select(WebContentModel.text)).one()
        assert (first.status, first.title, kept) == (status, "One", "Said")
        assert first.gone_at is not None
        # Not there again, it is not gone anew.
        assert mark_gone(gone) == SaveCounts(unchanged=1)
        with database.reading() as session:
            assert session.scalars(select(WebPageModel.gone_at)).all() == [first.gone_at]
        assert save(page) == SaveCounts(updated=1, unchanged=1)
        with database.reading() as session:
            (back,) = session.scalars(select(WebPageModel))
        assert (back.status, back.gone_at, back.title) == (200, None, "One")

    @only_postgresql
    def test_who_marks_pages_waits_for_nobody_that_stores_them(
        self, save: Save, mark_gone: Save, database: Database
    ) -> None:
        save(crawled(ROOT))
        with database.writing() as other:
            other.execute(select(WebPageModel.url_key).with_for_update())
            assert mark_gone(missing(ROOT)) == SaveCounts()

    def test_a_word_that_a_link_has_lost_is_lost_here_too(
        self, save: Save, links: Callable[[], Links]
    ) -> None:
        save(linking(ROOT, f"{ROOT}a", rel="nofollow", followed=(f"{ROOT}a",)))
        assert save(linking(ROOT, f"{ROOT}a")) == SaveCounts(updated=1, unchanged=1)
        assert links() == {(ROOT, f"{ROOT}a"): ("", False)}

    def test_the_same_links_again_change_nothing(self, save: Save) -> None:
        page = linking(ROOT, *(f"{ROOT}{number}" for number in range(700)))
        assert save(page) == SaveCounts(inserted=701)
        assert save(page) == SaveCounts(unchanged=701)

    def test_a_crawl_that_keeps_no_links_leaves_those_that_are_there(
        self, save: Save, links: Callable[[], Links]
    ) -> None:
        save(linking(ROOT, f"{ROOT}a"))
        kept = PageContents(read=ContentsOutput(text="Hi"))
        assert save(crawled(ROOT, body="2")) == SaveCounts(updated=1)
        assert save(crawled(ROOT, kept, body="2")) == SaveCounts(inserted=1, unchanged=1)
        assert len(links()) == 1

    def test_of_two_pages_that_lead_to_one_place_the_later_has_the_links(
        self, save: Save, links: Callable[[], Links]
    ) -> None:
        save(linking(ROOT, f"{ROOT}a"), linking(ROOT, f"{ROOT}b"))
        assert list(links()) == [(ROOT, f"{ROOT}b")]

    def test_two_projects_have_links_of_their_own(
        self, database: Database, save: Save, links: Callable[[], Links]
    ) -> None:
        with database.writing() as session:
            other = add_agent(session, add_project(session, "others"), "crawler", "web", {})
        save(linking(ROOT, f"{ROOT}a"))
        save(linking(ROOT, f"{ROOT}b"), by=other)
        assert set(links()) == {(ROOT, f"{ROOT}a"), (ROOT, f"{ROOT}b")}

    def test_two_crawls_that_see_one_page_at_once_leave_the_links_of_one_of_them(
        self, save: Save, links: Callable[[], Links]
    ) -> None:
        sets = [[f"{ROOT}{number}" for number in range(first, first + 40)] for first in (0, 20, 40)]

        def crawl(targets: list[str]) -> None:
            for _ in range(8):
                save(linking(ROOT, *targets), linking(f"{ROOT}other", *reversed(targets)))

        with ThreadPoolExecutor(len(sets)) as pool:
            list(pool.map(crawl, sets))
        left = set(links())
        assert left in [{(page, to) for page in (ROOT, f"{ROOT}other") for to in one} for one in sets]

    def test_words_that_are_the_same_are_unchanged_though_the_page_is_not(
        self, database: Database, save: Save
    ) -> None:
        def kept(text: str, html: str | None = None) -> PageContents:
            return PageContents(read=ContentsOutput(language="en", text=text, html=html))

        save(crawled(ROOT, kept("Hi", "<p>Hi"), body="1"))
        assert save(crawled(ROOT, kept("Hi"), body="2")) == SaveCounts(updated=1, unchanged=1)
        with database.reading() as session:
            row = session.scalars(select(WebContentModel)).one()
        assert (row.url, row.language, row.text, row.html, row.markdown) == (ROOT, "en", "Hi", "<p>Hi", None)

    def test_a_page_that_lost_its_words_has_none(self, database: Database, save: Save) -> None:
        save(crawled(ROOT, PageContents(read=ContentsOutput(text="Hi"))))
        save(crawled(ROOT, PageContents(read=ContentsOutput(text=""))))
        with database.reading() as session:
            assert session.scalars(select(WebContentModel.text)).all() == [""]

    def test_what_nobody_wants_kept_costs_no_statement(self, database: Database, save: Save) -> None:
        said: list[str] = []
        event.listen(database.engine, "before_cursor_execute", lambda *a: said.append(str(a[2])))
        save(crawled(ROOT))
        assert said
        assert not [
            statement for statement in said if "web_links" in statement or "web_contents" in statement
        ]

    def test_the_migration_makes_the_tables_that_the_models_describe(self, database: Database) -> None:
        assert [found for found in differences(database, get_registry()) if "web_" in str(found)] == []


class TestACrawl:
    """Of a site that says what the test wants it to."""

    @pytest.fixture
    def run_agent(self, agentic_database: Database) -> RunAgent:
        return RunAgent(agentic_database)

    @pytest.fixture
    def config(self, agentic_site: Site) -> dict[str, JSONValue]:
        self.serve(agentic_site, "/", "<a href='/a'>A</a> <a href='/gone'>G</a> <a href='/x.txt'>X</a>")
        self.serve(agentic_site, "/a", "<p>Words.<a href='http://out.example/' rel='nofollow'>out</a>")
        agentic_site.serve("/x.txt", "plain words")
        start: JSONValue = {
            "type": "crawl",
            "start": f"{agentic_site.url}/",
            "follow": {"exclude": ["*/gone"]},
            "store": {"links": True, "text": True},
        }
        return {
            "pipeline": {"name": "site", "steps": [start]},
            "http": {"allow_private_hosts": [agentic_site.host], "obey_robots": False},
        }

    def serve(self, site: Site, path: str, markup: str) -> None:
        site.serve(path, markup, headers={"Content-Type": "text/html"})

    def test_every_link_is_kept_followed_or_not(
        self, config: dict[str, JSONValue], run_agent: RunAgent, agentic_site: Site
    ) -> None:
        ran = run_agent("web", config)
        root = f"{agentic_site.url}/"
        found = {
            (row.from_url, row.to_url): (row.rel, row.text, row.is_followed) for row in ran.rows(WebLinkModel)
        }
        assert found == {
            (root, f"{root}a"): ("", "A", True),
            (root, f"{root}gone"): ("", "G", False),
            (root, f"{root}x.txt"): ("", "X", True),
            (f"{root}a", "http://out.example/"): ("nofollow", "out", False),
        }
        texts = {row.url: row.text for row in ran.rows(WebContentModel)}
        assert texts == {root: "A G X", f"{root}a": "Words.out", f"{root}x.txt": "plain words"}
        rows = [ran.rows(model) for model in (WebPageModel, WebContentModel, WebLinkModel, ItemModel)]
        assert ran.outcome.counts == SaveCounts(inserted=sum(map(len, rows)))

    def test_a_change_of_what_the_crawl_follows_is_one_of_the_link_and_not_of_the_page(
        self, config: dict[str, JSONValue], run_agent: RunAgent, agentic_site: Site
    ) -> None:
        run_agent("web", config)
        self.serve(agentic_site, "/gone", "<p>Here again.")
        pipeline = config["pipeline"]
        assert isinstance(pipeline, dict)
        steps = pipeline["steps"]
        assert isinstance(steps, list)
        assert isinstance(steps[0], dict)
        steps[0]["follow"] = {}
        again = run_agent("web", config)
        # One page more, with its words; the link to it is now followed.
        assert again.outcome.counts == SaveCounts(inserted=2, updated=1, unchanged=9)

    def test_a_page_that_a_later_crawl_does_not_find_is_marked(
        self, config: dict[str, JSONValue], run_agent: RunAgent, agentic_site: Site
    ) -> None:
        run_agent("web", config)
        agentic_site.fail("/a", status=404)
        gone = run_agent("web", config)
        found = {row.url.rpartition("/")[2]: row for row in gone.rows(WebPageModel)}
        assert {name: (row.status, row.gone_at is None) for name, row in found.items()} == {
            "": (200, True),
            "a": (404, False),
            "x.txt": (200, True),
        }
        assert {row.text for row in gone.rows(WebContentModel)} == {"A G X", "Words.out", "plain words"}
        assert gone.outcome.counts.updated == 1
        back = run_agent("web", config)
        assert [(row.status, row.gone_at) for row in back.rows(WebPageModel)] == [(200, None)] * 3

    def test_a_crawl_that_keeps_no_rows_of_pages_marks_none(
        self, config: dict[str, JSONValue], run_agent: RunAgent, agentic_site: Site
    ) -> None:
        run_agent("web", config)
        agentic_site.fail("/a", status=404)
        crawl: JSONValue = {"type": "crawl", "start": f"{agentic_site.url}/", "store": {"pages": False}}
        ran = run_agent("web", {**config, "pipeline": {"name": "site", "steps": [crawl]}})
        assert [row.gone_at for row in ran.rows(WebPageModel)] == [None] * 3

    def test_an_agent_may_say_what_a_packaged_pipeline_keeps(
        self, config: dict[str, JSONValue], run_agent: RunAgent, agentic_site: Site
    ) -> None:
        site: dict[str, JSONValue] = {
            "pipeline": "docs",
            "inputs": {"start_url": f"{agentic_site.url}/"},
            "http": config["http"],
        }
        assert run_agent("web", site).rows(WebLinkModel) == []
        kept = run_agent("web", {**site, "store": {"links": True}})
        assert len(kept.rows(WebLinkModel)) == 4
        assert kept.rows(WebContentModel) == []

    def test_items_alone_are_kept_of_a_crawl_that_wants_no_rows_of_pages(
        self, config: dict[str, JSONValue], run_agent: RunAgent, agentic_site: Site
    ) -> None:
        crawl: dict[str, JSONValue] = {
            "type": "crawl",
            "start": f"{agentic_site.url}/",
            "detail": {"match": ["*/a"], "config": {"schema": {"words": "p"}}},
            "store": {"pages": False},
        }
        items: dict[str, JSONValue] = {**config, "pipeline": {"name": "site", "steps": [crawl]}}
        ran = run_agent("web", items)
        assert [row.data["words"] for row in ran.rows(ItemModel)] == ["Words.out"]
        assert ran.rows(WebPageModel) == []
        assert ran.outcome.counts == SaveCounts(inserted=1)
        assert run_agent("web", items).outcome.counts == SaveCounts(unchanged=1)
