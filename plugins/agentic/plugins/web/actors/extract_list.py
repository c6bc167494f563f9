"""The actor that reads the links of a page, and what it says of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic_core import SchemaValidator, core_schema
from turbohtml import Document, Element

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, ItemsOutput, LinksOutput, Page
from agentic.core.actors.context import ignore_warning
from agentic.core.http import FetchError, canonical_url
from agentic.core.reading.addresses import NEXT_ATTRIBUTES, absolute, asks_not_to_follow, each_page_once
from agentic.core.reading.structured.spans import each_span
from agentic.core.records import unchecked
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.fetch import FetchActor
from agentic.plugins.web.fetching.inputs import FetchInput
from agentic.plugins.web.fetching.scripted import looks_scripted
from agentic.plugins.web.reading.fields import Item, Schema, Source, read_fields, source_of
from agentic.plugins.web.reading.html import select_one, title_of
from agentic.plugins.web.reading.limits import check_nesting
from agentic.plugins.web.reading.selectors import Selector

MAY_LACK = frozenset({"items", "page"})
NEXT = 'a[rel~="next"][href], link[rel~="next"][href]'
"""Selectors of links to the next page."""

GONE = frozenset({404, 410})
"""Statuses of a missing page."""

# turbohtml knows where its elements of a name are: to look for what is not there takes 2 us for a page.
# Most pages ask nothing, which one look at their text tells in a tenth of the time of the selectors.
_mentions = SchemaValidator(core_schema.str_schema(pattern="(?i)nofollow|robots")).isinstance_python
LINKS = "a[href], area[href], link[href]"
ALL_LINKS = "a[href], area[href]"
"""The items of a crawl without rules for links."""

NEXT_IN_HEAD = 'link[rel~="next"][href]'
FRAMES = "frame[src], iframe[src]"
MARKED = 'a[href][rel~="nofollow" i], area[href][rel~="nofollow" i]'
UNMARKED = 'a[href]:not([rel~="nofollow" i]), area[href]:not([rel~="nofollow" i])'


class ExtractListInput(BaseModel):
    """Which links of a page to take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    item_selector: Selector = Field(description="The items: links, or elements with a link in them.")
    link_selector: Selector = Field(default="a[href]", description="The link within an item.")
    next_selector: Selector | None = Field(
        default=None,
        description="CSS selector of the link to the next page of the list, or of a button with its address.",
    )
    fields: Schema | None = Field(
        default=None, description="Extract an item from each: field name -> selector or rule within it."
    )
    reaches_next: bool = Field(
        default=False,
        description="An item reaches from its element to the next item, such as dt with its dd.",
    )
    required: bool = Field(default=False, description="Fail with selector_missing if nothing matches.")
    pages: PositiveInt = Field(
        default=1,
        description="Maximum number of pages of the list: the next ones are fetched, by next_selector or "
        "rel=next.",
    )
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session, for the next pages."
    )
    obey_nofollow: bool = Field(
        default=False,
        description="Skip links marked nofollow, but keep their items; a crawl does so by default.",
    )


class ListOutput(LinksOutput, ItemsOutput):
    """Links; with ``fields`` also the items themselves, each with the ``url`` it links to.

    What is None of ``MAY_LACK`` is no result, so that an earlier one of that name stays the newest.
    """

    items: tuple[Item, ...] | None = None

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return {name: value for name, value in found.items() if value is not None or name not in MAY_LACK}


_ALL_OF_LIST = set(ListOutput.model_fields)


class ExtractListActor(Actor[ExtractListInput, ListOutput]):
    """Extracts the links of one or more list pages: absolute, in order, each page once."""

    name = "extract_list"
    version = "3"
    aliases = ("ExtractList",)
    Input = ExtractListInput
    Output = ListOutput
    failure_classes = frozenset({"not_html", "schema_invalid", "selector_missing", "too_large"})
    capabilities = frozenset({"network"})

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:
        """Return what a step with this config needs: the network only for further pages."""
        return frozenset() if config.get("pages", 1) == 1 else cls.capabilities

    async def run(self, ctx: ActorContext, given: ExtractListInput, /) -> ListOutput:
        """Return the links, the next page's if there is one, the title, and the items if they have fields.

        Of several pages it is the title of the first and the next page of the last.
        """
        if given.pages == 1:
            return _read(ctx, given, given.next_selector)
        return await _read_on(ctx, given)


async def _read_on(ctx: ActorContext, given: ExtractListInput) -> ListOutput:
    """Read page after page, until there is no next one, or one that was read before.

    Many a list answers with its first page, or with 404, where it is asked for one after its last.
    """
    selector = given.next_selector or NEXT
    found = [_read(ctx, given, selector)]
    seen = {canonical_url(given.page.final_url)}
    mode: Literal["browser", "http"] = "browser" if given.page.fetched_by == "browser" else "http"
    while len(found) < given.pages and (url := found[-1].next_url) is not None:
        if (asked := canonical_url(url)) in seen:
            break
        seen.add(asked)
        page = await _further(ctx, FetchInput(url=url, mode=mode, session=given.session))
        place = None if page is None else canonical_url(page.final_url)
        if page is None or place is None or (place != asked and place in seen):
            found[-1] = found[-1].model_copy(update={"next_url": None})
            break
        seen.add(place)
        # An empty page after the first one is the end of the list, and no failure.
        further = given.model_copy(update={"page": page, "required": False})
        found.append(_read(replace(ctx, warn=ignore_warning, tally=ctx.warn_about), further, selector))
    return ListOutput(
        list_item_urls=tuple(each_page_once(url for one in found for url in one.list_item_urls).values()),
        next_url=found[-1].next_url,
        title=found[0].title,
        items=tuple(item for one in found for item in one.items or ()) if given.fields else None,
    )


