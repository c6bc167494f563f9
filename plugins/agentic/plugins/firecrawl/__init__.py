"""Firecrawl, a service that fetches pages: actors that use it to scrape, crawl, map and search, and a
platform whose agents do one of these and store the results in their own tables.

``firecrawl_scrape`` has the inputs and outputs of ``fetch``, so that it can replace it if a site refuses us.
All need the extra ``firecrawl``, which is loaded at the first request to the service.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks import ActorAt, Platform, actor_at, hookimpl, platform_at


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``firecrawl``."""
    place = "agentic.plugins.firecrawl"
    return [platform_at(f"{place}.platform:PLATFORM", name="firecrawl", migrations=f"{place}.migrations")]


@hookimpl
def agentic_actors() -> Iterable[ActorAt]:
    """Provide the actors that use Firecrawl."""
    place = "agentic.plugins.firecrawl"
    return [
        actor_at(
            f"{place}.actors.scrape:FirecrawlScrapeActor", name="firecrawl_scrape", aliases=["firecrawl_api"]
        ),
        actor_at(f"{place}.actors.crawl:FirecrawlCrawlActor", name="firecrawl_crawl"),
        actor_at(f"{place}.actors.map:FirecrawlMapActor", name="firecrawl_map"),
        actor_at(f"{place}.actors.search:FirecrawlSearchActor", name="firecrawl_search"),
    ]
