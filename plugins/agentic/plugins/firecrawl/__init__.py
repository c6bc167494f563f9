"""Firecrawl, a service that fetches pages for others: actors that let it scrape, crawl, map and search, and a
platform whose agents do one of these into tables of their own.

``firecrawl_scrape`` takes what ``fetch`` takes and gives what it gives, so that it can stand in where a site
refuses us. All of them need the extra ``firecrawl``, which is loaded when the service is first asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks import ActorAt, Platform, actor_at, hookimpl, platform_at


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform ``firecrawl``."""
    place = "agentic.plugins.firecrawl"
    return [platform_at(f"{place}.platform:PLATFORM", name="firecrawl", migrations=f"{place}.migrations")]


@hookimpl
def agentic_actors() -> Iterable[ActorAt]:
    """Bring the actors that ask Firecrawl."""
    place = "agentic.plugins.firecrawl"
    return [
        actor_at(f"{place}.scrape:FirecrawlScrapeActor", name="firecrawl_scrape", aliases=["firecrawl_api"]),
        actor_at(f"{place}.crawl:FirecrawlCrawlActor", name="firecrawl_crawl"),
        actor_at(f"{place}.map:FirecrawlMapActor", name="firecrawl_map"),
        actor_at(f"{place}.search:FirecrawlSearchActor", name="firecrawl_search"),
    ]
