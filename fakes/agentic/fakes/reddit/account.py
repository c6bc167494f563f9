"""Who may ask the fake Reddit and how often, and what has changed there since it was made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveInt

WINDOW_S = 600
LIMIT = 1_000
"""A hundred a minute, averaged over ten."""

TOKEN_LIFETIME_S = 86_400
FULLNAME = r"^t[13]_[0-9a-z]+$"


class RedditOrder(BaseModel):
    """What should be changed; what is left out stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    remaining: NonNegativeInt | None = Field(default=None, description="Requests left in each window now.")
    reset_s: PositiveInt | None = Field(
        default=None, description="Seconds until those windows end, from the next request on."
    )
    refusals: NonNegativeInt | None = Field(
        default=None, description="Number of next API requests that are refused with 429."
    )
    retry_after_s: NonNegativeInt | None = Field(
        default=None, description="Retry-After of such a refusal; default: none."
    )
    expire_tokens: bool = Field(default=False, description="All tokens so far become invalid.")
    delete: str | None = Field(
        default=None, pattern=FULLNAME, description="Its author deletes this post or comment."
    )
    remove: str | None = Field(
        default=None, pattern=FULLNAME, description="A moderator removes this post or comment."
    )
    restore: str | None = Field(
        default=None, pattern=FULLNAME, description="The thing is restored after its deletion or removal."
    )
    votes: int | None = Field(default=None, description="Added to every score.")
    feed_interval_s: NonNegativeFloat | None = Field(
        default=None, description="Feeds asked for sooner after the last one are refused with 429."
    )
    archive_is_bare: bool | None = Field(
        default=None, description="The archive answers with a list, not with an object around it."
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How a client stands."""

    used: int
    remaining: int
    reset_s: int


class RedditAccount:
    """Who has asked how often; may be used from another thread than the server's.

    Attributes:
        deleted: Fullnames that were deleted by an order.
        removed: Fullnames that were removed by one.
        votes: Added to every score.
        archive_is_bare: Whether the archive answers with lists.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = Lock()
        self._left_until: float | None
        self._feed_at = 0.0
        self._feed_interval_s = 0.0
        self.votes = 0
        self.reset()

    def grant(self, client: str) -> str:
        """Return a new token for ``client``."""
        with self._lock:
            self._granted += 1
            token = f"fake-token-{self._granted}"
            self._tokens[token] = (client, self._clock() + TOKEN_LIFETIME_S)
            return token

    def client_of(self, token: str) -> str | None:
        """Return whose token it is; None if it is not good."""
        with self._lock:
            client, ends = self._tokens.get(token, (None, 0.0))
            return client if self._clock() < ends else None

    def count(self, client: str) -> tuple[Standing, bool]:
        """Count a request; return how ``client`` stands now, and whether it is answered."""
        with self._lock:
            now = self._clock()
            used, ends = self._windows.get(client, (0, 0.0))
            if ends <= now:
                used, ends = self._new_window(now)
            is_answered = used < LIMIT
            used += is_answered
            self._windows[client] = (used, ends)
            return Standing(used, LIMIT - used, ceil(ends - now)), is_answered

    def take_refusal(self) -> RedditOrder | None:
        """Return the order because of which this request is refused; None if it is not."""
        with self._lock:
            if not self._refusals:
                return None
            self._refusals -= 1
            return self._order

    def feed_wait_s(self) -> float:
        """Return for how much longer no feed is given; 0: it is given now."""
        with self._lock:
            now = self._clock()
            wait_s = self._feed_at + self._feed_interval_s - now
            if wait_s <= 0:
                self._feed_at = now
            return max(wait_s, 0.0)

    def change(self, order: RedditOrder) -> None:
        """Do what ``order`` says."""
        with self._lock:
            self._order = order
            if order.refusals is not None:
                self._refusals = order.refusals
            if order.expire_tokens:
                self._tokens.clear()
            if order.remaining is not None:
                self._windows.clear()
                self._left, self._left_s, self._left_until = order.remaining, order.reset_s or WINDOW_S, None
            if order.feed_interval_s is not None:
                self._feed_interval_s = order.feed_interval_s
            if order.archive_is_bare is not None:
                self.archive_is_bare = order.archive_is_bare
            self.votes += order.votes or 0
            self._change_things(order)

    def reset(self) -> None:
        """Forget who asked, and what was changed."""
        with self._lock:
            self._tokens: dict[str, tuple[str, float]] = {}
            self._granted = 0
            self._windows: dict[str, tuple[int, float]] = {}
            self._order = RedditOrder()
            self._refusals = 0
            self._left, self._left_s = 0, 0
            self._left_until = 0.0
            self._feed_at, self._feed_interval_s = 0.0, 0.0
            self.deleted: set[str] = set()
            self.removed: set[str] = set()
            self.votes = 0
            self.archive_is_bare = False

    def _change_things(self, order: RedditOrder) -> None:
        if order.delete is not None:
            self.deleted.add(order.delete)
        if order.remove is not None:
            self.removed.add(order.remove)
        if order.restore is not None:
            self.deleted.discard(order.restore)
            self.removed.discard(order.restore)

    def _new_window(self, now: float) -> tuple[int, float]:
        if self._left_until is None:
            # Windows begin with who asks first, so a test that is slow to start still meets the limit.
            self._left_until = now + self._left_s
        if now < self._left_until:
            return max(LIMIT - self._left, 0), self._left_until
        return 0, now + WINDOW_S
