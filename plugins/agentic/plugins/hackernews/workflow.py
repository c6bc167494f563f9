"""The graph: read a list, its items side by side, and collect them in the order of the list."""

from __future__ import annotations

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, handler
from agentic.core.http import open_fetcher
from agentic.executors.errors import NothingReadError
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.errors import ItemGoneError
from agentic.plugins.hackernews.items import HackerNewsItem, RankedItem, Stories, StoryQuery
from agentic.plugins.hackernews.settings import MAX_PARALLEL, HackerNewsSettings


class ListStories(Executor):
    """Sends the ids of the wanted stories, best first."""

    def __init__(self, client: HackerNewsClient) -> None:
        super().__init__("list_stories")
        self._client = client

    @handler
    async def read(self, query: StoryQuery) -> list[int]:
        """Read the list that ``query`` names."""
        ids = await self._client.story_ids(query.list)
        return ids[: query.limit]


class FetchItem(Executor):
    """Sends the item of an id."""

    def __init__(self, client: HackerNewsClient) -> None:
        super().__init__("fetch_item")
        self._client = client

    @handler
    async def fetch(self, item_id: int) -> HackerNewsItem:
        """Read one item.

        Raises:
            ItemGoneError: There is no such item any more.
        """
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
        """Put the items in the order of the list.

        Raises:
            NothingReadError: Every single one failed, so that Hacker News is hardly to be reached.
        """
        stories = tuple(
            RankedItem(rank=result.index + 1, item=result.value)
            for result in results
            if isinstance(result.value, HackerNewsItem)
        )
        warnings = tuple(result.error.message for result in results if result.error is not None)
        if warnings and not stories:
            raise NothingReadError(len(warnings), warnings[0], "stories")
        return Stories(stories=stories, warnings=warnings)


def story_workflow(client: HackerNewsClient) -> Workflow:
    """Return the graph; it takes a :class:`StoryQuery` and yields :class:`Stories`."""
    list_stories = ListStories(client)
    return (
        WorkflowBuilder("hackernews", version="1")
        .set_start(list_stories)
        .add_map_edge(list_stories, FetchItem(client), CollectStories(), max_parallel=MAX_PARALLEL)
        .build()
    )


def default_workflow() -> Workflow:
    """Return the graph on the public API, to be run or drawn by name; each request opens its own fetcher."""
    settings = HackerNewsSettings()
    return story_workflow(HackerNewsClient(settings.base_url, lambda: open_fetcher(settings.policy())))
