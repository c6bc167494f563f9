"""Pages that a command fetches to look at their elements."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agentic.core.actors import ActorContext, LinksOutput, Page, PageOutput
    from agentic.core.pipeline.repairs.searches import SeenPage
    from agentic.core.wrappers import PageTree

MAX_MAPPED = 2_000


async def fetch_pages(urls: Sequence[str], private_hosts: Sequence[str]) -> list[Page]:
    """Return pages as the actor ``fetch`` gets them, in the order of their addresses.

    Raises:
        OptionError: A host is private, and may not be asked.
        AgenticError: A page cannot be fetched.
    """
    async with open_pages(private_hosts) as pages:
        return [await pages.fetched(url) for url in urls]


@asynccontextmanager
async def open_pages(private_hosts: Sequence[str]) -> AsyncGenerator[FetchedPages, None]:
    """Open a source of pages.

    Raises:
        OptionError: A host is private, and may not be asked.
    """
    from agentic.core.actors import ActorContext
    from agentic.core.http import HttpPolicy, open_fetcher

    try:
        async with open_fetcher(HttpPolicy(allow_private_hosts=tuple(private_hosts))) as http:
            yield FetchedPages(ActorContext(http=http))
    except AgenticError as exc:
        if getattr(exc, "failure_class", "") != "private_address":
            raise
        raise OptionError(f"{exc}, here with --allow-private-host") from exc


class FetchedPages:
    """Pages of sites from the actors ``fetch`` and ``sitemap``.

    Args:
        ctx: Sends the requests.
    """

    def __init__(self, ctx: ActorContext) -> None:
        self._ctx = ctx

    async def fetched(self, url: str) -> Page:
        """Return a page. Raises the error of the actor if it cannot be fetched."""
        return cast("PageOutput", await self.call("fetch", {"url": url, "mode": "http"})).page

    async def call(self, actor: str, given: Mapping[str, object]) -> BaseModel:
        """Return the output of an actor. Raises its error if it fails."""
        from agentic.core.pipeline.steps.calls import call_until_done

        return await call_until_done(get_registry().actors[actor], self._ctx, given)

    async def page(self, url: str) -> SeenPage:
        """Return the answer for an address, an error status included.

        Raises:
            AgenticError: The host is private, and may not be asked.
        """
        from agentic.core.pipeline.repairs.searches import SeenPage

        try:
            page = await self.fetched(url)
        except AgenticError as exc:
            if getattr(exc, "failure_class", "") == "private_address":
                raise
            return SeenPage(url, getattr(exc, "status", None), fault=str(exc))
        return SeenPage(url, page.status, page)

    async def sitemap(self, url: str) -> Sequence[str]:
        """Return the addresses in the maps of a page's site, up to 2,000; none without a map."""
        given: Mapping[str, object] = {"sites": [url], "max_urls": MAX_MAPPED}
        try:
            return cast("LinksOutput", await self.call("sitemap", given)).list_item_urls
        except AgenticError:
            return ()


def tree_of(page: Page) -> PageTree:
    """Return the elements of a page.

    Raises:
        OptionError: It is not HTML.
    """
    from turbohtml import parse

    from agentic.core.wrappers import PageTree

    if not page.is_html:
        kind = page.content_type
        reader = "feed" if "xml" in kind else "json" if "json" in kind else ""
        other = f", or write a pipeline with the actor `{reader}`" if reader else ""
        raise OptionError(f"{page.final_url} is {kind}, not HTML; give a page that people read{other}")
    return PageTree(parse(page.text, positions=False), page.final_url)
