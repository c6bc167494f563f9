"""Stores results of Firecrawl as rows of ``firecrawl_pages`` and ``firecrawl_links``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from agentic.core.http import canonical_url, url_key
from agentic.core.pipeline import PipelineResult
from agentic.core.types import JSONValue
from agentic.mappers import CLEARED, ResultMapper
from agentic.mappers.tables.columns import utc_now
from agentic.plugins.firecrawl.agent_settings import FirecrawlAgentSettings
from agentic.plugins.firecrawl.found import NothingFoundError, found_in
from agentic.plugins.firecrawl.models import FirecrawlLinkModel, FirecrawlPageModel

Url = Annotated[str, AfterValidator(canonical_url)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class PageRecord(_Part):
    """A page. What was not asked for is None."""

    url: Url
    status: int | None = None
    scraped_at: AwareDatetime = Field(default_factory=utc_now)
    markdown: str | None = None
    html: str | None = None
    links: list[str] | None = None
    item: dict[str, JSONValue] | None = None
    metadata: dict[str, JSONValue] = Field(default_factory=dict)


class LinkRecord(_Part):
    """What a map or a search tells of a URL; news have a ``snippet`` in place of a description."""

    url: Url
    source: str | None = None
    title: str | None = None
    description: str | None = None
    snippet: str | None = None
    metadata: dict[str, JSONValue] = Field(default_factory=dict)


class FirecrawlResultMapper(ResultMapper):
    """Upserts pages by address, and links by address and request."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the results of a pipeline; failures become warnings.

        Raises:
            NothingFoundError: Every single page failed.
        """
        if results.get("error"):
            return self.save_agent_result(results)
        result = PipelineResult.model_validate(results)
        found = found_in(result)
        if found.failed and not found.pages:
            raise NothingFoundError(found.failed)
        self.save_agent_result(
            {
                "pipeline": result.pipeline,
                "counts": found.summary(),
                "failures": {name: totals.count for name, totals in result.failures.items()},
                "robots_blocked": list(found.robots_blocked),
            }
        )
        for sentence in found.failed:
            self.warn(sentence)
        pages = self.accepted(PageRecord, found.pages, "page")
        # Its metadata has the id of the scrape, and whether it is a cached copy: they differ every time.
        self.save_rows(FirecrawlPageModel, map(page_row, pages), volatile=["scraped_at", "metadata"])
        settings = FirecrawlAgentSettings.model_validate(self.agent.config)
        asked = settings.query or settings.url or ""
        found_by = result.pipeline.removeprefix("firecrawl_")
        links = self.accepted(LinkRecord, found.links, "link")
        rows = (link_row(link, found_by, asked, position) for position, link in enumerate(links, start=1))
        self.save_rows(FirecrawlLinkModel, rows, volatile=["position"])
        return True


def page_row(page: PageRecord) -> dict[str, object]:
    """Return the columns of a page; None stands for values that are unknown or were not requested."""
    return {
        "url_key": url_key(page.url),
        "url": page.url,
        "source_url": _text(page.metadata, "source_url"),
        "status": page.status,
        "title": _said(page.metadata, "title"),
        "description": _said(page.metadata, "description"),
        "language": _said(page.metadata, "language"),
        "markdown": page.markdown,
        "html": page.html,
        "links": page.links,
        "item": page.item,
        "metadata": page.metadata or None,
        "scraped_at": page.scraped_at,
    }


def link_row(link: LinkRecord, found_by: str, asked: str, position: int) -> dict[str, object]:
    """Return the columns of a URL from a map or a search.

    Args:
        link: The URL.
        found_by: ``map`` or ``search``.
        asked: The site or the query.
        position: In the answer.
    """
    return {
        "found_by": found_by,
        "asked_key": hashlib.sha256(asked.encode()).hexdigest(),
        "url_key": url_key(link.url),
        "asked": asked,
        "url": link.url,
        "source": link.source,
        "title": link.title or _text(link.metadata, "title"),
        "description": link.description or link.snippet or _text(link.metadata, "description"),
        "position": position,
    }


def _said(metadata: Mapping[str, JSONValue], name: str) -> object:
    """Return a value of the page; a named but empty value is cleared."""
    return _text(metadata, name) or (CLEARED if name in metadata else None)


def _text(metadata: Mapping[str, JSONValue], name: str) -> str | None:
    """Return a metadata text; the first one if the page has several."""
    value = metadata.get(name)
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, str) and first else None