async def _further(ctx: ActorContext, asked: FetchInput) -> Page | None:
    """Return a further page of a list; None if there is no such page."""
    try:
        return (await FetchActor().run(ctx, asked)).page
    except FetchError as exc:
        if exc.status in GONE:
            return None
        raise


def _no_match(given: ExtractListInput) -> str:
    page = given.page
    message = f"{given.item_selector!r} matches nothing on {page.final_url}"
    if page.fetched_by == "http" and looks_scripted(page.text, is_lacking=True):
        message += "; scripts seem to build this page, so fetch it with mode: auto"
    return message


def _read(ctx: ActorContext, given: ExtractListInput, next_selector: str | None) -> ListOutput:
    source = source_of(given.page, ctx.warn_about)
    document, base = source.document, source.base
    nodes = document.select(given.item_selector)
    if given.reaches_next:
        nodes = _spans(source, nodes)
    if given.required and not nodes:
        raise ActorError(_no_match(given), failure_class="selector_missing", status=given.page.status)
    following = document.select_one(next_selector) if next_selector else None
    fields = given.fields
    encoding = given.page.encoding
    urls = _urls(nodes, given.link_selector, base, encoding)
    if given.item_selector == ALL_LINKS:
        urls = urls or _frames(document, base, encoding)
        if (successor := document.select_one(NEXT_IN_HEAD)) is not None:
            urls |= _urls([successor], NEXT_IN_HEAD, base, encoding)
    if not nodes and not urls:
        if ctx.warn is not ignore_warning:  # as in a crawl, where most pages have no list
            ctx.warn(_no_match(given))
    elif not urls and not fields:
        ctx.warn(
            f"none of the {len(nodes)} elements that match {given.item_selector!r} has a link that matches "
            f"{given.link_selector!r} on {given.page.final_url}"
        )
    next_url = _next_url(following, base, encoding) if following else None
    if given.obey_nofollow and (unwanted := _unwanted(source, ctx.http.policy.user_agent)) is not None:
        urls = {key: url for key, url in urls.items() if key not in unwanted}
        next_url = None if next_url is None or canonical_url(next_url) in unwanted else next_url
    if fields and not given.reaches_next:
        check_nesting(nodes, given.item_selector, given.page.final_url)
    items = fields and tuple(
        {"url": _url(node, given.link_selector, base, encoding), **read_fields(source, fields, node)}
        for node in nodes
    )
    values: dict[str, object] = {
        "list_item_urls": tuple(urls.values()),
        "next_url": next_url,
        "title": title_of(document),
        "items": items,
    }
    return unchecked(ListOutput, values, _ALL_OF_LIST)


def _spans(source: Source, heads: list[Element]) -> list[Element]:
    """Return each item with the elements up to the next one."""
    found = []
    for node in each_span(heads):
        source.meter.take(len(node.html))
        found.append(node)
    return found


def _unwanted(source: Source, user_agent: str) -> Collection[str] | None:
    """Return the canonical addresses that the page asks crawlers not to follow; None if it asks nothing."""
    if not (source.page.robots or _mentions(source.page.text)):
        return None
    document, base, encoding = source.document, source.base, source.page.encoding
    if asks_not_to_follow(document, source.page.robots, user_agent):
        return _urls(document.select(LINKS), LINKS, base, encoding) | _frames(document, base, encoding)
    if not (marked := document.select(MARKED)):
        return None
    # A page that also links there without the word has nothing against it.
    unmarked = _urls(document.select(UNMARKED), LINKS, base, encoding)
    return _urls(marked, LINKS, base, encoding).keys() - unmarked.keys()


def _urls(items: Iterable[Element], link_selector: str, base: str, encoding: str) -> dict[str, str]:
    """Return the addresses the items link to, in order, each page once, by their canonical spelling."""
    # Joining costs more than parsing, and most links of a page repeat others or differ by fragment only.
    hrefs = dict.fromkeys(href for item in items if (href := _href(item, link_selector)))
    return each_page_once(url for href in hrefs if (url := absolute(base, href, encoding)) is not None)


def _frames(document: Document, base: str, encoding: str) -> dict[str, str]:
    """Return the addresses of the pages that a page shows within itself."""
    held = (frame.attr("src") or "" for frame in document.select(FRAMES))
    found = (absolute(base, address.partition("#")[0], encoding) for address in held if address)
    return each_page_once(url for url in found if url is not None)


def _url(item: Element, link_selector: str, base: str, encoding: str) -> str | None:
    return next(iter(_urls([item], link_selector, base, encoding).values()), None)


def _next_url(link: Element, base: str, encoding: str) -> str | None:
    """Return where a link to the next page leads, or a button that loads more."""
    url = _url(link, "a[href]", base, encoding)
    held = (link.attr(name) for name in NEXT_ATTRIBUTES) if url is None else ()
    return next((found for one in held if one and (found := absolute(base, one, encoding))), url)


def _href(item: Element, link_selector: str) -> str:
    address = item.attr("href")
    if address is None and (link := select_one(item, link_selector)) is not None:
        address = link.attr("href")
    return (address or "").partition("#")[0]
