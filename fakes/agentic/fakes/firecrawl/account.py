"""What was paid for at the fake Firecrawl, and how it goes about its jobs."""

from __future__ import annotations

from threading import Lock

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from agentic.fakes.clock import FakeClock

PLAN_CREDITS = 100_000


class AccountOrder(BaseModel):
    """What should be changed; what is left out stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan_credits: NonNegativeInt | None = None
    polls: NonNegativeInt | None = None
    documents_per_page: PositiveInt | None = None


class Account:
    """Credits of the one team; may be used from another thread than the server's.

    Attributes:
        clock: What time it is.
        credits: Spent so far, on scrapes, maps, searches and pages crawled.
        plan_credits: What the team may spend.
        polls: A job says ``scraping`` at least as often before it says ``completed``.
        documents_per_page: Documents in one answer about a job; ``next`` leads to more.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self._lock = Lock()
        self._used_keys: set[str] = set()
        self.reset()

    @property
    def remaining(self) -> int:
        """Credits that can still be spent."""
        return max(self.plan_credits - self.credits, 0)

    def charge(self, credits_count: int) -> None:
        """Spend credits."""
        with self._lock:
            self.credits += credits_count

    def claim(self, key: str) -> bool:
        """Tell whether the idempotency key ``key`` is new; it is not any more."""
        with self._lock:
            is_new = key not in self._used_keys
            self._used_keys.add(key)
            return is_new

    def change(self, order: AccountOrder) -> None:
        """Do what ``order`` says."""
        with self._lock:
            for name, value in order.model_dump(exclude_none=True).items():
                setattr(self, name, value)

    def reset(self) -> None:
        """Give back all credits and forget what was changed."""
        with self._lock:
            self._used_keys.clear()
            self.credits = 0
            self.plan_credits = PLAN_CREDITS
            self.polls = 1
            self.documents_per_page = 20
