"""Looks at the pages of a site while a pipeline is built: fetched as a crawl fetches them, each once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agentic.core.errors import AgenticError
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.commands.shared.page_trees import FetchedPages, open_pages, tree_of

if TYPE_CHECKING:
    from agentic.core.actors import Page
    from agentic.core.types import JSONValue
    from agentic.core.wrappers import PageTree

MAX_LOOKS = 16
"""Pages that one build may fetch."""

_WALLS = {
    "login": "a login, and a build cannot pass one",
    "consent": "a question about consent, and a build cannot answer it",
    "gone": "that it is not found",
    "empty": "that nothing is found",
}


class Looks:
    """Fetches pages, and reads them with the actors that the pipeline will call.

    Args:
        pages: Fetches them: robots.txt, limits and cookies as in a crawl.
    """

    def __init__(self, pages: FetchedPages) -> None:
        self._source = pages
        self._pages: dict[str, Page] = {}
        self._trees: dict[str, PageTree] = {}
        self._count = 0

    async def page(self, url: str) -> Page:
        """Return a page.

        Raises:
            OptionError: Too many pages were fetched.
            AgenticError: It cannot be fetched.
        """
        found = self._pages.get(url)
        if found is not None:
            return found
        if self._count >= MAX_LOOKS:
            raise OptionError(
                f"{url} was not fetched: {MAX_LOOKS} pages are enough to build from; give fewer"
            )
        self._count += 1
        page = await self._source.fetched(url)
        self._pages[url] = self._pages[page.final_url] = page
        return page

    async def tree(self, url: str) -> PageTree:
        """Return the elements of a page.

        Raises:
            OptionError: It is not HTML; or as :meth:`page`.
        """
        if url not in self._trees:
            self._trees[url] = tree_of(await self.page(url))
        return self._trees[url]

    async def likely_trees(self, urls: Sequence[str], wanted: int) -> list[PageTree]:
        """Return the elements of some of the pages, without pages that cannot be fetched or read."""
        found: list[PageTree] = []
        for url in urls:
            if len(found) == wanted or self._count >= MAX_LOOKS:
                break
            try:
                found.append(await self.tree(url))
            except AgenticError:  # another page shows the same
                continue
        return found

    def wall(self, urls: Sequence[str]) -> str:
        """Return a sentence on a page that shows an obstacle instead of its content; else nothing.

        Args:
            urls: The pages that matter; those that were not fetched are passed over.
        """
        from agentic.core.pipeline.drift.sights import wall_in

        for page in (self._pages[url] for url in urls if url in self._pages):
            cause = wall_in(page.text, page.final_url) if page.is_html else None
            if cause is not None and cause.value in _WALLS and _is_bare(tree_of(page)):
                return f"{page.final_url} shows {_WALLS[cause.value]}"
        return ""

    async def read(self, actor: str, config: Mapping[str, JSONValue], url: str) -> list[dict[str, JSONValue]]:
        """Return the items that an actor reads from a page."""
        output = await self._source.call(actor, {**config, "page": await self.page(url)})
        item, items = getattr(output, "item", None), getattr(output, "items", None)
        return [dict(one) for one in (items if item is None else [item]) or ()]


def _is_bare(tree: PageTree) -> bool:
    """Return whether a page offers no list, and a heading at most: a record may be called "Peugeot 404"."""
    from agentic.core.wrappers import find_offers

    offers = find_offers([tree])
    return not any(one.items for one in offers) and sum(len(one.fields) for one in offers) <= 1


@asynccontextmanager
async def open_looks(private_hosts: Sequence[str]) -> AsyncGenerator[Looks, None]:
    """Yield looks with a fetcher of their own.

    Raises:
        OptionError: A host is private, and may not be asked.
    """
    async with open_pages(private_hosts) as pages:
        yield Looks(pages)
