"""The graphs that query Algolia, and the graph that reads users."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.http import FetchError
from agentic.executors.errors import refusal_of
from agentic.executors.retrying import TRIES, ask_again, refusing
from agentic.plugins.hackernews.algolia import AlgoliaClient
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.errors import UnknownUserError
from agentic.plugins.hackernews.failures import failures_in
from agentic.plugins.hackernews.items import Found, HackerNewsUser, SearchQuery, Tree, TreeQuery, UserQuery
from agentic.plugins.hackernews.settings import MAX_PARALLEL, MAX_PARALLEL_TREES
from agentic.plugins.hackernews.trees import joined

DOUBTS = "doubts"
"""State of the run: the skipped parts of the search that found the trees, as :class:`Found` without hits."""


class Search(Executor):
    """Yields the results of a search, slice by slice."""

    def __init__(self, algolia: AlgoliaClient, max_wait_s: float) -> None:
        super().__init__("search", retry=ask_again(max_wait_s))
        self._algolia = algolia
        self._max_wait_s = max_wait_s

    @handler
    async def search(self, query: SearchQuery, ctx: WorkflowContext) -> Found:
        """Read the hits; see :func:`searched`."""
        return await searched(self._algolia, query, ctx, self._max_wait_s)


class FindTrees(Executor):
    """Sends the ids of the items whose trees to read."""

    def __init__(self, client: HackerNewsClient, algolia: AlgoliaClient, max_wait_s: float) -> None:
        super().__init__("find_trees", retry=ask_again(max_wait_s))
        self._client = client
        self._algolia = algolia
        self._max_wait_s = max_wait_s

    @handler
    async def find(self, query: TreeQuery, ctx: WorkflowContext) -> list[int]:
        """Return them as given, or search for them; each once.

        Raises:
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
        """
        if query.search is not None:
            found = await searched(self._algolia, query.search, ctx, self._max_wait_s)
            ctx.set_state(DOUBTS, found.model_copy(update={"hits": ()}).model_dump(mode="json"))
            ids = [str(hit.get("objectID")) for hit in found.hits]
            return _once(int(name) for name in ids if name.isdecimal())
        if query.stories is not None:
            with refusing(self._max_wait_s):
                stories = await self._client.story_ids(query.stories.list)
            return _once(stories[: query.stories.limit])
        return _once(query.items)


class FetchTree(Executor):
    """Sends the tree of an id."""

    def __init__(self, algolia: AlgoliaClient, max_comments: int, max_wait_s: float) -> None:
        super().__init__("fetch_tree", retry=ask_again(max_wait_s))
        self._algolia = algolia
        self._max_comments = max_comments
        self._max_wait_s = max_wait_s

    @handler
    async def fetch(self, item_id: int) -> Tree:
        """Read it in one call.

        Raises:
            UnknownItemError: The item does not exist.
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
        """
        with refusing(self._max_wait_s):
            return await self._algolia.tree(item_id, self._max_comments)


class CollectTrees(Executor):
    """Yields the items of all trees, and a warning for each tree that could not be read."""

    def __init__(self, max_comments: int) -> None:
        super().__init__("collect")
        self._max_comments = max_comments

    @handler
    async def collect(self, results: list[ItemResult], ctx: WorkflowContext) -> Found:
        """Combine them into one list, and report how many comments were left out.

        Raises:
            NothingReadError: Every single one failed.
        """
        trees = [result.value for result in results if isinstance(result.value, Tree)]
        failures = failures_in(results, len(trees), "trees")
        doubts = Found.model_validate(ctx.get_state(DOUBTS, {}))
        warnings = (*doubts.warnings, *failures)
        nodes, left_out = joined(trees, self._max_comments)
        if left_out:
            warnings += (f"{left_out:,} comments were skipped; raise max_comments, or lower limit",)
        return Found(nodes=nodes, warnings=warnings, unread_count=doubts.unread_count + len(failures))


class ListUsers(Executor):
    """Sends the names to read."""

    def __init__(self) -> None:
        super().__init__("list_users")

    @handler
    async def names(self, query: UserQuery) -> list[str]:
        """Return each once."""
        return [*dict.fromkeys(query.names)]


class FetchUser(Executor):
    """Sends the user of a name."""

    def __init__(self, client: HackerNewsClient, max_wait_s: float) -> None:
        super().__init__("fetch_user", retry=ask_again(max_wait_s))
        self._client = client
        self._max_wait_s = max_wait_s

    @handler
    async def fetch(self, name: str) -> HackerNewsUser:
        """Read one user.

        Raises:
            UnknownUserError: No user has that name.
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
        """
        with refusing(self._max_wait_s):
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
        """Sort the users in the order of the names.

        Raises:
            NothingReadError: Every single one failed.
        """
        users = tuple(result.value for result in results if isinstance(result.value, HackerNewsUser))
        failures = failures_in(results, len(users), "users")
        return Found(users=users, warnings=failures, unread_count=len(failures))


async def searched(
    algolia: AlgoliaClient, query: SearchQuery, ctx: WorkflowContext, max_wait_s: float
) -> Found:
    """Return the results of a search. A retry does not repeat pages.

    The last attempt, or a refusal, keeps the hits so far, with a warning.

    Raises:
        FetchError: A retry may succeed.
        SourceRefusedError: A retry will fail, too, and nothing was found.
    """

    def is_final(failure: FetchError) -> bool:
        return ctx.attempt >= TRIES or refusal_of(failure, max_wait_s) is not None

    with refusing(max_wait_s):
        return await algolia.search(query, ctx.once, is_final)


def search_workflow(algolia: AlgoliaClient, max_wait_s: float) -> Workflow:
    """Return the graph of a search; it takes a :class:`SearchQuery` and yields :class:`Found`."""
    return WorkflowBuilder("hackernews.search", version="1").set_start(Search(algolia, max_wait_s)).build()


def tree_workflow(
    client: HackerNewsClient, algolia: AlgoliaClient, *, max_comments: int, max_wait_s: float
) -> Workflow:
    """Return the graph of comments; it takes a :class:`TreeQuery` and yields :class:`Found`."""
    find = FindTrees(client, algolia, max_wait_s)
    fetch = FetchTree(algolia, max_comments, max_wait_s)
    return (
        WorkflowBuilder("hackernews.comments", version="1")
        .set_start(find)
        .add_map_edge(find, fetch, CollectTrees(max_comments), max_parallel=MAX_PARALLEL_TREES)
        .build()
    )


def user_workflow(client: HackerNewsClient, max_wait_s: float) -> Workflow:
    """Return the graph of users; it takes a :class:`UserQuery` and yields :class:`Found`."""
    names, fetch = ListUsers(), FetchUser(client, max_wait_s)
    return (
        WorkflowBuilder("hackernews.users", version="1")
        .set_start(names)
        .add_map_edge(names, fetch, CollectUsers(), max_parallel=MAX_PARALLEL)
        .build()
    )


def _once(ids: Iterable[int]) -> list[int]:
    return [*dict.fromkeys(ids)]
