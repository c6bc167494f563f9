"""The actors of the web keep what every actor promises."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.core.actors import ActorContext
from agentic.core.browser import BrowserFetcher, BrowserRequest, Manners, RenderedPage
from agentic.core.http import FailureClass, FetchError
from agentic.core.types import JSONValue
from agentic.executors.files import FolderFiles
from agentic.executors.testing import ActorContract, Failing, Site
from agentic.plugins.fakes.jobs.credentials import PASSWORD, USERNAME
from agentic.plugins.fakes.server import FakeServer
from agentic.plugins.web.article import ArticleActor
from agentic.plugins.web.authenticate import AuthenticateActor
from agentic.plugins.web.capture import PdfActor, ScreenshotActor
from agentic.plugins.web.diff import DiffActor
from agentic.plugins.web.extract_detail import ExtractDetailActor
from agentic.plugins.web.extract_list import ExtractListActor
from agentic.plugins.web.feed import FeedActor
from agentic.plugins.web.fetch import FetchActor
from agentic.plugins.web.page_contents import PageContentsActor
from agentic.plugins.web.robots_check import RobotsCheckActor
from agentic.plugins.web.search import SearchActor
from agentic.plugins.web.sitemap import SitemapActor
from agentic.plugins.web.structured_data import StructuredDataActor
from agentic.plugins.web.webhook import WebhookActor

pytestmark = pytest.mark.integration

Config = dict[str, JSONValue]
Failures = Mapping[str, Failing]

SENTENCE = "A lamp is a thing that gives light when it is dark, and this one does so for years. "
LIST = (
    "<title>Lamps</title><ul><li><a href='/1'>One</a><b>5 EUR</b><li><a href='/2'>Two</a><b>dear</b></ul>"
    f"<article><h1>Lamps</h1><p>{SENTENCE * 5}</p></article>"
)
DEEP = "<div>" * 2_100


def page(text: str = LIST, **more: JSONValue) -> Config:
    """Return a page as an input has it."""
    told: Config = {"url": "http://shop.example/", "final_url": "http://shop.example/", "status": 200}
    as_read: Config = {"content_type": "text/html", "content_hash": "", "fetched_at": "2026-01-01T00:00:00Z"}
    return {**told, **as_read, "text": text, **more}


def unread(**config: JSONValue) -> dict[str, Failing]:
    """Return how whatever reads pages fails: by what is no page, and by one that nobody can read."""
    pages = {"not_html": page(content_type="application/pdf"), "too_large": page(DEEP)}
    return {word: Failing(given={"page": found, **config}) for word, found in pages.items()}


@pytest.fixture(scope="module")
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=60) as server:
        yield server


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Callable[[], None]]:
    """Return what makes a library one that is not installed."""
    return lambda library: lambda: monkeypatch.setitem(sys.modules, library, None)


class ScriptedBrowser:
    """Shows one page, or nothing."""

    def __init__(self, failure_class: FailureClass | None = None) -> None:
        self._failure_class = failure_class

    async def render(self, request: BrowserRequest, manners: Manners) -> RenderedPage:
        if self._failure_class is not None:
            raise FetchError(request.url, self._failure_class, "it is not to be seen")
        return RenderedPage(
            url=request.url,
            status=200,
            headers={"content-type": "text/html"},
            html=LIST,
            screenshot=b"\x89PNG",
            pdf=b"%PDF",
        )


class TestArticle(ActorContract):
    actor = ArticleActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page()}

    @pytest.fixture
    def failures(self, forget: Callable[[str], Callable[[], None]]) -> Failures:
        return {
            **unread(),
            "empty": Failing(given={"page": page("<p></p>")}),
            "error": Failing(given={"page": page()}, before=forget("trafilatura")),
        }


class TestDiff(ActorContract):
    actor = DiffActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page(), "selector": "li"}

    @pytest.fixture
    def failures(self) -> Failures:
        return {
            **unread(selector="li"),
            "empty": Failing(given={"key": "nothing"}),
            "selector_missing": Failing(given={"page": page(), "selector": "table"}),
        }


class TestExtractDetail(ActorContract):
    actor = ExtractDetailActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page(), "schema": {"title": "h1"}}

    @pytest.fixture
    def failures(self) -> Failures:
        missing: Config = {"name": {"selector": "table", "required": True}}
        return {
            **unread(schema={"title": "h1"}),
            "selector_missing": Failing(given={"page": page(), "schema": missing}),
            "schema_invalid": Failing(
                given={"page": page(), "schema": {"title": "h1"}, "json_schema": {"required": ["price"]}}
            ),
        }


class TestExtractList(ActorContract):
    actor = ExtractListActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page(), "item_selector": "li", "fields": {"price": "b"}}

    @pytest.fixture
    def failures(self) -> Failures:
        prices: Config = {"price": {"selector": "b", "type": "number"}}
        return {
            **unread(item_selector="li"),
            "selector_missing": Failing(given={"page": page(), "item_selector": "td", "required": True}),
            "schema_invalid": Failing(given={"page": page(), "item_selector": "li", "fields": prices}),
        }


class TestPageContents(ActorContract):
    actor = PageContentsActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page(), "links": True, "text": True, "markdown": True, "html": True}

    @pytest.fixture
    def failures(self) -> Failures:
        return {"too_large": Failing(given={"page": page(DEEP), "links": True})}


class TestStructuredData(ActorContract):
    actor = StructuredDataActor

    @pytest.fixture
    def given(self) -> Config:
        told = '{"@type": "Product", "name": "Lamp"}'
        return {"page": page(f'<script type="application/ld+json">{told}</script>')}

    @pytest.fixture
    def failures(self) -> Failures:
        return {**unread(), "empty": Failing(given={"page": page(), "required": True})}


class TestFetch(ActorContract):
    actor = FetchActor
    volatile = frozenset({"page.fetched_at"})

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": f"{site.shop_url}product/1", "wait_for": "h1"}

    @pytest.fixture
    def failures(self, site: FakeServer) -> Failures:
        return {
            "browser_crashed": Failing(given={"url": site.shop_url, "mode": "browser"}),
            "selector_missing": Failing(given={"url": site.shop_url, "wait_for": "table.none"}),
            "http_404": Failing(given={"url": f"{site.shop_url}nowhere"}),
        }


class TestFeed(ActorContract):
    actor = FeedActor

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": f"{site.feeds_url}rss.xml", "max_items": 3}

    @pytest.fixture
    def failures(
        self, site: FakeServer, agentic_site: Site, forget: Callable[[str], Callable[[], None]]
    ) -> Failures:
        agentic_site.serve("/feed", "<rss version='2.0'><channel><title>Quiet</title></channel></rss>")
        return {
            "decode": Failing(given={"url": site.shop_url}),
            "empty": Failing(given={"url": f"{agentic_site.url}/feed", "required": True}),
            "error": Failing(given={"url": f"{site.feeds_url}rss.xml"}, before=forget("fastfeedparser")),
        }


class TestRobotsCheck(ActorContract):
    actor = RobotsCheckActor

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": f"{site.shop_url}private/orders"}

    @pytest.fixture
    def failures(self, site: FakeServer) -> Failures:
        return {"robots_denied": Failing(given={"url": f"{site.shop_url}private/orders", "required": True})}


class TestSearch(ActorContract):
    actor = SearchActor
    volatile = frozenset({"page.fetched_at"})

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url_template": f"{site.shop_url}search?q={{query}}", "keywords": "a", "item_selector": "a"}

    @pytest.fixture
    def failures(self, site: FakeServer) -> Failures:
        template = f"{site.shop_url}search?q={{query}}"
        described = f"<link rel=search type=application/opensearchdescription+xml href={site.shop_url}>"
        return {
            **unread(keywords="a"),
            "decode": Failing(given={"page": page(described), "keywords": "a"}),
            "empty": Failing(
                given={"url_template": template, "keywords": "xyzzy", "item_selector": "a.product"}
            ),
            "reference": Failing(given={"keywords": "a"}),
            "selector_missing": Failing(given={"page": page(), "keywords": "a"}),
        }


class TestSitemap(ActorContract):
    actor = SitemapActor

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"urls": [f"{site.news_url}sitemap-news.xml"], "max_urls": 3}

    @pytest.fixture
    def failures(self, site: FakeServer) -> Failures:
        return {
            "decode": Failing(given={"urls": [site.shop_url]}),
            "empty": Failing(given={"required": True}),
        }


class TestWebhook(ActorContract):
    actor = WebhookActor
    volatile = frozenset({"delivery"})

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": f"{site.sink_url}contract", "payload": {"items": [1]}, "secret": "s3cret"}


class TestAuthenticate(ActorContract):
    actor = AuthenticateActor

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"platform": "jobs", "login": {"strategy": "form", **self.form(site)}}

    @pytest.fixture
    def failures(self, site: FakeServer) -> Failures:
        wrong: Config = {"session_key": USERNAME, "session_password": "wrong"}
        expired: Config = {"name": "a", "value": "b", "domain": "jobs.example", "path": "/", "expires": 1}
        logins: dict[str, Config] = {
            "auth_required": {"strategy": "form", **self.form(site), "fields": wrong},
            "auth_expired": {"strategy": "cookies", "cookies": json.dumps([expired])},
            "selector_missing": {"strategy": "form", **self.form(site), "form_selector": "#nowhere"},
            "schema_invalid": {"strategy": "cookies", "cookies": "no cookies"},
        }
        return {word: Failing(given={"platform": "jobs", "login": login}) for word, login in logins.items()}

    def form(self, site: FakeServer) -> Config:
        fields: Config = {"session_key": USERNAME, "session_password": PASSWORD}
        return {"login_url": f"{site.jobs_url}login", "fields": fields}


class CaptureContract(ActorContract):
    """Of the actors that show pages; the browser itself has tests of its own."""

    @pytest.fixture
    def ctx(self, loopback: ActorContext, tmp_path: Path) -> ActorContext:
        return showing(loopback, ScriptedBrowser(), tmp_path)

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": site.shop_url}

    @pytest.fixture
    def failures(self, site: FakeServer, ctx: ActorContext, tmp_path: Path) -> Failures:
        def by(failure_class: FailureClass) -> Failing:
            browser = ScriptedBrowser(failure_class)
            return Failing(given={"url": site.shop_url}, ctx=showing(ctx, browser, tmp_path))

        return {
            "browser_crashed": by(FailureClass.BROWSER_CRASHED),
            "selector_missing": by(FailureClass.SELECTOR_MISSING),
        }


def showing(ctx: ActorContext, browser: ScriptedBrowser, folder: Path) -> ActorContext:
    return replace(ctx, pages=BrowserFetcher(ctx.http, browser), files=FolderFiles(folder, "run"))


class TestPdf(CaptureContract):
    actor = PdfActor


class TestScreenshot(CaptureContract):
    actor = ScreenshotActor
