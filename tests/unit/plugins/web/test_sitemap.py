"""From sitemap to sitemap, over a site in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

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


async def read(site: Site, warnings: list[str] | None = None, **given: Any) -> Any:
    warn = (lambda _: None) if warnings is None else warnings.append
    ctx = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), site), warn=warn)
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
    warnings: list[str] = []
    assert (await read(site, warnings)).list_item_urls == ()
    assert site.asked == ["s", "1", "2"]
    assert [text for text in warnings if text.startswith("1 sitemaps were left out")]


async def test_so_many_sitemaps_are_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MAX_SITEMAPS", 4)
    site = Site({"s": index(*map(str, range(100)))})
    warnings: list[str] = []
    assert len((await read(site, warnings, required=False, sites=[], urls=[f"{SITE}/s"])).failed) == 3
    assert [text for text in warnings if text.startswith("97 sitemaps were left out")]


async def test_no_more_is_read_than_is_wanted() -> None:
    site = Site({"s": index("a", "b"), "a": urls("1", "2", "3"), "b": urls("4")})
    warnings: list[str] = []
    assert (await read(site, warnings, max_urls=2)).list_item_urls == (f"{SITE}/1", f"{SITE}/2")
    assert site.asked == ["s", "a"]
    assert "the sitemaps list more than 2 pages" in warnings[0]
    assert len((await read(site, warnings, max_urls=4)).list_item_urls) == 4
    assert len(warnings) == 1


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


async def test_a_sitemap_with_a_fault_does_not_cost_the_others() -> None:
    site = Site({"s": index(*map(str, range(32)))})
    site.pages = {**site.pages, **{str(n): urls(f"p{n}") for n in range(32)}, "7": "<urlset><url><loc>"}
    found = await read(site)
    assert len(found.list_item_urls) == 31
    assert [(one.url, one.failure_class) for one in found.failed] == [(f"{SITE}/7", "decode")]


async def test_the_rest_of_a_broken_sitemap_counts_and_the_message_says_so() -> None:
    found = await read(Site({"s": urls("1", "2", "3").replace("</loc></url><url>", "<url>", 1)}))
    assert found.list_item_urls == (f"{SITE}/1", f"{SITE}/2", f"{SITE}/3")
    assert "the 3 entries that could be read count" in found.failed[0].message


async def test_a_repaired_sitemap_is_a_warning_and_no_failure() -> None:
    with capture_logs() as logs:
        found = await read(Site({"s": "\n" + urls("1", "2?a=1&b=2")}))
    assert found.list_item_urls == (f"{SITE}/1", f"{SITE}/2?a=1&b=2")
    assert found.failed == ()
    assert [(entry["event"], entry["repairs"]) for entry in logs] == [
        ("sitemap.repaired", ("a raw & was replaced",))
    ]


async def test_relative_addresses_are_those_of_the_sitemap() -> None:
    site = Site({"s": "<urlset><url><loc>/1</loc></url><url><loc>2</loc></url></urlset>"})
    assert (await read(site)).list_item_urls == (f"{SITE}/1", f"{SITE}/2")


async def test_entries_that_cannot_be_fetched_are_a_warning() -> None:
    warned: list[str] = []
    site = Site({"s": "<urlset><url><loc>mailto:a@b</loc></url><url/><url><loc>/1</loc></url></urlset>"})
    ctx = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), site), warn=warned.append)
    await SitemapActor().run(ctx, SitemapInput(urls=(f"{SITE}/s",)))
    assert warned == [f"2 entries of {SITE}/s have no address that can be fetched"]


async def test_a_sitemap_that_robots_txt_names_by_its_path_is_read() -> None:
    site = Site({"robots.txt": "Sitemap: /s.xml", "s.xml": urls("1")})
    assert (await read(site, sites=[SITE])).list_item_urls == (f"{SITE}/1",)


@pytest.mark.parametrize("answer", [None, "<!doctype html><p>Not found", "<html><body>hi</body></html>"])
async def test_a_sitemap_that_was_only_guessed_need_not_exist(answer: str | None) -> None:
    site = Site({} if answer is None else {"sitemap.xml": answer})
    assert (await read(site, sites=[SITE])).failed == ()
    named = Site({**site.pages, "robots.txt": f"Sitemap: {SITE}/sitemap.xml"})
    assert [one.url for one in (await read(named, sites=[SITE])).failed] == [f"{SITE}/sitemap.xml"]


async def test_a_sitemap_of_an_index_is_retried_by_the_rules_and_the_failure_is_reported() -> None:
    site = Site({"s": index("a", "gone"), "a": urls("1")})
    retried: list[str] = []
    failed: list[str] = []

    async def twice(url: str, work: Callable[[], Awaitable[None]]) -> None:
        retried.append(url.removeprefix(f"{SITE}/"))
        try:
            await work()
        except FetchError:
            await work()

    ctx = ActorContext(
        http=Fetcher(HttpPolicy(obey_robots=False), site),
        retry=twice,
        part_failed=lambda url, _: failed.append(url),
    )
    given = SitemapInput(urls=(f"{SITE}/s",))
    assert [url async for piece in SitemapActor().pieces(ctx, given) for url in piece] == [f"{SITE}/1"]
    assert retried == ["s", "a", "gone"]
    assert site.asked == ["s", "a", "gone", "gone"]
    assert failed == [f"{SITE}/gone"]
    retried.clear()
    await SitemapActor().run(ctx, given)
    assert retried == ["a", "gone"]  # the step itself repeats the first


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
