"""The data that the actors of the web pass to each other, and to a crawl."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue

_LIKE_JSON = LinearPattern(r"\A\s*[\[{]")

SHORT_REFRESH_S = 15
"""Up to this number of seconds a refresh is followed like a redirect; longer pages are for reading."""

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


class Page(BaseModel):
    """A fetched page.

    Attributes:
        url: As requested.
        final_url: Address after redirects.
        status: HTTP status of the final answer.
        content_type: Media type without parameters, "" when the server named none.
        text: The decoded body; "" if it is not text.
        content_hash: Hash of the body as it came, hex.
        fetched_at: When the response was complete, UTC.
        fetched_by: How it was fetched: ``http``, ``browser``, ``firecrawl``.
        robots: What ``X-Robots-Tag`` says to crawlers; "" for nothing.
        next_url: URL of the next page of a list, from the header ``Link`` with ``rel=next``; absolute.
        encoding: Of the body; the queries of its links are written in it.
        refresh_url: URL of the page that takes its place after ``refresh_s`` seconds; None without one.
        refresh_s: See there.
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
    robots: str = ""
    next_url: str | None = None
    encoding: str = "utf-8"
    refresh_url: str | None = None
    refresh_s: int = 0

    @property
    def successor_url(self) -> str | None:
        """URL of the page that takes its place so soon that it counts as a redirect."""
        return self.refresh_url if self.refresh_s <= SHORT_REFRESH_S else None

    @property
    def kind(self) -> Literal["html", "json", "other"]:
        """The kind of its content, by its content type; plain text may be JSON."""
        if self.content_type in HTML_TYPES:  # as is_html; asked three times for each page
            return "html"
        if self.content_type.endswith(("json", "jsonl", "javascript")):
            return "json"
        return "json" if self.content_type == "text/plain" and _LIKE_JSON.search(self.text) else "other"

    @property
    def is_html(self) -> bool:
        """Whether it may contain links and elements."""
        return self.content_type in HTML_TYPES


class PageOutput(BaseModel):
    """The result of an actor that fetches; a crawl step takes any actor with this output."""

    model_config = ConfigDict(frozen=True)

    page: Page


class LinksOutput(BaseModel):
    """The result of an actor that reads links: absolute URLs as they are requested, in page order,
    each page once."""

    model_config = ConfigDict(frozen=True)

    list_item_urls: tuple[str, ...]
    next_url: str | None = None
    title: str | None = None


class PageLink(BaseModel):
    """A page that a page links to.

    Attributes:
        url: The absolute URL of a request for it.
        rel: Words that every link to it has, such as ``nofollow``; sorted, "" for none.
        text: Of the first link that has one; "" where none has.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    rel: str = ""
    text: str = ""


class ContentsOutput(BaseModel):
    """The result of an actor that reads a page for storage; values that were not requested are None.

    Attributes:
        canonical_url: The canonical address that the page states.
        language: As the page states it: ``en``, ``en-GB``.
        text: Its visible text.
        markdown: The same with headings, lists, links.
        html: The page as it came.
        links: Each page it links to once, in the order of the page.
    """

    model_config = ConfigDict(frozen=True)

    canonical_url: str | None = None
    language: str | None = None
    text: str | None = None
    markdown: str | None = None
    html: str | None = None
    links: tuple[PageLink, ...] | None = None


class FilesOutput(BaseModel):
    """The result of an actor that finds files on a page: absolute URLs in page order, each once."""

    model_config = ConfigDict(frozen=True)

    file_urls: tuple[str, ...]


class ItemOutput(BaseModel):
    """The result of an actor that reads a detail page."""

    model_config = ConfigDict(frozen=True)

    item: dict[str, JSONValue]


class ItemsOutput(BaseModel):
    """The result of an actor that reads a page with several items; None if they were not requested."""

    model_config = ConfigDict(frozen=True)

    items: tuple[dict[str, JSONValue], ...] | None
