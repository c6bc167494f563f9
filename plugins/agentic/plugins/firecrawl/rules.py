"""What a crawl, a map and a search can be told, besides how pages are fetched."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveFloat, PositiveInt

Source = Literal["web", "news", "images"]


class SitemapRule(BaseModel):
    """What sitemaps are for."""

    sitemap: Literal["include", "skip", "only"] = Field(
        default="include", description="Whether URLs are taken from sitemaps, too, or from nowhere else."
    )


class CrawlRules(SitemapRule):
    """Which links a crawl follows, and how fast."""

    max_depth: NonNegativeInt | None = Field(default=None, description="Links away from the first page.")
    include_paths: tuple[str, ...] = Field(
        default=(), description="Regular expressions: only paths that one of them is found in."
    )
    exclude_paths: tuple[str, ...] = Field(default=(), description="The same; no path that one is found in.")
    entire_domain: bool = Field(default=False, description="Pages beside and above the first one, too.")
    allow_subdomains: bool = False
    allow_external_links: bool = False
    ignore_query_parameters: bool = Field(default=False, description="One page for all queries of a path.")
    delay_s: PositiveInt | None = Field(default=None, description="Between two pages, one at a time.")
    max_parallel: PositiveInt | None = Field(default=None, description="Pages at a time.")
    deadline_s: PositiveFloat = Field(
        default=3_600, description="A crawl that takes longer is cancelled, and fails with timeout."
    )


class MapRules(SitemapRule):
    """Which URLs of a site a map lists."""

    search: str | None = Field(default=None, min_length=1, description="Only URLs that are about it.")
    include_subdomains: bool = False


class SearchRules(BaseModel):
    """Where a search looks, and whether it fetches what it finds."""

    sources: tuple[Source, ...] = Field(default=("web",), min_length=1)
    location: str | None = Field(default=None, min_length=1, description='"Berlin, Germany".')
    since: str | None = Field(
        default=None, min_length=1, description="qdr:h, qdr:d, qdr:w, qdr:m or qdr:y: the last hour to year."
    )
    scrape: bool = Field(default=False, description="Fetch each result, too; each costs what a page costs.")
