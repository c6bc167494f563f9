"""The settings of agents of the platform ``feed``."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, field_validator, model_validator

from agentic.core.http import HttpError, HttpPolicy, canonical_url

MAX_FEEDS = 1_000
MAX_PARALLEL = 16
MAX_POLLS = 250
"""A run's entries are a message of its graph: 300 feeds of 50 short entries took 280 MiB."""
MIN_INTERVAL_S = 15 * 60
MAX_INTERVAL_S = 24 * 60 * 60
MAX_WAIT_S = 5.0
"""If a host asks for a longer pause, a later run polls it."""


class FeedSettings(BaseModel):
    """The config of a feed agent: which feeds it watches, and how often each is asked at most."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    feeds: tuple[str, ...] = Field(default=(), max_length=MAX_FEEDS, description="URLs of feeds.")
    opml: str | None = Field(
        default=None, min_length=1, description="A list of more feeds: URL or path of an OPML file."
    )
    min_interval_s: int = Field(
        default=MIN_INTERVAL_S,
        ge=MIN_INTERVAL_S,
        le=MAX_INTERVAL_S,
        description="Interval between polls of a feed: up to a day, and longer if the feed asks for it.",
    )
    ignore_schedule: bool = Field(default=False, description="Poll feeds before they are due.")
    ask_disabled: bool = Field(
        default=False, description="Poll disabled feeds, too; a feed that works again is enabled."
    )
    max_polls: int = Field(
        default=MAX_POLLS,
        ge=1,
        le=2 * MAX_FEEDS,
        description="Feeds per run, those that wait longest first; the others follow in the next run.",
    )
    max_entries: int = Field(
        default=500,
        ge=1,
        le=5_000,
        description="Entries stored per answer, from the top; more are a warning.",
    )
    obey_robots: bool = Field(default=True, description="Whether robots.txt is respected.")
    requests_per_second: PositiveFloat | None = Field(default=None, description="Own rate limit per host.")
    timeout_s: PositiveFloat = Field(default=30, description="Timeout of one request.")
    allow_private_hosts: tuple[str, ...] = Field(
        default=(), description='Private hosts that feeds may be on, such as "127.0.0.1:8000".'
    )

    @field_validator("feeds")
    @classmethod
    def _askable(cls, feeds: tuple[str, ...]) -> tuple[str, ...]:
        for number, url in enumerate(feeds):
            check_feed_url(url, f"feed {number}")
        return feeds

    @model_validator(mode="after")
    def _watches_something(self) -> Self:
        if not self.feeds and self.opml is None:
            raise ValueError("no feeds to watch; give feeds, or opml")
        return self

    def policy(self) -> HttpPolicy:
        """Return how to fetch."""
        return HttpPolicy(
            timeout_s=self.timeout_s,
            allow_private_hosts=self.allow_private_hosts,
            obey_robots=self.obey_robots,
            requests_per_second=self.requests_per_second,
            max_connections_per_host=MAX_PARALLEL,
            max_wait_s=MAX_WAIT_S,
        )


def check_feed_url(url: str, name: str) -> None:
    """Check that a feed can be fetched; its URL is stored, so it must not contain a password.

    Args:
        url: As given.
        name: Its readable name: the URL itself may contain a secret.

    Raises:
        ValueError: It cannot.
    """
    try:
        found = canonical_url(url)
    except HttpError as exc:
        raise ValueError(f"{name}: {exc}") from None
    if "@" in found.partition("//")[2].partition("/")[0]:
        raise ValueError(f"{name} has a user name in its URL; feeds behind a login are for pipelines")
