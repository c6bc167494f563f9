"""The actor that searches the web with Firecrawl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from agentic.core.actors import ActorContext, LinksOutput
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.extracted import item_of
from agentic.plugins.firecrawl.actors.map import page_urls
from agentic.plugins.firecrawl.actors.options import ListingInput, milliseconds
from agentic.plugins.firecrawl.actors.paid import PaidActor
from agentic.plugins.firecrawl.actors.rules import SearchRules
from agentic.plugins.firecrawl.client import open_firecrawl
from agentic.plugins.firecrawl.documents import plain, record_of, summary_of

Item = dict[str, JSONValue]


class FirecrawlSearchInput(SearchRules, ListingInput):
    """What to look for; how pages are fetched counts only with ``scrape``."""

    keywords: str | tuple[str, ...] = Field(
        min_length=1, description="Search terms, all required; search operators are allowed."
    )
    limit: int = Field(default=10, ge=1, le=100, description="Maximum number of results per source.")

    @property
    def query(self) -> str:
        """The words as one text."""
        return self.keywords if isinstance(self.keywords, str) else " ".join(self.keywords)


class FirecrawlSearchOutput(LinksOutput):
    """Where the results are, and what is told of each: ``source``, ``url``, ``title`` and more.

    With ``scrape`` also ``status`` and what was made of the page, or a record of it if records were asked
    for; its status may be one of refusal.
    """

    items: tuple[Item, ...]


class FirecrawlSearchActor(PaidActor[FirecrawlSearchInput, FirecrawlSearchOutput]):
    """Searches the web with Firecrawl, and optionally fetches the results."""

    name = "firecrawl_search"
    version = "1"
    Input = FirecrawlSearchInput
    Output = FirecrawlSearchOutput
    failure_classes = frozenset({"auth_required", "decode", "error", "quota_exhausted", "schema_invalid"})
    capabilities = frozenset({"credentials:firecrawl", "network"})

    async def run(self, ctx: ActorContext, given: FirecrawlSearchInput, /) -> FirecrawlSearchOutput:
        """Return the results, with the first source first."""
        timeout_s = given.timeout_s or ctx.http.policy.timeout_s
        service = await open_firecrawl(ctx, given, timeout_s)
        asked = {
            "sources": list(given.sources),
            "limit": given.limit,
            "location": given.location,
            "tbs": given.since,
            "timeout": milliseconds(timeout_s),
            "scrape_options": given.options(timeout_s, given.formats) if given.scrape else None,
        }
        found = await service.ask("search the web", lambda client: client.search(given.query, **asked))
        items = tuple(_items(found, given))
        return FirecrawlSearchOutput(items=items, list_item_urls=page_urls(item.get("url") for item in items))


def _items(found: Any, given: FirecrawlSearchInput) -> Iterator[Item]:  # noqa: ANN401 - the library is not typed
    for source in given.sources:
        for result in getattr(found, source) or ():
            yield {"source": source, **_item(plain(result), given)}


def _item(result: Item, given: FirecrawlSearchInput) -> Item:
    if "metadata" not in result:
        return result
    summary = summary_of(result)
    url, extracted = str(summary["url"]), {}
    if given.wants_item and "json" in result:
        extracted = item_of(result["json"], given.json_schema, url)
    if given.as_records:
        return record_of(result, url, summary["status"], extracted)
    return {**summary, **extracted, "url": summary["url"]}
