"""The actor that lists the pages of a site with Firecrawl."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field, PositiveFloat

from agentic.core.actors import ActorContext, LinksOutput
from agentic.core.http import InvalidUrlError
from agentic.core.http.resolving import request_url
from agentic.core.reading.addresses import each_page_once
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.options import milliseconds
from agentic.plugins.firecrawl.actors.paid import PaidActor
from agentic.plugins.firecrawl.actors.rules import MapRules
from agentic.plugins.firecrawl.client import open_firecrawl
from agentic.plugins.firecrawl.documents import plain
from agentic.plugins.firecrawl.settings import ServiceInput


class FirecrawlMapInput(MapRules, ServiceInput):
    """Which site, and which of its pages."""

    url: str
    limit: int = Field(default=5_000, ge=1, le=100_000, description="Maximum number of URLs.")
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout, instead of the policy's.")


class FirecrawlMapOutput(LinksOutput):
    """The pages of a site: absolute canonical URLs, each once.

    ``listed`` has what is told of each, as far as it is: ``url``, ``title``, ``description``.
    """

    listed: tuple[dict[str, JSONValue], ...] = ()


class FirecrawlMapActor(PaidActor[FirecrawlMapInput, FirecrawlMapOutput]):
    """Lists the URLs of a site with Firecrawl, for one credit and with few requests."""

    name = "firecrawl_map"
    version = "1"
    Input = FirecrawlMapInput
    Output = FirecrawlMapOutput
    failure_classes = frozenset({"auth_required", "decode", "error", "quota_exhausted"})
    capabilities = frozenset({"credentials:firecrawl", "network"})

    async def run(self, ctx: ActorContext, given: FirecrawlMapInput, /) -> FirecrawlMapOutput:
        """Return the URLs."""
        timeout_s = given.timeout_s or ctx.http.policy.timeout_s
        service = await open_firecrawl(ctx, given, timeout_s)
        found = await service.ask(
            f"map {safe_url(given.url)}",
            lambda client: client.map(
                given.url,
                search=given.search,
                include_subdomains=given.include_subdomains,
                limit=given.limit,
                sitemap=given.sitemap,
                timeout=milliseconds(timeout_s),
            ),
        )
        return FirecrawlMapOutput(
            list_item_urls=page_urls(link.url for link in found.links),
            listed=tuple(map(plain, found.links)),
        )


def page_urls(urls: Iterable[object]) -> tuple[str, ...]:
    """Return each page once, by the URL of its first request, in order, without invalid URLs."""
    return tuple(each_page_once(url for given in urls if (url := _requested(given)) is not None).values())


def _requested(url: object) -> str | None:
    try:
        return request_url(url) if isinstance(url, str) else None
    except InvalidUrlError:
        return None
