"""How often one may ask the fake GitHub, and what has changed there since it was made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from threading import Lock
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt

Resource = Literal["core", "search"]

LIMITS: dict[tuple[Resource, bool], int] = {
    ("core", False): 60,
    ("core", True): 5_000,
    ("search", False): 10,
    ("search", True): 30,
}
"""By resource, and by whether there is a token."""

WINDOW_S: dict[Resource, int] = {"core": 3_600, "search": 60}


class GithubOrder(BaseModel):
    """What should be changed; what is left out stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    remaining: NonNegativeInt | None = Field(default=None, description="Requests left in each window now.")
    resource: Resource | None = Field(
        default=None, description="Resource of these windows; default: every resource."
    )
    reset_s: PositiveInt | None = Field(
        default=None, description="Seconds until those windows end, from the next request on."
    )
    secondary: NonNegativeInt | None = Field(
        default=None, description="Number of next requests that meet a secondary limit."
    )
    secondary_retry_after_s: NonNegativeInt | None = Field(
        default=None, description="Retry-After of such a refusal; default: none."
    )
    close: str | None = Field(
        default=None, pattern=r"^[^/#]+/[^/#]+#[0-9]+$", description="Close the issue owner/name#number."
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How somebody stands with one resource."""

    resource: Resource
    limit: int
    used: int
    reset: int

    @property
    def remaining(self) -> int:
        """Requests left."""
        return max(self.limit - self.used, 0)


class GithubAccount:
    """Who has asked how often; may be used from another thread than the server's.

    Attributes:
        closed: Issues that were closed by an order, as ``owner/name#number`` in lower case.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = Lock()
        self._left_until: float | None
        self._left_of: Resource | None
        self.reset()

    def look(self, who: str, resource: Resource) -> Standing:
        """Return how ``who`` stands, "" for nobody in particular."""
        with self._lock:
            known = self._windows.get((who, resource))
            return known if known and known.reset > self._clock() else self._new_window(who, resource)

    def count(self, standing: Standing, who: str) -> Standing:
        """Count a request of ``who`` and return how things stand now."""
        now = replace(standing, used=standing.used + 1)
        with self._lock:
            self._windows[who, standing.resource] = now
        return now

    def take_secondary(self) -> GithubOrder | None:
        """Return the order because of which this request meets a secondary limit; None if it does not."""
        with self._lock:
            if not self._secondary_left:
                return None
            self._secondary_left -= 1
            return self._order

    def change(self, order: GithubOrder) -> None:
        """Do what ``order`` says."""
        with self._lock:
            self._order = order
            if order.secondary is not None:
                self._secondary_left = order.secondary
            if order.close is not None:
                self.closed.add(order.close.lower())
            if order.remaining is not None:
                self._windows.clear()
                self._left, self._left_s, self._left_until = order.remaining, order.reset_s or 3_600, None
                self._left_of = order.resource

    def reset(self) -> None:
        """Forget who asked, and what was changed."""
        with self._lock:
            self._windows: dict[tuple[str, Resource], Standing] = {}
            self._order = GithubOrder()
            self._secondary_left = 0
            self._left, self._left_s = 0, 0
            self._left_of = None
            self._left_until = 0.0
            self.closed: set[str] = set()

    def _new_window(self, who: str, resource: Resource) -> Standing:
        limit, now = LIMITS[resource, bool(who)], self._clock()
        if self._left_until is None:
            # Windows begin with who asks first, so a test that is slow to start still meets the limit.
            self._left_until = now + self._left_s
        if now < self._left_until and self._left_of in (None, resource):
            return Standing(resource, limit, max(limit - self._left, 0), ceil(self._left_until))
        return Standing(resource, limit, 0, ceil(now + WINDOW_S[resource]))
