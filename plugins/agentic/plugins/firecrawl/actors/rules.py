"""Options of a crawl, a map and a search, besides the options for fetching pages."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveFloat, PositiveInt

Source = Literal["web", "news", "images"]


class SitemapRule(BaseModel):
    """What sitemaps are for."""

    sitemap: Literal["include", "skip", "only"] = Field(
        default="include", description="Use of sitemaps: also, only, or not."
    )


class CrawlRules(SitemapRule):
    """Which links a crawl follows, and how fast."""

    max_depth: NonNegativeInt | None = Field(
        default=None, description="Maximum number of links from the first page."
    )
    include_paths: tuple[str, ...] = Field(
        default=(), description="Regular expressions; a path must match one of them."
    )
    exclude_paths: tuple[str, ...] = Field(
        default=(), description="Regular expressions; a path may match none of them."
    )
    entire_domain: bool = Field(default=False, description="Also pages outside the path of the first one.")
    allow_subdomains: bool = False
    allow_external_links: bool = False
    ignore_query_parameters: bool = Field(
        default=False, description="Ignore query strings: one page per path."
    )
    delay_s: PositiveInt | None = Field(
        default=None, description="Pause between pages, fetched one at a time."
    )
    max_parallel: PositiveInt | None = Field(default=None, description="Concurrent pages.")
    deadline_s: PositiveFloat = Field(
        default=3_600, description="A longer crawl is cancelled and fails with timeout."
    )


class MapRules(SitemapRule):
    """Which URLs of a site a map lists."""

    search: str | None = Field(default=None, min_length=1, description="Only URLs that match this search.")
    include_subdomains: bool = False


class SearchRules(BaseModel):
    """Where a search looks, and whether it fetches what it finds."""

    sources: tuple[Source, ...] = Field(default=("web",), min_length=1)
    location: str | None = Field(default=None, min_length=1, description='"Berlin, Germany".')
    since: str | None = Field(
        default=None, min_length=1, description="qdr:h, qdr:d, qdr:w, qdr:m or qdr:y: the last hour to year."
    )
    scrape: bool = Field(default=False, description="Also fetch each result; each costs as much as a page.")
