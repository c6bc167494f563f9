"""The graph: read a list, read its items in parallel, and collect them in list order."""

from __future__ import annotations

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, handler
from agentic.core.http import open_fetcher
from agentic.executors.retrying import ask_again, refusing
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.errors import ItemGoneError
from agentic.plugins.hackernews.failures import failures_in
from agentic.plugins.hackernews.items import HackerNewsItem, RankedItem, Stories, StoryQuery
from agentic.plugins.hackernews.settings import MAX_PARALLEL, HackerNewsSettings


class ListStories(Executor):
    """Sends the ids of the wanted stories, best first."""

    def __init__(self, client: HackerNewsClient, max_wait_s: float) -> None:
        super().__init__("list_stories", retry=ask_again(max_wait_s))
        self._client = client
        self._max_wait_s = max_wait_s

    @handler
    async def read(self, query: StoryQuery) -> list[int]:
        """Read the list that ``query`` names.

        Raises:
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
        """
        with refusing(self._max_wait_s):
            ids = await self._client.story_ids(query.list)
        return ids[: query.limit]


class FetchItem(Executor):
    """Sends the item of an id."""

    def __init__(self, client: HackerNewsClient, max_wait_s: float) -> None:
        super().__init__("fetch_item", retry=ask_again(max_wait_s))
        self._client = client
        self._max_wait_s = max_wait_s

    @handler
    async def fetch(self, item_id: int) -> HackerNewsItem:
        """Read one item.

        Raises:
            ItemGoneError: The item no longer exists.
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
        """
        with refusing(self._max_wait_s):
            item = await self._client.item(item_id)
        if item is None:
            raise ItemGoneError(item_id)
        return item


class CollectStories(Executor):
    """Yields the items that could be read, and a warning for each that could not."""

    def __init__(self) -> None:
        super().__init__("collect")

    @handler
    async def collect(self, results: list[ItemResult]) -> Stories:
        """Sort the items in list order.

        Raises:
            NothingReadError: Every single one failed; probably Hacker News is unreachable.
        """
        stories = tuple(
            RankedItem(rank=result.index + 1, item=result.value)
            for result in results
            if isinstance(result.value, HackerNewsItem)
        )
        warnings = failures_in(results, len(stories), "stories")
        return Stories(stories=stories, warnings=warnings, unread_count=len(warnings))


def story_workflow(client: HackerNewsClient, max_wait_s: float) -> Workflow:
    """Return the graph; it takes a :class:`StoryQuery` and yields :class:`Stories`.

    Args:
        client: Queries Hacker News.
        max_wait_s: Longest accepted wait for a limit.
    """
    list_stories = ListStories(client, max_wait_s)
    fetch = FetchItem(client, max_wait_s)
    return (
        WorkflowBuilder("hackernews", version="1")
        .set_start(list_stories)
        .add_map_edge(list_stories, fetch, CollectStories(), max_parallel=MAX_PARALLEL)
        .build()
    )


def default_workflow() -> Workflow:
    """Return the graph on the public API to run or draw by name; each request opens its own fetcher."""
    settings = HackerNewsSettings()
    client = HackerNewsClient(settings.base_url, lambda: open_fetcher(settings.policy()))
    return story_workflow(client, settings.max_wait_s)
