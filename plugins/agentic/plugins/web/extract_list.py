"""The actor that reads the links of a page, and what it says of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from turbohtml import Element

from agentic.core.actors import Actor, ActorContext, ActorError, ItemsOutput, LinksOutput, Page
from agentic.core.reading.addresses import absolute
from agentic.core.types import JSONValue
from agentic.plugins.web.fields import Item, Schema, read_fields, source_of
from agentic.plugins.web.html import Selector, select_one, title_of

MAY_LACK = frozenset({"items", "page"})


class ExtractListInput(BaseModel):
    """Which links of a page to take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    item_selector: Selector = Field(description="The items: links, or elements with a link in them.")
    link_selector: Selector = Field(default="a[href]", description="The link within an item.")
    next_selector: Selector | None = Field(default=None, description="The link to the next page of the list.")
    fields: Schema | None = Field(
        default=None, description="Makes an item of each: field name -> selector or rule within it."
    )
    required: bool = Field(default=False, description="Fail with selector_missing if there is no item.")


class ListOutput(LinksOutput, ItemsOutput):
    """Links; with ``fields`` also the items themselves, each with the ``url`` it links to.

    What is None of ``MAY_LACK`` is no result, so that an earlier one of that name stays the newest.
    """

    items: tuple[Item, ...] | None = None

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return {name: value for name, value in found.items() if value is not None or name not in MAY_LACK}


class ExtractListActor(Actor[ExtractListInput, ListOutput]):
    """Reads the links of a list page: absolute and canonical, in order, each once."""

    name = "extract_list"
    version = "2"
    aliases = ("ExtractList",)
    Input = ExtractListInput
    Output = ListOutput
    failure_classes = frozenset({"not_html", "schema_invalid", "selector_missing", "too_large"})

    async def run(self, ctx: ActorContext, given: ExtractListInput, /) -> ListOutput:  # noqa: ARG002 - as declared
        """Return the links, the next page's if there is one, the title, and the items if they have fields."""
        source = source_of(given.page)
        document, base = source.document, source.base
        nodes = document.select(given.item_selector)
        if given.required and not nodes:
            message = f"nothing on {given.page.final_url} fits {given.item_selector!r}"
            raise ActorError(message, failure_class="selector_missing", status=given.page.status)
        following = document.select_one(given.next_selector) if given.next_selector else None
        fields = given.fields
        return ListOutput(
            list_item_urls=tuple(_urls(nodes, given.link_selector, base)),
            next_url=next(iter(_urls([following], given.link_selector, base)), None) if following else None,
            title=title_of(document),
            items=tuple(
                {"url": _url(node, given.link_selector, base), **read_fields(source, fields, node)}
                for node in nodes
            )
            if fields
            else None,
        )


def _urls(items: Iterable[Element], link_selector: str, base: str) -> dict[str, None]:
    """Return the addresses the items link to, in order, each once."""
    # Joining costs more than parsing, and most links of a page repeat others or differ by fragment only.
    hrefs = dict.fromkeys(href for item in items if (href := _href(item, link_selector)))
    return dict.fromkeys(url for href in hrefs if (url := absolute(base, href)) is not None)


def _url(item: Element, link_selector: str, base: str) -> JSONValue:
    return next(iter(_urls([item], link_selector, base)), None)


def _href(item: Element, link_selector: str) -> str:
    address = item.attr("href")
    if address is None and (link := select_one(item, link_selector)) is not None:
        address = link.attr("href")
    return (address or "").partition("#")[0]
