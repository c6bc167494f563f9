"""From sitemap to sitemap, over a site in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, FetchError, Headers, HttpPolicy, HttpRequest, HttpResponse
from agentic.plugins.web.actors import sitemap
from agentic.plugins.web.actors.sitemap import SitemapActor, SitemapInput

SITE = "http://a.example"


def index(*names: str) -> str:
    listed = "".join(f"<sitemap><loc>{SITE}/{name}</loc></sitemap>" for name in names)
    return f"<sitemapindex>{listed}</sitemapindex>"


def urls(*names: str, lastmod: str = "") -> str:
    changed = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return (
        "<urlset>" + "".join(f"<url><loc>{SITE}/{name}</loc>{changed}</url>" for name in names) + "</urlset>"
    )


class Site:
    """Answers what it has, and 404."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        name = request.url.removeprefix(f"{SITE}/").removeprefix("http://a.example:80/")
        self.asked.append(name)
        body = self.pages.get(name)
        return HttpResponse(
            url=request.url,
            status=404 if body is None else 200,
            headers=Headers(),
            body=(body or "").encode(),
        )


async def read(site: Site, **given: Any) -> Any:
    ctx = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), site))
    chosen = {"urls": [f"{SITE}/s"]} if "sites" not in given else {}
    return await SitemapActor().run(ctx, SitemapInput.model_validate({**chosen, **given}))


async def test_indexes_are_followed_and_each_page_is_there_once() -> None:
    site = Site({"s": index("a", "b"), "a": urls("1", "2"), "b": urls("2#x", "3?utm_source=s")})
    found = await read(site)
    assert found.list_item_urls == (f"{SITE}/1", f"{SITE}/2", f"{SITE}/3?utm_source=s")


async def test_indexes_that_lead_to_each_other_are_read_once() -> None:
    site = Site({"s": index("t", "s"), "t": index("s", "a"), "a": urls("1")})
    assert (await read(site)).list_item_urls == (f"{SITE}/1",)
    assert site.asked == ["s", "t", "a"]


async def test_indexes_of_indexes_are_followed_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MAX_DEPTH", 2)
    site = Site({"s": index("1"), "1": index("2"), "2": index("3"), "3": urls("page")})
    assert (await read(site)).list_item_urls == ()
    assert site.asked == ["s", "1", "2"]


async def test_so_many_sitemaps_are_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MAX_SITEMAPS", 4)
    site = Site({"s": index(*map(str, range(100)))})
    assert len((await read(site, required=False, sites=[], urls=[f"{SITE}/s"])).failed) == 3


async def test_no_more_is_read_than_is_wanted() -> None:
    site = Site({"s": index("a", "b"), "a": urls("1", "2", "3"), "b": urls("4")})
    assert (await read(site, max_urls=2)).list_item_urls == (f"{SITE}/1", f"{SITE}/2")
    assert site.asked == ["s", "a"]


async def test_what_has_not_changed_since_is_left_out() -> None:
    site = Site({"s": index("old", "new", "unknown")})
    site.pages = {
        **site.pages,
        "old": urls("1", lastmod="2026-10-30"),
        "new": urls("2", lastmod="2026-10-31T10:00:00+02:00"),
        "unknown": urls("3"),
    }
    found = await read(site, since="2026-10-31")
    assert found.list_item_urls == (f"{SITE}/2", f"{SITE}/3")
    assert found.entries[0].lastmod == "2026-10-31T10:00:00+02:00"


async def test_a_sitemap_that_fails_is_listed_and_the_others_are_read() -> None:
    site = Site({"s": index("gone", "cut", "a"), "cut": "<urlset><url><loc>/2</loc></url>", "a": urls("1")})
    found = await read(site)
    assert found.list_item_urls == (f"{SITE}/2", f"{SITE}/1")
    assert [(one.url, one.failure_class) for one in found.failed] == [
        (f"{SITE}/gone", "http_404"),
        (f"{SITE}/cut", "decode"),
    ]


async def test_a_sitemap_that_was_named_and_fails_is_a_failure() -> None:
    with pytest.raises(FetchError) as missing:
        await read(Site({}))
    with pytest.raises(ActorError, match="its root is <html>") as wrong:
        await read(Site({"s": "<html><p>hi</p></html>"}))
    assert (missing.value.failure_class, wrong.value.failure_class) == ("http_404", "decode")


async def test_a_site_without_sitemaps_is_none() -> None:
    site = Site({})
    assert (await read(site, sites=[f"{SITE}/page/1"])).list_item_urls == ()
    assert site.asked == ["robots.txt", "sitemap.xml"]


async def test_that_no_page_is_listed_can_be_a_failure() -> None:
    with pytest.raises(ActorError, match=r"no sitemap of http://a\.example/s lists a page") as caught:
        await read(Site({"s": urls()}), required=True)
    assert caught.value.failure_class == "empty"


async def peak_bytes_of(sitemaps: int, pages: int) -> int:
    """Return the most memory that reading so many sitemaps takes at a time."""
    listed = urls(*(f"{'x' * 80}/{number}" for number in range(pages)))
    site = Site({"s": index(*(f"{number}" for number in range(sitemaps)))})
    site.pages = {**site.pages, **dict.fromkeys(map(str, range(sitemaps)), listed)}
    ctx = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), site))
    tracemalloc.start()
    found = 0
    async for piece in SitemapActor().pieces(ctx, SitemapInput(urls=(f"{SITE}/s",))):
        found += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == sitemaps * pages
    return peak


async def test_reading_in_pieces_takes_no_more_memory_for_more_sitemaps() -> None:
    assert await peak_bytes_of(20, 1_000) < 3 * await peak_bytes_of(2, 1_000)  # ten times, if all are kept


async def test_reading_in_pieces_takes_no_more_memory_for_a_longer_sitemap_than_its_text() -> None:
    short, long = await peak_bytes_of(1, 2_000), await peak_bytes_of(1, 10_000)
    text_bytes = len(urls("x" * 80 + "/1000")) * 10_000
    assert long - short < 2.5 * text_bytes


async def test_what_is_named_and_cannot_be_read_fails_in_pieces_too() -> None:
    ctx = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), Site({})))
    with pytest.raises(FetchError) as caught:
        await anext(SitemapActor().pieces(ctx, SitemapInput(urls=(f"{SITE}/s",))))
    assert caught.value.failure_class == "http_404"
