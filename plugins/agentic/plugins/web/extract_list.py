"""The actor that reads the links of a page."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field
from selectolax.lexbor import LexborNode

from agentic.core.actors import Actor, ActorContext, ActorError, LinksOutput, Page
from agentic.plugins.web.html import Selector, absolute, base_of, document_of, title_of


class ExtractListInput(BaseModel):
    """Which links of a page to take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    item_selector: Selector = Field(description="The items: links, or elements with a link in them.")
    link_selector: Selector = Field(default="a[href]", description="The link within an item.")
    next_selector: Selector | None = Field(default=None, description="The link to the next page of the list.")
    required: bool = Field(default=False, description="Fail with selector_missing if there is no item.")


class ExtractListActor(Actor[ExtractListInput, LinksOutput]):
    """Reads the links of a list page: absolute and canonical, in order, each once."""

    name = "extract_list"
    version = "1"
    aliases = ("ExtractList",)
    Input = ExtractListInput
    Output = LinksOutput

    async def run(self, ctx: ActorContext, given: ExtractListInput, /) -> LinksOutput:  # noqa: ARG002 - as declared
        """Return the links, the next page's if there is one, and the title."""
        document = document_of(given.page)
        base = base_of(document, given.page)
        items = document.css(given.item_selector)
        if given.required and not items:
            message = f"nothing on {given.page.final_url} fits {given.item_selector!r}"
            raise ActorError(message, failure_class="selector_missing", status=given.page.status)
        following = document.css_first(given.next_selector) if given.next_selector else None
        return LinksOutput(
            list_item_urls=tuple(_urls(items, given.link_selector, base)),
            next_url=next(iter(_urls([following], given.link_selector, base)), None) if following else None,
            title=title_of(document),
        )


def _urls(items: Iterable[LexborNode], link_selector: str, base: str) -> dict[str, None]:
    """Return the addresses the items link to, in order, each once."""
    # Joining costs more than parsing, and most links of a page repeat others or differ by fragment only.
    hrefs = dict.fromkeys(href for item in items if (href := _href(item, link_selector)))
    return dict.fromkeys(url for href in hrefs if (url := absolute(base, href)) is not None)


def _href(item: LexborNode, link_selector: str) -> str:
    link = item if "href" in item.attributes else item.css_first(link_selector)
    address = link.attributes.get("href") if link is not None else None
    return (address or "").partition("#")[0]
