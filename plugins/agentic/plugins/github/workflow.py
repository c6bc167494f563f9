"""The graph: plan the targets, read them one by one, and combine the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, handler
from agentic.core.http import open_fetcher
from agentic.executors.errors import NothingReadError
from agentic.executors.retrying import ask_again, refusing
from agentic.plugins.github.client import GithubClient
from agentic.plugins.github.items import Found, GithubQuery, Target
from agentic.plugins.github.settings import GithubSettings

if TYPE_CHECKING:
    from collections.abc import Sequence


class Plan(Executor):
    """Sends the targets of a query: one per repository, so that a missing one does not affect others."""

    def __init__(self) -> None:
        super().__init__("plan")

    @handler
    async def plan(self, query: GithubQuery) -> list[Target]:
        """Return the targets."""
        if query.query is not None:
            kind = query.kind if query.mode == "search" else "repositories"
            return [
                Target(
                    what="search",
                    name=query.query,
                    kind=kind,
                    sort=query.sort,
                    order=query.order,
                    limit=query.limit,
                )
            ]
        what = "repos" if query.mode == "search" else query.mode
        names = {name.lower(): name for name in query.repos}.values()
        return [
            Target(what=what, name=name, state=query.state, since=query.since, limit=query.limit)
            for name in names
        ]


class Read(Executor):
    """Reads a target. While GitHub requests a pause, the activation waits without a worker."""

    def __init__(self, client: GithubClient, max_wait_s: float) -> None:
        super().__init__("read", retry=ask_again(max_wait_s))
        self._client = client
        self._max_wait_s = max_wait_s

    @handler
    async def read(self, target: Target) -> Found:
        """Read all of it.

        Raises:
            FetchError: A retry may succeed.
            SourceRefusedError: A retry will fail, too.
        """
        with refusing(self._max_wait_s):
            return await self._client.read(target)


class Collect(Executor):
    """Yields the combined results, and a warning for each target that could not be read."""

    def __init__(self) -> None:
        super().__init__("collect")

    @handler
    async def collect(self, results: list[ItemResult]) -> Found:
        """Combine them in the order of the targets.

        Raises:
            NothingReadError: Every single one failed.
        """
        found = [result.value for result in results if isinstance(result.value, Found)]
        failures = tuple(result.error.message for result in results if result.error is not None)
        if failures and not found:
            raise NothingReadError(len(failures), failures[0])
        return _joined([*found, Found(warnings=failures)])


def github_workflow(client: GithubClient, max_wait_s: float) -> Workflow:
    """Return the graph; it takes a :class:`GithubQuery` and yields :class:`Found`.

    Args:
        client: Queries GitHub.
        max_wait_s: Longest accepted wait for a limit.
    """
    plan = Plan()
    return (
        WorkflowBuilder("github", version="1")
        .set_start(plan)
        # GitHub requests one request at a time.
        .add_map_edge(plan, Read(client, max_wait_s), Collect(), max_parallel=1)
        .build()
    )


def default_workflow() -> Workflow:
    """Return the anonymous graph on the public API, to run or draw by name."""
    settings = GithubSettings(query="stars:>1")  # any value: the input is the query
    client = GithubClient(settings.base_url, lambda: open_fetcher(settings.policy()))
    return github_workflow(client, settings.max_wait_s)


def _joined(parts: Sequence[Found]) -> Found:
    return Found(
        repos=tuple(repo for part in parts for repo in part.repos),
        issues=tuple(record for part in parts for record in part.issues),
        releases=tuple(record for part in parts for record in part.releases),
        warnings=tuple(sentence for part in parts for sentence in part.warnings),
    )
