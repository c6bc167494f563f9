"""The actors of the web keep what every actor promises."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Eventually
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.browser.killing import KilledBrowser

from agentic.core.actors import ActorContext, failure_class_of
from agentic.core.actors.failures import OF_THE_NETWORK, is_among
from agentic.core.browser import Browser, BrowserFetcher, BrowserRequest, Politeness, RenderedPage
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.core.services import free_port
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.agents.files import FolderFiles
from agentic.executors.browser import PlaywrightBrowser
from agentic.executors.testing import ActorContract, Failing, Site
from agentic.fakes.jobs.credentials import PASSWORD, USERNAME
from agentic.fakes.server import FakeServer
from agentic.plugins.web.actors.article import ArticleActor
from agentic.plugins.web.actors.authenticate import AuthenticateActor
from agentic.plugins.web.actors.capture import PdfActor, ScreenshotActor
from agentic.plugins.web.actors.diff import DiffActor
from agentic.plugins.web.actors.download import DownloadActor
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.actors.extract_list import ExtractListActor
from agentic.plugins.web.actors.feed import FeedActor
from agentic.plugins.web.actors.fetch import FetchActor
from agentic.plugins.web.actors.json_items import JsonActor
from agentic.plugins.web.actors.page_contents import PageContentsActor
from agentic.plugins.web.actors.page_files import PageFilesActor
from agentic.plugins.web.actors.robots_check import RobotsCheckActor
from agentic.plugins.web.actors.search import SearchActor
from agentic.plugins.web.actors.sitemap import SitemapActor
from agentic.plugins.web.actors.structured_data import StructuredDataActor
from agentic.plugins.web.actors.webhook import WebhookActor

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


@pytest.fixture
async def browser() -> AsyncIterator[PlaywrightBrowser]:
    """Give a real browser; it starts with the first page."""
    async with PlaywrightBrowser(load_settings()) as made:
        yield made


@pytest.fixture
def killed(
    browser: PlaywrightBrowser,
    site: FakeServer,
    loopback: ActorContext,
    tmp_path: Path,
    eventually: Eventually,
) -> Callable[[str], ActorContext]:
    """Return what may be used where a real browser is killed while it shows the page at a path."""

    def killing(path: str) -> ActorContext:
        require_browser()
        return showing(loopback, KilledBrowser(browser, lambda: asked(site, path), eventually), tmp_path)

    return killing


def asked(site: FakeServer, path: str) -> int:
    """Return how often a path was asked for."""
    requests = site.control.stats()["requests"]
    assert isinstance(requests, dict)
    return int(str(requests.get(path, 0)))


class ScriptedBrowser:
    """Shows one page."""

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
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


class TestDownload(ActorContract):
    actor = DownloadActor

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": f"{site.shop_url}product/1", "folder": "memory://contract"}

    @pytest.fixture
    def ctx(self, loopback: ActorContext, tmp_path: Path) -> ActorContext:
        return replace(loopback, files=FolderFiles(tmp_path, "run"))

    @pytest.fixture
    def failures(self, site: FakeServer) -> Failures:
        url = f"{site.shop_url}product/1"
        return {
            "error": Failing(given={"url": url, "folder": "../up"}),
            "wrong_type": Failing(given={"url": url, "types": ["image/*"]}),
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
            "decode": Failing(
                given={
                    "page": page("<p>", content_type="application/json"),
                    "schema": {"title": {"json": "a"}},
                }
            ),
        }


class TestExtractList(ActorContract):
    actor = ExtractListActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page(), "item_selector": "li", "fields": {"price": "b"}}

    @pytest.fixture
    def failures(self) -> Failures:
        prices: Config = {"price": {"selector": "b", "type": "number", "required": True}}
        return {
            **unread(item_selector="li"),
            "selector_missing": Failing(given={"page": page(), "item_selector": "td", "required": True}),
            "schema_invalid": Failing(given={"page": page(), "item_selector": "li", "fields": prices}),
        }


class TestJson(ActorContract):
    actor = JsonActor

    @pytest.fixture
    def given(self) -> Config:
        return {
            "page": page('{"a": [{"b": 1}]}', content_type="application/json"),
            "items": "a",
            "fields": {"b": "b"},
        }

    @pytest.fixture
    def failures(self) -> Failures:
        answer = page('{"a": [{"b": "x"}]}', content_type="application/json")
        numbers: Config = {"b": {"json": "b", "type": "number", "required": True}}
        return {
            **unread(script="__STATE__"),
            "decode": Failing(given={"page": page()}),
            "reference": Failing(given={}),
            "schema_invalid": Failing(given={"page": answer, "items": "a", "fields": numbers}),
            "selector_missing": Failing(given={"page": answer, "items": "c", "required": True}),
        }


class TestPageContents(ActorContract):
    actor = PageContentsActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page(), "links": True, "text": True, "markdown": True, "html": True}

    @pytest.fixture
    def failures(self) -> Failures:
        return {"too_large": Failing(given={"page": page(DEEP), "links": True})}


class TestPageFiles(ActorContract):
    actor = PageFilesActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page("<img srcset='/a.png 1x, /b.png 2x'><a href=/c.pdf>"), "select": "img, a"}

    @pytest.fixture
    def failures(self) -> Failures:
        return unread(select="img")


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
    async def obedient(self) -> AsyncIterator[ActorContext]:
        """Give what obeys robots.txt, and takes little."""
        policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), max_bytes=100_000)
        async with open_fetcher(policy) as fetcher:
            yield ActorContext(http=fetcher)

    @pytest.fixture
    def failures(
        self,
        site: FakeServer,
        agentic_site: Site,
        obedient: ActorContext,
        killed: Callable[[str], ActorContext],
    ) -> Failures:
        agentic_site.serve("/packed", bytes(range(1, 200)), headers={"content-encoding": "gzip"})
        hostile = {
            "auth_required": "status/401",
            "blocked": "challenge/captcha",
            "gone": "status/410",
            "http_404": "status/404",
            "http_503": "status/503",
            "invalid_url": "to?url=file%3A%2F%2F%2Fetc%2Fpasswd",
            "private_address": "to?url=http%3A%2F%2F127.0.0.2%2F",
            "too_many_redirects": "loop",
        }
        return {
            **{word: Failing(given={"url": f"{site.hostile_url}{path}"}) for word, path in hostile.items()},
            "browser_crashed": Failing(
                given={"url": f"{site.shop_url}product/1", "mode": "browser"}, ctx=killed("/shop/product/1")
            ),
            "connect": Failing(given={"url": f"http://127.0.0.1:{free_port()}/"}),
            "decode": Failing(given={"url": f"{agentic_site.url}/packed"}),
            "dns": Failing(given={"url": "http://nowhere.invalid/"}),
            "robots_denied": Failing(given={"url": f"{site.shop_url}private/orders"}, ctx=obedient),
            "selector_missing": Failing(given={"url": site.shop_url, "wait_for": "table.none"}),
            "timeout": Failing(given={"url": f"{site.hostile_url}slow", "timeout_s": 0.2}),
            "tls": Failing(given={"url": site.shop_url.replace("http:", "https:")}),
            "too_large": Failing(given={"url": f"{site.hostile_url}huge?mib=1"}, ctx=obedient),
            "rate_limited": Failing(
                given={"url": f"{site.hostile_url}status/429"}
            ),  # the last: hosts rest then
        }

    async def test_each_failure_of_the_network_is_made(self, ctx: ActorContext, failures: Failures) -> None:
        ended = {"auth_expired"}  # that of a login: see test_authenticate.py
        assert {word for word in OF_THE_NETWORK - ended if not is_shown(word, failures)} == set()
        made = {word: failure_class_of(await self._failure(ctx, how)) for word, how in failures.items()}
        assert made == {word: word for word in failures}


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
    def failures(self, site: FakeServer, killed: Callable[[str], ActorContext]) -> Failures:
        wrong: Config = {"session_key": USERNAME, "session_password": "wrong"}
        expired: Config = {"name": "a", "value": "b", "domain": "jobs.example", "path": "/", "expires": 1}
        logins: dict[str, Config] = {
            "auth_required": {"strategy": "form", **self.form(site), "fields": wrong},
            "auth_expired": {"strategy": "cookies", "cookies": json.dumps([expired])},
            "selector_missing": {"strategy": "form", **self.form(site), "form_selector": "#nowhere"},
            "schema_invalid": {"strategy": "cookies", "cookies": "no cookies"},
        }
        shown: Config = {"strategy": "form", **self.form(site), "via": "browser"}
        return {
            **{word: Failing(given={"platform": "jobs", "login": login}) for word, login in logins.items()},
            "browser_crashed": Failing(given={"platform": "jobs", "login": shown}, ctx=killed("/jobs/login")),
        }

    def test_a_browser_is_needed_by_forms_that_want_one_alone(self, site: FakeServer) -> None:
        plain: Config = {"strategy": "form", **self.form(site)}
        assert self.actor.needs({"login": plain}) == {"network"}
        assert self.actor.needs({"platform": "jobs"}) == {"network"}
        assert self.actor.needs({"login": {**plain, "via": "browser"}}) == {"browser", "network"}

    def form(self, site: FakeServer) -> Config:
        fields: Config = {"session_key": USERNAME, "session_password": PASSWORD}
        return {"login_url": f"{site.jobs_url}login", "fields": fields}


class CaptureContract(ActorContract):
    """Of the actors that show pages; what they show is looked at in test_page_specs.py."""

    @pytest.fixture
    def ctx(self, loopback: ActorContext, tmp_path: Path) -> ActorContext:
        return showing(loopback, ScriptedBrowser(), tmp_path)

    @pytest.fixture
    def given(self, site: FakeServer) -> Config:
        return {"url": site.shop_url}

    @pytest.fixture
    def failures(
        self,
        site: FakeServer,
        loopback: ActorContext,
        browser: PlaywrightBrowser,
        killed: Callable[[str], ActorContext],
        tmp_path: Path,
    ) -> Failures:
        url = f"{site.shop_url}product/1"
        return {
            "browser_crashed": Failing(given={"url": url}, ctx=killed("/shop/product/1")),
            "selector_missing": Failing(
                given={"url": url, "wait_for": "table.none", "timeout_s": 2},
                ctx=showing(loopback, browser, tmp_path),
            ),
        }


def is_shown(word: str, failures: Failures) -> bool:
    """Tell whether there is a case of that class, or of one of that family."""
    return word in failures or any(is_among(found, {word}) for found in failures)


def showing(ctx: ActorContext, browser: Browser, folder: Path) -> ActorContext:
    return replace(ctx, pages=BrowserFetcher(ctx.http, browser), files=FolderFiles(folder, "run"))


@pytest.mark.slow
class TestPdf(CaptureContract):
    actor = PdfActor


class TestScreenshot(CaptureContract):
    actor = ScreenshotActor
