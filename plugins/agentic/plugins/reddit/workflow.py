"""The graphs: plan the targets, read them one by one, and combine the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.http import FailureClass, FetchError, open_fetcher
from agentic.executors.errors import NothingReadError, SourceRefusedError
from agentic.executors.retrying import TRIES, ask_again, refusing
from agentic.plugins.reddit.client import RedditClient, api_client
from agentic.plugins.reddit.errors import NotYetError
from agentic.plugins.reddit.planning import joined, targets_of, trees_of
from agentic.plugins.reddit.reading.items import Found, RedditQuery, Target
from agentic.plugins.reddit.settings import RedditSettings

if TYPE_CHECKING:
    from pydantic import SecretStr

TURNS = 60
"""How often a feed waits for others, each time for a minute."""

POSTS = "posts"
"""State of the run: the results before the trees were read, as :class:`Found`."""


class Plan(Executor):
    """Sends the targets of a query separately, so that a closed one does not affect others."""

    def __init__(self) -> None:
        super().__init__("plan")

    @handler
    async def plan(self, query: RedditQuery, ctx: WorkflowContext) -> list[Target]:
        """Return the targets."""
        if query.is_cut:
            sentence = f"only the newest {len(query.ids):,} stored posts are read; set fewer days"
            ctx.set_state(POSTS, Found(warnings=(sentence,)).model_dump(mode="json", exclude_defaults=True))
        return targets_of(query)


class Read(Executor):
    """Reads a target. While Reddit requests a pause, the activation waits without a worker.

    Args:
        client: Asks Reddit.
        max_wait_s: Longest wait that a limit may ask for.
        name: Of the node.
        is_paced: All agents take turns at the host, one per minute: waiting for a turn is not a failure.
    """

    def __init__(
        self, client: RedditClient, max_wait_s: float, name: str = "read", *, is_paced: bool = False
    ) -> None:
        # Otherwise the delay would grow with each turn.
        paced = ask_again(max_wait_s, most=TRIES + TURNS, backoff=1.0)
        super().__init__(name, retry=paced if is_paced else ask_again(max_wait_s))
        self._client = client
        self._max_wait_s = max_wait_s
        self._is_paced = is_paced

    @handler
    async def read(self, target: Target, ctx: WorkflowContext) -> Found:
        """Read all of it.

        Raises:
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
            BrowserUnavailableError: It needs a browser, but none is available.
        """
        try:
            with refusing(self._max_wait_s):
                return await self._client.read(target)
        except FetchError as exc:
            if self._is_paced and exc.failure_class == FailureClass.RATE_LIMITED and exc.status is None:
                raise NotYetError(exc) from None
            if sum(one.error_type != NotYetError.__name__ for one in ctx.previous_attempts) + 1 >= TRIES:
                raise SourceRefusedError(exc) from exc
            raise


class PickTrees(Executor):
    """Sends the posts whose comments to read, and keeps the results so far."""

    def __init__(self) -> None:
        super().__init__("pick_trees")

    @handler
    async def pick(self, results: list[ItemResult], ctx: WorkflowContext) -> list[Target]:
        """Return the posts whose comments to read.

        Raises:
            NothingReadError: No listing could be read.
        """
        found = _whole(results)
        ctx.set_state(POSTS, found.model_dump(mode="json", exclude_defaults=True))
        return trees_of(found)


class Collect(Executor):
    """Yields the combined results, and a warning for each target that could not be read."""

    def __init__(self) -> None:
        super().__init__("collect")

    @handler
    async def collect(self, results: list[ItemResult], ctx: WorkflowContext) -> Found:
        """Combine them in the order of the targets, after the earlier results.

        Raises:
            NothingReadError: Every single one failed.
        """
        known = Found.model_validate(ctx.get_state(POSTS, {}))
        return joined([known, _whole(results)])


def reddit_workflow(
    client: RedditClient, max_wait_s: float, *, is_tree: bool = False, is_paced: bool = False
) -> Workflow:
    """Return the graph; it takes a :class:`RedditQuery` and yields :class:`Found`.

    Args:
        client: Asks Reddit.
        max_wait_s: Longest wait that a limit may ask for.
        is_tree: Whether to read the comments of the found posts, too.
        is_paced: Whether to read feeds; all agents take turns at them.
    """
    plan, collect = Plan(), Collect()
    # One request at a time: all count for one limit.
    if not is_tree:
        read = Read(client, max_wait_s, is_paced=is_paced)
        builder = WorkflowBuilder("reddit", version="1").set_start(plan)
        return builder.add_map_edge(plan, read, collect, max_parallel=1).build()
    pick = PickTrees()
    return (
        WorkflowBuilder("reddit.comments", version="1")
        .set_start(plan)
        .add_map_edge(plan, Read(client, max_wait_s), pick, max_parallel=1)
        .add_map_edge(pick, Read(client, max_wait_s, "read_tree"), collect, max_parallel=1)
        .build()
    )


def default_workflow() -> Workflow:
    """Return the graph on the public feeds, to run or draw by name."""
    settings = RedditSettings(mode="feed", subreddits=("all",))  # the input is the query

    client = api_client(settings, lambda: open_fetcher(settings.policy()), _no_secrets)
    return reddit_workflow(client, settings.max_wait_s, is_paced=True)


async def _no_secrets(name: str) -> SecretStr:
    raise LookupError(f"secret {name!r} is not available here; run an agent")


def _whole(results: list[ItemResult]) -> Found:
    found = [result.value for result in results if isinstance(result.value, Found)]
    failures = tuple(result.error.message for result in results if result.error is not None)
    if failures and not found:
        raise NothingReadError(len(failures), failures[0])
    return joined([*found, Found(warnings=failures)])
