"""What the actors of the web hand to each other, and to a crawl."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from agentic.core.types import JSONValue

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


class Page(BaseModel):
    """A fetched page.

    Attributes:
        url: As it was asked for.
        final_url: Where redirects ended.
        status: HTTP status of the final answer.
        content_type: Media type without parameters, "" when the server named none.
        text: The decoded body; "" for what is no text.
        content_hash: Hash of the body as it came, hex.
        fetched_at: When the answer was complete, UTC.
        fetched_by: How it was fetched: ``http``, ``browser``, ``firecrawl``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    final_url: str
    status: int
    content_type: str
    text: str
    content_hash: str
    fetched_at: datetime
    fetched_by: str = "http"

    @property
    def is_html(self) -> bool:
        """Whether there may be links and elements in it."""
        return self.content_type in HTML_TYPES


class PageOutput(BaseModel):
    """What an actor that fetches gives; a crawl step takes any actor with this output."""

    model_config = ConfigDict(frozen=True)

    page: Page


class LinksOutput(BaseModel):
    """What an actor that reads links gives: absolute canonical URLs, in the order of the page, each once."""

    model_config = ConfigDict(frozen=True)

    list_item_urls: tuple[str, ...]
    next_url: str | None = None
    title: str | None = None


class ItemOutput(BaseModel):
    """What an actor that reads a detail page gives."""

    model_config = ConfigDict(frozen=True)

    item: dict[str, JSONValue]
