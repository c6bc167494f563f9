"""Who is logged in to the job board."""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock

from pydantic import BaseModel, ConfigDict, PositiveInt


class SessionOrder(BaseModel):
    """What should become of sessions and tokens; what is left out stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expire: bool = False
    requests: PositiveInt | None = None
    token_lifetime_s: PositiveInt | None = None


class Sessions:
    """Open sessions by cookie value; may be used from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._used: dict[str, int] = {}
        self._opened = 0
        self._limit: int | None = None

    def open(self) -> str:
        """Start a session and return its cookie value."""
        with self._lock:
            self._opened += 1
            name = blake2b(b"session %d" % self._opened, digest_size=16).hexdigest()
            self._used[name] = 0
            return name

    def admit(self, name: str | None) -> bool:
        """Count a request of session ``name`` and tell whether it is still open."""
        with self._lock:
            if name is None or name not in self._used:
                return False
            self._used[name] += 1
            if self._limit is None or self._used[name] <= self._limit:
                return True
            del self._used[name]
            return False

    def close(self, name: str | None) -> None:
        """End one session, if it is open."""
        with self._lock:
            if name is not None:
                self._used.pop(name, None)

    def expire(self) -> None:
        """End all sessions."""
        with self._lock:
            self._used.clear()

    def limit(self, requests: int) -> None:
        """Let every session end after as many requests, counted from its login."""
        with self._lock:
            self._limit = requests

    def reset(self) -> None:
        """End all sessions and lift the limit."""
        with self._lock:
            self._used.clear()
            self._limit = None
