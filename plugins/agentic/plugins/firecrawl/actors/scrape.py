"""The actor that fetches a page with Firecrawl: instead of ``fetch``, or where ``fetch`` is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer
from turbohtml import SelectorSyntaxError, parse

from agentic.core.actors import ActorContext, ActorError, Page, PageOutput
from agentic.core.http.urls import Param, with_params
from agentic.core.settings import safe_url
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.extracted import item_of
from agentic.plugins.firecrawl.actors.options import PageInput
from agentic.plugins.firecrawl.actors.paid import PaidActor
from agentic.plugins.firecrawl.actors.screenshots import WrittenFile, keep_screenshot
from agentic.plugins.firecrawl.client import open_firecrawl
from agentic.plugins.firecrawl.documents import Document, judge, metadata_of, page_of, plain

RAW = "rawHtml"
SCREENSHOT: dict[str, dict[str, JSONValue]] = {
    "viewport": {"type": "screenshot"},
    "full_page": {"type": "screenshot", "full_page": True},
}


def _checked(selector: str) -> str:
    try:
        parse("").select_one(selector)
    except SelectorSyntaxError:
        raise ValueError(f"{selector!r} is not a CSS selector") from None
    return selector


class FirecrawlScrapeInput(PageInput):
    """What ``fetch`` takes, as far as a service can do it with GET, and what to make of the page."""

    url: str
    params: dict[str, Param | tuple[Param, ...]] | None = Field(
        default=None, description="Query parameters to add to the URL."
    )
    method: Literal["GET"] = "GET"
    wait_for: Annotated[str, AfterValidator(_checked)] | None = Field(
        default=None, description="CSS selector that the page must match; otherwise selector_missing."
    )
    screenshot: Literal["viewport", "full_page"] | None = Field(
        default=None, description="Store a screenshot in a file."
    )

    @property
    def address(self) -> str:
        """The URL with ``params``."""
        return with_params(self.url, self.params) if self.params else self.url


class FirecrawlScrapeOutput(PageOutput):
    """The page as the site gave it, and what was made of it; what was not asked for is no result.

    ``metadata`` is what the service knows of the page, names in snake case: ``title``, ``status_code``,
    ``credits_used``, ``cache_state`` and more.
    """

    metadata: dict[str, JSONValue]
    markdown: str | None = None
    html: str | None = None
    links: tuple[str, ...] | None = None
    item: dict[str, JSONValue] | None = None
    file: WrittenFile | None = None

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return {name: value for name, value in found.items() if value is not None}


class FirecrawlScrapeActor(PaidActor[FirecrawlScrapeInput, FirecrawlScrapeOutput]):
    """Fetches one page with Firecrawl, as Markdown, links, a screenshot or an item."""

    name = "firecrawl_scrape"
    version = "1"
    aliases = ("firecrawl_api",)
    Input = FirecrawlScrapeInput
    Output = FirecrawlScrapeOutput
    failure_classes = frozenset(
        {
            "auth_required",
            "decode",
            "empty",
            "error",
            "quota_exhausted",
            "schema_invalid",
            "selector_missing",
        }
    )
    capabilities = frozenset({"credentials:firecrawl", "network"})

    async def run(self, ctx: ActorContext, given: FirecrawlScrapeInput, /) -> FirecrawlScrapeOutput:
        """Return the page, unless the site or the service refused."""
        document = await _scrape(ctx, given)
        page = page_of(given.url, document, datetime.now(UTC))
        await judge(ctx, page)
        await _check(page, given)
        return FirecrawlScrapeOutput(
            page=page,
            metadata=metadata_of(document),
            markdown=_text(document, "markdown"),
            html=_text(document, "html"),
            links=_links(document) if "links" in given.formats else None,
            item=_item(document, given, page.final_url) if given.wants_item else None,
            file=await keep_screenshot(ctx, page.final_url, document) if given.screenshot else None,
        )


async def _scrape(ctx: ActorContext, given: FirecrawlScrapeInput) -> Document:
    timeout_s = given.timeout_s or ctx.http.policy.timeout_s
    service = await open_firecrawl(ctx, given, timeout_s)
    picture: list[JSONValue] = [SCREENSHOT[given.screenshot]] if given.screenshot else []
    options = given.options(timeout_s, [RAW, *given.formats, *picture])
    document = await service.ask(
        f"scrape {safe_url(given.url)}",
        # The service works on a large PDF beyond the time limit; the client would wait up to 20 minutes.
        lambda client: client.scrape(given.address, auto_resume=False, **options),
    )
    return plain(document)


async def _check(page: Page, given: FirecrawlScrapeInput) -> None:
    """Refuse a page that lacks required content."""
    if page.is_html and not page.text.strip():
        message = f"Firecrawl found no content on {safe_url(page.final_url)}; give it more time with wait_s"
        raise ActorError(message, failure_class="empty", status=page.status)
    if given.wait_for and not (page.is_html and await in_thread(_has, page.text, given.wait_for)):
        message = (
            f"{given.wait_for!r} matches nothing on {safe_url(page.final_url)}; wait_s gives scripts more "
            "time"
        )
        raise ActorError(message, failure_class="selector_missing", status=page.status)


def _has(markup: str, selector: str) -> bool:
    return parse(markup).remove("template").select_one(selector) is not None


def _item(document: Document, given: FirecrawlScrapeInput, url: str) -> dict[str, JSONValue]:
    return {**item_of(document.get("json"), given.json_schema, url), "url": url}


def _text(document: Document, name: str) -> str | None:
    found = document.get(name)
    return found if isinstance(found, str) else None


def _links(document: Document) -> tuple[str, ...]:
    found = document.get("links")
    return tuple(str(link) for link in found) if isinstance(found, list) else ()
