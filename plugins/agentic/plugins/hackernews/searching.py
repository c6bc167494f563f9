"""The graphs that ask Algolia, and the one that reads users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.executors.errors import NothingReadError
from agentic.plugins.hackernews.algolia import AlgoliaClient
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.errors import UnknownUserError
from agentic.plugins.hackernews.items import Found, HackerNewsUser, SearchQuery, Tree, TreeQuery, UserQuery
from agentic.plugins.hackernews.settings import MAX_PARALLEL, MAX_PARALLEL_TREES
from agentic.plugins.hackernews.trees import joined

DOUBTS = "doubts"
"""State of the run: the warnings of the search that found the trees."""


class Search(Executor):
    """Yields what a search finds, slice by slice."""

    def __init__(self, algolia: AlgoliaClient) -> None:
        super().__init__("search")
        self._algolia = algolia

    @handler
    async def search(self, query: SearchQuery) -> Found:
        """Read the hits."""
        return await self._algolia.search(query)


class FindTrees(Executor):
    """Sends the ids of the items whose trees are wanted."""

    def __init__(self, client: HackerNewsClient, algolia: AlgoliaClient) -> None:
        super().__init__("find_trees")
        self._client = client
        self._algolia = algolia

    @handler
    async def find(self, query: TreeQuery, ctx: WorkflowContext) -> list[int]:
        """Return them as given, or look for them; each once."""
        if query.search is not None:
            found = await self._algolia.search(query.search)
            ctx.set_state(DOUBTS, [*found.warnings])
            ids = [str(hit.get("objectID")) for hit in found.hits]
            return _once(int(name) for name in ids if name.isdecimal())
        if query.stories is not None:
            stories = await self._client.story_ids(query.stories.list)
            return _once(stories[: query.stories.limit])
        return _once(query.items)


class FetchTree(Executor):
    """Sends the tree of an id."""

    def __init__(self, algolia: AlgoliaClient, max_comments: int) -> None:
        super().__init__("fetch_tree")
        self._algolia = algolia
        self._max_comments = max_comments

    @handler
    async def fetch(self, item_id: int) -> Tree:
        """Read it in one call.

        Raises:
            UnknownItemError: There is no such item.
        """
        return await self._algolia.tree(item_id, self._max_comments)


class CollectTrees(Executor):
    """Yields the items of all trees, and a warning for each tree that could not be read."""

    def __init__(self, max_comments: int) -> None:
        super().__init__("collect")
        self._max_comments = max_comments

    @handler
    async def collect(self, results: list[ItemResult], ctx: WorkflowContext) -> Found:
        """Put them in one list, and say how many comments were left out.

        Raises:
            NothingReadError: Every single one failed.
        """
        trees = [result.value for result in results if isinstance(result.value, Tree)]
        doubts: list[str] = ctx.get_state(DOUBTS, [])
        warnings = (*doubts, *_failures(results, len(trees), "trees"))
        nodes, left_out = joined(trees, self._max_comments)
        if left_out:
            warnings += (f"{left_out:,} comments were left out; raise max_comments, or lower limit",)
        return Found(nodes=nodes, warnings=warnings)


class ListUsers(Executor):
    """Sends the names that are wanted."""

    def __init__(self) -> None:
        super().__init__("list_users")

    @handler
    async def names(self, query: UserQuery) -> list[str]:
        """Return each once."""
        return [*dict.fromkeys(query.names)]


class FetchUser(Executor):
    """Sends the user of a name."""

    def __init__(self, client: HackerNewsClient) -> None:
        super().__init__("fetch_user")
        self._client = client

    @handler
    async def fetch(self, name: str) -> HackerNewsUser:
        """Read one user.

        Raises:
            UnknownUserError: Nobody is called that.
        """
        user = await self._client.user(name)
        if user is None:
            raise UnknownUserError(name)
        return user


class CollectUsers(Executor):
    """Yields the users that could be read, and a warning for each that could not."""

    def __init__(self) -> None:
        super().__init__("collect")

    @handler
    async def collect(self, results: list[ItemResult]) -> Found:
        """Put the users in the order of their names' list.

        Raises:
            NothingReadError: Every single one failed.
        """
        users = tuple(result.value for result in results if isinstance(result.value, HackerNewsUser))
        return Found(users=users, warnings=_failures(results, len(users), "users"))


def search_workflow(algolia: AlgoliaClient) -> Workflow:
    """Return the graph of a search; it takes a :class:`SearchQuery` and yields :class:`Found`."""
    return WorkflowBuilder("hackernews.search", version="1").set_start(Search(algolia)).build()


def tree_workflow(client: HackerNewsClient, algolia: AlgoliaClient, max_comments: int) -> Workflow:
    """Return the graph of comments; it takes a :class:`TreeQuery` and yields :class:`Found`."""
    find, fetch = FindTrees(client, algolia), FetchTree(algolia, max_comments)
    return (
        WorkflowBuilder("hackernews.comments", version="1")
        .set_start(find)
        .add_map_edge(find, fetch, CollectTrees(max_comments), max_parallel=MAX_PARALLEL_TREES)
        .build()
    )


def user_workflow(client: HackerNewsClient) -> Workflow:
    """Return the graph of users; it takes a :class:`UserQuery` and yields :class:`Found`."""
    names = ListUsers()
    return (
        WorkflowBuilder("hackernews.users", version="1")
        .set_start(names)
        .add_map_edge(names, FetchUser(client), CollectUsers(), max_parallel=MAX_PARALLEL)
        .build()
    )


def _once(ids: Iterable[int]) -> list[int]:
    return [*dict.fromkeys(ids)]


def _failures(results: Sequence[ItemResult], read_count: int, noun: str) -> tuple[str, ...]:
    failures = tuple(result.error.message for result in results if result.error is not None)
    if failures and not read_count:
        raise NothingReadError(len(failures), failures[0], noun)
    return failures
