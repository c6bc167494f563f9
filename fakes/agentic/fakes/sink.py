"""Keeps what webhooks send."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from threading import Lock

MAX_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A request as it came: header names in lower case, the body to the byte, so that a signature checks."""

    method: str
    query: str
    headers: dict[str, str]
    body: bytes


class Sink:
    """Deliveries by name, the oldest first; may be used from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: defaultdict[str, list[Delivery]] = defaultdict(list)

    def keep(self, name: str, delivery: Delivery) -> int:
        """Keep ``delivery`` and return its number, counted from 1; past 10,000 it is counted no more."""
        with self._lock:
            kept = self._kept[name]
            if len(kept) < MAX_KEPT:
                kept.append(delivery)
            return len(kept)

    def received(self, name: str) -> list[Delivery]:
        """Return what came for ``name``."""
        with self._lock:
            return list(self._kept.get(name, ()))

    def reset(self) -> None:
        """Throw everything away."""
        with self._lock:
            self._kept.clear()
