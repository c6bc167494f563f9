"""The pages of a site that a search for repairs looks at, each fetched once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol
from urllib.parse import urljoin

from turbohtml import parse

from agentic.core.actors import Page
from agentic.core.pipeline.repairs.start_pages import StartSight, is_home
from agentic.core.pipeline.repairs.stored_rows import KnownRows
from agentic.core.reading.json_text import parse_json
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree

MAX_PAGES = 40
"""Pages that a search fetches at most."""

MAX_ROW_PAGES = 3
"""Pages of stored rows whose links are read."""


@dataclass(frozen=True)
class SeenPage:
    """The answer for an address.

    Attributes:
        url: As asked for.
        status: Of the answer; None without one.
        page: The page; None if the answer was an error.
        fault: The error in words; empty without one.
    """

    url: str
    status: int | None
    page: Page | None = None
    fault: str = ""

    @property
    def final_url(self) -> str:
        """The address after redirects."""
        return self.page.final_url if self.page is not None else self.url

    @cached_property
    def tree(self) -> PageTree | None:
        """Its elements; None if it is not HTML."""
        if self.page is None or not self.page.is_html:
            return None
        return PageTree(parse(self.page.text, positions=False), self.page.final_url)

    @cached_property
    def data(self) -> JSONValue:
        """Its data; None if it is not JSON."""
        try:
            return parse_json(self.page.text) if self.page is not None else None
        except ValueError:
            return None

    @property
    def sight(self) -> StartSight:
        """As a start page."""
        text = self.page.text if self.page is not None else ""
        return StartSight(self.url, self.final_url, self.status, text)


class PageSource(Protocol):
    """Fetches pages."""

    async def page(self, url: str) -> SeenPage:
        """Return the answer for an address, an error status included."""
        ...

    async def sitemap(self, url: str) -> Sequence[str]:
        """Return the addresses in the maps of a page's site; none without a map."""
        ...


class SiteView:
    """The pages that a search has seen.

    Args:
        source: Fetches pages.
        rows: Of earlier runs.
        seen: Answers that are known.
    """

    def __init__(
        self, source: PageSource, rows: Sequence[Mapping[str, JSONValue]], seen: Sequence[SeenPage] = ()
    ) -> None:
        self.stored = rows
        self._source = source
        self._seen = {one.url: one for one in seen}
        self._maps: dict[str, Sequence[str]] = {}
        self._known: KnownRows | None = None

    async def see(self, url: str) -> SeenPage:
        """Return the answer for an address; beyond 40 pages an empty one."""
        if url not in self._seen:
            if len(self._seen) >= MAX_PAGES:
                return SeenPage(url, None)
            self._seen[url] = await self._source.page(url)
        return self._seen[url]

    async def see_again(self, url: str) -> SeenPage:
        """Return another answer for an address."""
        return await self._source.page(url)

    async def sitemap(self, url: str) -> Sequence[str]:
        """Return the addresses in the maps of a page's site."""
        home = home_of(url)
        if home not in self._maps:
            self._maps[home] = await self._source.sitemap(home)
        return self._maps[home]

    async def row_pages(self) -> list[SeenPage]:
        """Return the pages of some stored rows."""
        urls = [str(row["url"]) for row in self.stored if str(row.get("url", "")).startswith("http")]
        return [await self.see(url) for url in urls[:MAX_ROW_PAGES]]

    async def rows(self) -> KnownRows:
        """Return the stored rows with the present addresses of their pages."""
        if self._known is None:
            moved = {
                seen.url: seen.final_url
                for seen in await self.row_pages()
                if seen.page is not None and seen.final_url != seen.url and not is_home(seen.final_url)
            }
            self._known = KnownRows(self.stored, moved)
        return self._known


def home_of(url: str) -> str:
    """Return the address of the home page of a site."""
    return urljoin(url, "/")
