"""The graph: find due feeds, poll them in parallel, and collect the results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agentic.core.graph import Executor, ItemResult, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.http import FetchError, open_fetcher
from agentic.core.threads import in_thread
from agentic.executors.retrying import ask_again, refusing
from agentic.mappers import utc_now
from agentic.plugins.feed import schedule
from agentic.plugins.feed.client import FeedClient
from agentic.plugins.feed.errors import UnreadableFeedError, UnreadableOpmlError
from agentic.plugins.feed.opml import read_opml
from agentic.plugins.feed.polls import FeedState, Poll, Polls, WatchList
from agentic.plugins.feed.settings import MAX_PARALLEL, MAX_WAIT_S, FeedSettings
from agentic.plugins.feed.store import Known

LET_BE = "let_be"
"""State of the run: the feeds that are not polled, as :class:`Polls` without polls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingLimits:
    """How to poll feeds.

    Attributes:
        min_interval_s: Shortest time from one poll to the next.
        max_entries: Maximum per answer.
        clock: Gives the time, aware.
    """

    min_interval_s: float
    max_entries: int
    clock: Callable[[], datetime] = utc_now

    @classmethod
    def of(cls, settings: FeedSettings, clock: Callable[[], datetime] = utc_now) -> PollingLimits:
        """Return the values of ``settings``."""
        return cls(min_interval_s=settings.min_interval_s, max_entries=settings.max_entries, clock=clock)


class ListFeeds(Executor):
    """Sends the feeds that are due."""

    def __init__(self, client: FeedClient, known: Known, clock: Callable[[], datetime]) -> None:
        super().__init__("list_feeds", retry=ask_again(MAX_WAIT_S))
        self._client = client
        self._known = known
        self._clock = clock

    @handler
    async def read(self, wanted: WatchList, ctx: WorkflowContext) -> list[FeedState]:
        """Return the due feeds of ``wanted``, with their states.

        Raises:
            FetchError: Fetching the OPML failed; a retry may succeed.
            SourceRefusedError: A retry will fail, too.
            UnreadableOpmlError: It is not OPML.
        """
        listed, doubts = await self._listed(wanted.opml) if wanted.opml else ([], [])
        urls = [*wanted.feeds, *listed]
        feeds, moved = schedule.watched(urls, await in_thread(self._known, urls))
        due = schedule.due(feeds, wanted, self._clock())
        let_be = Polls(
            skipped=due.skipped,
            waiting=due.waiting,
            disabled=due.disabled,
            warnings=(*doubts, *moved),
        )
        ctx.set_state(LET_BE, let_be.model_dump(mode="json"))
        return list(due.feeds)

    async def _listed(self, place: str) -> tuple[list[str], list[str]]:
        if place.startswith(("http://", "https://")):
            with refusing(MAX_WAIT_S):
                body = await self._client.opml(place)
        else:
            try:
                body = await asyncio.to_thread(Path(place).read_bytes)
            except OSError as exc:
                raise UnreadableOpmlError(place, exc.strerror or str(exc)) from None
        return await asyncio.to_thread(read_opml, body, place)


class PollFeed(Executor):
    """Sends the result of a poll."""

    def __init__(self, client: FeedClient, limits: PollingLimits) -> None:
        super().__init__("poll_feed")
        self._client = client
        self._limits = limits

    @handler
    async def poll(self, feed: FeedState) -> Poll:
        """Poll one feed; a missing answer is a result, too: it says when to retry."""
        now, floor_s = self._limits.clock(), self._limits.min_interval_s
        try:
            response, found = await self._client.ask(feed)
        except (FetchError, UnreadableFeedError) as exc:
            return schedule.failed(feed, exc, now, floor_s=floor_s)
        if found is None:
            return schedule.unchanged(feed, response, now, floor_s=floor_s)
        limit = self._limits.max_entries
        return schedule.read(feed, response, found, now, floor_s=floor_s, max_entries=limit)


class CollectPolls(Executor):
    """Yields all polls, and the number of feeds that were not polled."""

    def __init__(self) -> None:
        super().__init__("collect")

    @handler
    async def collect(self, results: list[ItemResult], ctx: WorkflowContext) -> Polls:
        """Sort the polls in list order; a broken poll becomes a warning, and is retried the next time."""
        polls = tuple(result.value for result in results if isinstance(result.value, Poll))
        broken = tuple(
            f"poll {result.index} failed: {result.error.message}" for result in results if result.error
        )
        let_be = Polls.model_validate(ctx.get_state(LET_BE))
        return let_be.model_copy(update={"polls": polls, "warnings": (*let_be.warnings, *broken)})


def poll_workflow(client: FeedClient, known: Known, limits: PollingLimits) -> Workflow:
    """Return the graph; it takes a :class:`WatchList` and yields :class:`Polls`."""
    list_feeds = ListFeeds(client, known, limits.clock)
    return (
        WorkflowBuilder("feed", version="1")
        .set_start(list_feeds)
        .add_map_edge(list_feeds, PollFeed(client, limits), CollectPolls(), max_parallel=MAX_PARALLEL)
        .build()
    )


def default_workflow() -> Workflow:
    """Return the graph to run or draw by name: it knows no feeds, and each request opens a fetcher."""
    settings = FeedSettings(opml="-")  # any value: the input lists the feeds to watch
    client = FeedClient(lambda: open_fetcher(settings.policy()))
    return poll_workflow(client, lambda _: [], PollingLimits.of(settings))
