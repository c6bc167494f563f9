"""Access and refresh tokens of the job board's API (RFC 6749)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from time import monotonic

LIFETIME_S = 3_600


@dataclass(frozen=True, slots=True)
class Grant:
    """What the token endpoint hands out."""

    access_token: str
    refresh_token: str
    expires_in: int


class Tokens:
    """Tokens that were handed out; may be used from another thread than the server's.

    Args:
        clock: Seconds, ever growing.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._issued = 0
        self._lifetime_s = LIFETIME_S
        self._ends: dict[str, float] = {}
        self._refreshing: set[str] = set()

    def issue(self) -> Grant:
        """Return a new pair of tokens."""
        with self._lock:
            return self._issue()

    def refresh(self, token: str) -> Grant | None:
        """Return a new pair for a refresh token, or None if it is no good; each is good once."""
        with self._lock:
            if token not in self._refreshing:
                return None
            self._refreshing.remove(token)
            return self._issue()

    def admit(self, token: str | None) -> bool:
        """Tell whether ``token`` opens the API."""
        with self._lock:
            return token is not None and self._clock() < self._ends.get(token, 0.0)

    def live(self, seconds: int) -> None:
        """Let the access tokens issued from now on be good for ``seconds``."""
        with self._lock:
            self._lifetime_s = seconds

    def expire(self) -> None:
        """End all access tokens; the refresh tokens stay good."""
        with self._lock:
            self._ends.clear()

    def reset(self) -> None:
        """Forget all tokens, and issue them for an hour again."""
        with self._lock:
            self._ends.clear()
            self._refreshing.clear()
            self._lifetime_s = LIFETIME_S

    def _issue(self) -> Grant:
        self._issued += 1
        access, refresh = (_token(kind, self._issued) for kind in ("access", "refresh"))
        self._ends[access] = self._clock() + self._lifetime_s
        self._refreshing.add(refresh)
        return Grant(access, refresh, self._lifetime_s)


def _token(kind: str, number: int) -> str:
    return blake2b(f"{kind} {number}".encode(), digest_size=20).hexdigest()
