"""Firecrawl, a service that fetches pages for others: actors that let it scrape, crawl, map and search, and a
platform whose agents do one of these into tables of their own.

``firecrawl_scrape`` takes what ``fetch`` takes and gives what it gives, so that it can stand in where a site
refuses us. All of them need the extra ``firecrawl``, which is loaded when the service is first asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    from agentic.core.actors import Actor


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform ``firecrawl``."""
    place = "agentic.plugins.firecrawl"
    return [platform_at(f"{place}.platform:PLATFORM", name="firecrawl", migrations=f"{place}.migrations")]


@hookimpl
def agentic_actors() -> Iterable[type[Actor]]:
    """Bring the actors that ask Firecrawl."""
    from agentic.plugins.firecrawl.crawl import FirecrawlCrawlActor
    from agentic.plugins.firecrawl.map import FirecrawlMapActor
    from agentic.plugins.firecrawl.scrape import FirecrawlScrapeActor
    from agentic.plugins.firecrawl.search import FirecrawlSearchActor

    return [FirecrawlScrapeActor, FirecrawlCrawlActor, FirecrawlMapActor, FirecrawlSearchActor]
