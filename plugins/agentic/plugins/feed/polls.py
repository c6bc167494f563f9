"""The messages of the graph: watched feeds, their states, and the results of polls."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.plugins.feed.settings import MAX_POLLS

SHOWN_DIGITS = 8


class WatchList(BaseModel):
    """Which feeds are wanted."""

    __wire_name__ = "agentic.plugins.feed.polls.WatchList"

    model_config = ConfigDict(extra="forbid", frozen=True)

    feeds: tuple[str, ...] = ()
    opml: str | None = None
    ignore_schedule: bool = False
    ask_disabled: bool = False
    max_polls: PositiveInt = MAX_POLLS


class FeedState(BaseModel):
    """A feed as it stands between two polls.

    Attributes:
        id: Key of the URL it was first known by (:func:`agentic.core.http.url_key`); it stays when the feed
            moves.
        url: Where it is asked.
        title: As it calls itself.
        home_url: The page it is the feed of.
        etag: Validator of the newest answer, as is ``last_modified``.
        interval_s: How long it wants to be left alone between two polls.
        next_poll_at: When it may be asked again; None if it never was.
        failures: Polls since the last that went well.
        last_error: Why the last one failed.
        disabled_at: When its server said that it is gone; it is not asked any more.
    """

    __wire_name__ = "agentic.plugins.feed.polls.FeedState"

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    url: str
    title: str | None = None
    home_url: str | None = None
    language: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    interval_s: PositiveInt | None = None
    polled_at: datetime | None = None
    changed_at: datetime | None = None
    next_poll_at: datetime | None = None
    failures: NonNegativeInt = 0
    last_error: str | None = None
    disabled_at: datetime | None = None

    @property
    def name(self) -> str:
        """Its readable name, with its title: URL queries are not shown, and YouTube's URLs look alike."""
        title = f" {self.title!r:.80}" if self.title else ""
        return f"feed {self.id[:SHOWN_DIGITS]}{title} at {safe_url(self.url)}"


class PollOutcome(StrEnum):
    """The result of a poll; ``postponed``: its host requests a pause, ``gone``: it no longer exists."""

    __wire_name__ = "agentic.plugins.feed.polls.PollOutcome"

    READ = "read"
    UNCHANGED = "unchanged"
    POSTPONED = "postponed"
    FAILED = "failed"
    GONE = "gone"


class Poll(BaseModel):
    """One poll of one feed.

    Attributes:
        feed: How it stands now.
        outcome: What became of it.
        entries: As :func:`agentic.core.reading.feeds.read_feed` gives them.
        left_out: Entries beyond the limit.
        warnings: A sentence for each thing somebody should know.
    """

    __wire_name__ = "agentic.plugins.feed.polls.Poll"

    model_config = ConfigDict(extra="forbid", frozen=True)

    feed: FeedState
    outcome: PollOutcome
    entries: tuple[dict[str, JSONValue], ...] = ()
    left_out: NonNegativeInt = 0
    warnings: tuple[str, ...] = ()


class Polls(BaseModel):
    """What a run did: its polls, and the feeds it let be.

    Attributes:
        polls: In the order of the list.
        skipped: Feeds that were not due.
        waiting: Feeds that were due, and too many for one run.
        disabled: Feeds that are gone.
        warnings: What belongs to no poll.
    """

    __wire_name__ = "agentic.plugins.feed.polls.Polls"

    model_config = ConfigDict(extra="forbid", frozen=True)

    polls: tuple[Poll, ...] = ()
    skipped: NonNegativeInt = 0
    waiting: NonNegativeInt = 0
    disabled: NonNegativeInt = 0
    warnings: tuple[str, ...] = ()

    def outcome_counts(self) -> dict[str, int]:
        """Return the number of polls by outcome, and the number of omitted entries."""
        found = Counter(poll.outcome for poll in self.polls)
        counts = {str(outcome): found[outcome] for outcome in PollOutcome}
        return {**counts, "left_out": sum(poll.left_out for poll in self.polls)}
