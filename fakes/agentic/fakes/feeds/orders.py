"""What the workshop does with its feeds after they were first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt

from agentic.fakes.feeds.entries import Entry

SYNDICATION = "http://purl.org/rss/1.0/modules/syndication/"


class FeedOrder(BaseModel):
    """How the feeds are now; it replaces the order before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    held_back: NonNegativeInt = Field(default=0, description="Newest entries that are not published yet.")
    titles: dict[int, str] = Field(default_factory=dict, description="New titles, by number of the entry.")
    views: NonNegativeInt = Field(default=0, description="Views that each video got meanwhile.")
    ttl_minutes: PositiveInt | None = Field(default=None, description="`<ttl>` of the RSS feeds.")
    update_period: Literal["hourly", "daily", "weekly", "monthly", "yearly"] | None = None
    update_frequency: PositiveInt | None = Field(default=None, description="How often in that period.")
    max_age_s: NonNegativeInt | None = Field(
        default=None, description="`Cache-Control: max-age` of all feeds."
    )

    def entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return what of ``entries`` is published, as it is now."""
        return [
            replace(entry, title=title, updated=entry.updated + timedelta(hours=1))
            if (title := self.titles.get(entry.number))
            else entry
            for entry in entries[self.held_back :]
        ]

    def wishes(self) -> str:
        """Return the elements of a channel that say how often to ask for it."""
        told = "" if self.ttl_minutes is None else f"<ttl>{self.ttl_minutes}</ttl>"
        for name, value in (("Period", self.update_period), ("Frequency", self.update_frequency)):
            if value is not None:
                told += f'<sy:update{name} xmlns:sy="{SYNDICATION}">{value}</sy:update{name}>'
        return told


AS_EVER = FeedOrder()


class FeedOrders:
    """The order of now; may be used from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._order = AS_EVER

    def change(self, order: FeedOrder) -> None:
        """Let the feeds be as ``order`` says."""
        with self._lock:
            self._order = order

    def now(self) -> FeedOrder:
        """Return how the feeds are."""
        with self._lock:
            return self._order

    def reset(self) -> None:
        """Let the feeds be as they were at first."""
        self.change(AS_EVER)
