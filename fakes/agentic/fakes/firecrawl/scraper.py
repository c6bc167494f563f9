"""What the API does for its credits: scrape one page, map a site, search."""

from __future__ import annotations

from collections.abc import Iterable
from re import findall
from urllib.parse import urlencode, urlsplit, urlunsplit
from uuid import NAMESPACE_URL, uuid5

from protego import Protego
from turbohtml import parse

from agentic.core.types import JSONValue
from agentic.fakes.firecrawl.account import Account
from agentic.fakes.firecrawl.convert import document_of, links_of
from agentic.fakes.firecrawl.errors import RefusalError
from agentic.fakes.firecrawl.fetching import AGENT, Fetched, Fetching
from agentic.fakes.firecrawl.requests import MapRequest, ScrapeOptions, SearchRequest

TIMEOUT_S = 30.0
SEARCH_CREDITS = 2
SEARCH_RESULTS = 10


class Scraper:
    """Works for one client of ``account``, with the pages ``fetching`` gets."""

    def __init__(self, fetching: Fetching, account: Account) -> None:
        self._fetching = fetching
        self._account = account

    async def scrape(self, url: str, options: ScrapeOptions) -> tuple[dict[str, JSONValue], list[str]]:
        """Return the document for ``url`` and the links of the page; it is paid for even if the site refused.

        Raises:
            RefusalError: There is no document, and nothing to pay.
        """
        address = whole_url(url)
        fetched = await self._fetching.get(address, options.headers, options.timeout / 1_000)
        self._account.charge(options.credits_count)
        scrape_id = str(uuid5(NAMESPACE_URL, f"{address} {self._account.credits}"))
        is_html = "html" in fetched.content_type and fetched.status < 400
        links = links_of(bytes(fetched.body), fetched.url) if is_html else []
        return document_of(fetched, url, options, scrape_id), links

    async def robots(self, url: str) -> Protego:
        """Return the rules of the site of ``url``."""
        rules = await self._read(urlunsplit((*urlsplit(url)[:2], "/robots.txt", "", "")))
        return Protego.parse(rules.body.decode("utf-8", "replace"))

    async def sitemap_urls(self, url: str) -> list[str]:
        """Return the pages below ``url`` that sitemaps of its site name, as far as these are plain XML."""
        rules = await self.robots(url)
        found: list[str] = []
        for sitemap in rules.sitemaps:
            read = await self._read(sitemap)
            found += findall(r"<loc>([^<]+)</loc>", read.body.decode("utf-8", "replace"))
        return [one for one in found if one.startswith(url) and not one.endswith((".xml", ".gz", ".txt"))]

    async def map(self, request: MapRequest) -> list[JSONValue]:
        """Return the links of a site: from its sitemaps, and from the page itself."""
        url = whole_url(request.url)
        found = [] if request.sitemap == "skip" else await self.sitemap_urls(url)
        if request.sitemap != "only":
            page = await self._read(url)
            found += [link for link in links_of(bytes(page.body), page.url) if _is_near(link, url)]
        self._account.charge(1)
        if request.ignore_query_parameters:
            found = [link.partition("?")[0] for link in found]
        wanted = (link for link in dict.fromkeys(found) if request.search.casefold() in link.casefold())
        return [{"url": link} for link in [*wanted][: request.limit]]

    async def search(self, request: SearchRequest) -> dict[str, JSONValue]:
        """Return what the shop has for the query, as results of the web; other sources know nothing."""
        names = {str(one.get("type")) if isinstance(one, dict) else one for one in request.sources}
        data: dict[str, JSONValue] = {name: [] for name in sorted(names)}
        if "web" in names:
            data["web"] = await self._web(request)
        return data

    async def _web(self, request: SearchRequest) -> list[JSONValue]:
        query = urlencode({"q": request.query})
        page = await self._read(f"http://{self._fetching.netloc}/shop/search?{query}")
        results = _results(page)[: request.limit]
        self._account.charge(SEARCH_CREDITS * -(-len(results) // SEARCH_RESULTS))
        if request.scrape_options is None:
            return [{**result, "position": place} for place, result in enumerate(results, 1)]
        return [
            {**result, **(await self.scrape(result["url"], request.scrape_options))[0]} for result in results
        ]

    async def _read(self, url: str) -> Fetched:
        return await self._fetching.get(url, {}, TIMEOUT_S)


def whole_url(url: str) -> str:
    """Return ``url`` with a scheme.

    Raises:
        RefusalError: It is no URL of the web.
    """
    whole = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(whole)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RefusalError(400, f"Bad Request: {url!r} is not a valid URL", "BAD_REQUEST")
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", parts.query, ""))


def may_fetch(rules: Protego, url: str) -> bool:
    """Tell whether robots.txt lets Firecrawl fetch ``url``."""
    return bool(rules.can_fetch(url, AGENT))


def _is_near(link: str, url: str) -> bool:
    return urlsplit(link).netloc == urlsplit(url).netloc


def _results(page: Fetched) -> list[dict[str, str]]:
    nodes: Iterable[tuple[str, str]] = zip(
        (node.text.strip() for node in parse(bytes(page.body)).select("a.product")),
        [link for link in links_of(bytes(page.body), page.url) if "/product/" in link],
        strict=True,
    )
    return [{"url": url, "title": title, "description": f"{title} at The Small Shop"} for title, url in nodes]
