"""Algolia's API of Hacker News: searches, and whole trees of comments in one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlencode

from pydantic import TypeAdapter

from agentic.core.http import FetchError, JsonApi
from agentic.core.http.api import Connect
from agentic.plugins.hackernews.errors import UnknownItemError
from agentic.plugins.hackernews.items import Answer, Found, SearchPage, SearchQuery, Tree
from agentic.plugins.hackernews.settings import PER_PAGE, SEARCH_LIMIT
from agentic.plugins.hackernews.slices import Moment, Sweep, Window
from agentic.plugins.hackernews.trees import flattened

Kept = dict[str, object]
"""A page as stored for a later attempt."""

Read = Callable[[], Awaitable[Kept]]
Once = Callable[[str, Read], Awaitable[Kept]]
IsFinal = Callable[[FetchError], bool]

_PAGE = TypeAdapter(SearchPage)
# Not a recursive JSON type, whose check ends at a depth of 255: a long dialogue is deeper.
_TREE = TypeAdapter(dict[str, object])


async def anew(_key: str, read: Read) -> Kept:
    """Read a page, even if it was read before."""
    return await read()


class AlgoliaClient:
    """Searches, and reads trees.

    Args:
        algolia_url: Root of the API, with or without a slash at the end.
        connect: Returns the fetcher.
    """

    def __init__(self, algolia_url: str, connect: Connect) -> None:
        self._api = JsonApi("Hacker News' search", algolia_url, connect)

    async def tree(self, item_id: int, most: int) -> Tree:
        """Return an item and at most ``most`` of the comments below it.

        Raises:
            UnknownItemError: The item does not exist.
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is not a tree.
        """
        try:
            root = await self._api.get(f"items/{item_id}", _TREE)
        except FetchError as exc:
            if exc.status == 404:
                raise UnknownItemError(item_id) from exc
            raise
        return flattened(root, most)

    async def search(
        self, query: SearchQuery, once: Once = anew, is_final: IsFinal = lambda _: True
    ) -> Found:
        """Return the first ``limit`` hits.

        Args:
            query: The search query.
            once: Reads a page, unless an earlier attempt has read it.
            is_final: Says whether a failure ends the search: it then keeps its hits, with a warning.

        Raises:
            FetchError: Not even the first answer came, or the failure is not final.
            UnexpectedAnswerError: It is not a page of hits.
        """
        sweep, haul = Sweep(query.since, query.until), _Haul()
        failure: FetchError | None = None
        try:
            while sweep.window is not None and len(haul.hits) < query.limit:
                await self._read(query, sweep, sweep.window, haul, once)
                if query.sort == "relevance":  # each time slice has its own most relevant hits
                    break
        except FetchError as exc:
            if not haul.hits or not is_final(exc):
                raise
            failure = exc
        return _found(query, haul, sweep.lost_count, failure)

    async def _read(self, query: SearchQuery, sweep: Sweep, window: Window, haul: _Haul, once: Once) -> None:
        """Add the new hits of a slice to ``haul``, page by page."""
        moments: list[Moment] = []
        total = 0
        for number in range(SEARCH_LIMIT // PER_PAGE):
            read = partial(self._page, _path(query, window, number))
            page = _PAGE.validate_python(await once(f"{window.since}..{window.until} {number}", read))
            total = page.total
            found = [_moment(hit) for hit in page.hits]
            haul.add(page, sweep.fresh(found))
            moments += found
            if len(haul.hits) >= query.limit or number + 1 >= page.page_count:
                break
        sweep.advance(moments, total)

    async def _page(self, path: str) -> Kept:
        page = await self._api.get(path, _PAGE)
        return page.model_dump(mode="json", by_alias=True, include={*SearchPage.model_fields})


@dataclass(slots=True)
class _Haul:
    """The hits of a search so far, and the total number of hits from its first page."""

    hits: list[Answer] = field(default_factory=list)
    total: int | None = None

    def add(self, page: SearchPage, is_new: Iterable[bool]) -> None:
        self.total = page.total if self.total is None else self.total
        self.hits += [hit for hit, is_kept in zip(page.hits, is_new, strict=True) if is_kept]


def _found(query: SearchQuery, haul: _Haul, lost_count: int, failure: FetchError | None) -> Found:
    hits, lost = tuple(haul.hits[: query.limit]), _lost(lost_count)
    if failure is None:
        return Found(hits=hits, warnings=lost)
    wanted = max(min(query.limit, haul.total or 0), len(hits))
    broken = f"the search was interrupted after {len(hits):,} of {wanted:,} hits: {failure}"
    return Found(hits=hits, warnings=(broken, *lost), unread_count=wanted - len(hits))


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
        (
            f"{count:,} hits cannot be read because one second has more than {SEARCH_LIMIT:,}; narrow "
            "query or tags"
        ),
    )
