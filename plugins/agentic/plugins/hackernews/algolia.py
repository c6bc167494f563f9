"""Algolia's API of Hacker News: searches, and whole trees of comments in one answer."""

from __future__ import annotations

from urllib.parse import urlencode

from pydantic import TypeAdapter

from agentic.core.http import FetchError, JsonApi
from agentic.core.http.api import Connect
from agentic.plugins.hackernews.errors import UnknownItemError
from agentic.plugins.hackernews.items import Answer, Found, SearchPage, SearchQuery, Tree
from agentic.plugins.hackernews.settings import PER_PAGE, SEARCH_LIMIT
from agentic.plugins.hackernews.slices import Moment, Sweep, Window
from agentic.plugins.hackernews.trees import flattened

_PAGE = TypeAdapter(SearchPage)
# Not JSON all the way down, as that is checked to a depth of 255 only: a long talk between two is deeper.
_TREE = TypeAdapter(dict[str, object])


class AlgoliaClient:
    """Searches, and reads trees.

    Args:
        algolia_url: Root of the API, with or without a slash at the end.
        connect: Where the fetcher comes from.
    """

    def __init__(self, algolia_url: str, connect: Connect) -> None:
        self._api = JsonApi("Hacker News' search", algolia_url, connect)

    async def tree(self, item_id: int, most: int) -> Tree:
        """Return an item and at most so many of the comments below it.

        Raises:
            UnknownItemError: There is no such item.
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is no tree.
        """
        try:
            root = await self._api.get(f"items/{item_id}", _TREE)
        except FetchError as exc:
            if exc.status == 404:
                raise UnknownItemError(item_id) from exc
            raise
        return flattened(root, most)

    async def search(self, query: SearchQuery) -> Found:
        """Return the first ``limit`` hits. A search that breaks off keeps what it has, with a warning.

        Raises:
            FetchError: Not even the first answer came.
            UnexpectedAnswerError: It is no page of hits.
        """
        sweep = Sweep(query.since, query.until)
        hits: list[Answer] = []
        broken: tuple[str, ...] = ()
        try:
            while sweep.window is not None and len(hits) < query.limit:
                await self._read(query, sweep, sweep.window, hits)
                if query.sort == "relevance":  # a slice of the time has its own most relevant hits
                    break
        except FetchError as exc:
            if not hits:
                raise
            broken = (f"the search broke off after {len(hits):,} hits: {exc}",)
        return Found(hits=tuple(hits[: query.limit]), warnings=(*broken, *_lost(sweep.lost_count)))

    async def _read(self, query: SearchQuery, sweep: Sweep, window: Window, hits: list[Answer]) -> None:
        """Add what is new in a slice to ``hits``, page by page."""
        moments: list[Moment] = []
        total = 0
        for number in range(SEARCH_LIMIT // PER_PAGE):
            page = await self._api.get(_path(query, window, number), _PAGE)
            total = page.total
            found = [_moment(hit) for hit in page.hits]
            hits += [hit for hit, is_new in zip(page.hits, sweep.fresh(found), strict=True) if is_new]
            moments += found
            if len(hits) >= query.limit or number + 1 >= page.page_count:
                break
        sweep.advance(moments, total)


def _path(query: SearchQuery, window: Window, page: int) -> str:
    filters = window.filters()
    filters += [] if query.min_points is None else [f"points>={query.min_points}"]
    filters += [] if query.min_comments is None else [f"num_comments>={query.min_comments}"]
    asked: dict[str, object] = {"query": query.query}
    asked |= {"tags": ",".join(query.tags)} if query.tags else {}
    asked |= {"numericFilters": ",".join(filters)} if filters else {}
    asked |= {"page": page, "hitsPerPage": PER_PAGE, "attributesToHighlight": ""}
    way = "search_by_date" if query.sort == "date" else "search"
    return f"{way}?{urlencode(asked)}"


def _moment(hit: Answer) -> Moment:
    time = hit.get("created_at_i")
    return Moment(str(hit.get("objectID")), time if isinstance(time, int) else 0)


def _lost(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (
        f"{count:,} hits cannot be read, as one second has more than {SEARCH_LIMIT:,}; narrow query or tags",
    )
