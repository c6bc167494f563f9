"""What the hostile site remembers of its visitors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock
from time import monotonic

from agentic.core.types import JSONValue


@dataclass(slots=True)
class _Lane:
    """``full_at`` is the theoretical arrival time of the generic cell rate algorithm."""

    full_at: float = 0.0
    blocked_until: float = 0.0
    allowed: int = 0
    refused: int = 0
    early: int = 0


class RateLimits:
    """Rates by key; may be used from another thread than the server's.

    Args:
        clock: Seconds, ever growing.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._lanes: dict[str, _Lane] = {}

    def take(self, key: str, per_s: float, burst: int) -> int:
        """Return 0 if a request may pass, or the whole seconds it is told to wait.

        Until they have passed, all further requests under ``key`` are refused and counted as early.
        """
        with self._lock:
            now, lane = self._clock(), self._lanes.setdefault(key, _Lane())
            full_at = max(lane.full_at, now) + 1 / per_s
            wait_s = max(full_at - burst / per_s, lane.blocked_until) - now
            if wait_s <= 0:
                lane.full_at = full_at
                lane.allowed += 1
                return 0
            lane.refused += 1
            if now < lane.blocked_until:
                lane.early += 1
            else:
                lane.blocked_until = now + ceil(wait_s)
            return ceil(lane.blocked_until - now)

    def stats(self) -> dict[str, JSONValue]:
        """Return ``allowed``, ``refused`` and ``early`` (inside a Retry-After) by key."""
        with self._lock:
            return {
                key: {"allowed": lane.allowed, "refused": lane.refused, "early": lane.early}
                for key, lane in self._lanes.items()
            }

    def reset(self) -> None:
        """Forget everybody."""
        with self._lock:
            self._lanes.clear()


class Flakes:
    """Counts failures still due; may be used from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._failed: Counter[str] = Counter()

    def fails(self, key: str, times: int) -> bool:
        """Tell whether this request fails: the first ``times`` under ``key`` do."""
        with self._lock:
            self._failed[key] += 1
            return self._failed[key] <= times

    def reset(self) -> None:
        """Start over."""
        with self._lock:
            self._failed.clear()
