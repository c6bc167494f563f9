"""The time at the fakes: that of the machine, until somebody moves it on or lets it stand still."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field


class ClockOrder(BaseModel):
    """What should become of the time; what is left out stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    advance_s: float = Field(default=0.0, ge=0, description="Seconds to move it on by, at once.")
    freeze: bool | None = Field(
        default=None, description="Let it stand still, or go on from where it stands."
    )


class FakeClock:
    """The time of all fakes; may be used from another thread than the server's.

    It never goes back, but for a reset, which forgets at the same time who was given what until when.

    Args:
        machine: Seconds since the epoch.
    """

    def __init__(self, machine: Callable[[], float] = time.time) -> None:
        self._machine = machine
        self._lock = Lock()
        self._ahead_s = 0.0
        self._stands_at: float | None = None

    def now(self) -> float:
        """Return the time, in seconds since the epoch."""
        with self._lock:
            return self._now()

    def moment(self) -> datetime:
        """Return the time with its time zone, UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    def advance(self, seconds: float) -> None:
        """Move the time on; windows end and tokens expire as if one had waited."""
        with self._lock:
            if self._stands_at is None:
                self._ahead_s += seconds
            else:
                self._stands_at += seconds

    def freeze(self) -> None:
        """Let the time stand still; only :meth:`advance` moves it."""
        with self._lock:
            self._stands_at = self._now()

    def thaw(self) -> None:
        """Let the time go on from where it stands."""
        with self._lock:
            if self._stands_at is not None:
                self._ahead_s = self._stands_at - self._machine()
                self._stands_at = None

    def change(self, order: ClockOrder) -> None:
        """Do what ``order`` says."""
        if order.freeze is not None:
            (self.freeze if order.freeze else self.thaw)()
        self.advance(order.advance_s)

    def reset(self) -> None:
        """Show the time of the machine again."""
        with self._lock:
            self._ahead_s, self._stands_at = 0.0, None

    def _now(self) -> float:
        return self._machine() + self._ahead_s if self._stands_at is None else self._stands_at
