"""The requests through each proxy, counted for one piece of work: a step, or a slice of a crawl."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentic.core.records import record
from agentic.core.types import JSONValue

MAX_PROXIES = 100
"""Proxies that are counted separately: the first ones that were used."""

OTHERS = "others"
"""The id of all further proxies together."""


@record(kw_only=True)
class ProxyUse:
    """The requests through one proxy.

    Attributes:
        id: Reveals nothing about the proxy; ``OTHERS`` for all beyond ``MAX_PROXIES``.
        number: Its place in the list, from 1; 0 for the others.
        requests: Requests sent through it.
        received_bytes: Size of all bodies, unpacked.
        failures: (failure class, number of failed requests).
    """

    __wire_name__: ClassVar[str] = "agentic.core.http.exits.ProxyUse"

    id: str
    number: int = 0
    requests: int = 0
    received_bytes: int = 0
    failures: tuple[tuple[str, int], ...] = ()

    @property
    def failed(self) -> int:
        """Failed requests of all classes."""
        return sum(count for _, count in self.failures)

    @property
    def name(self) -> str:
        """Its name for people: ``proxy 2 (7c9e6679a1b2c3d4)``."""
        return f"proxy {self.number} ({self.id})" if self.number else self.id

    @property
    def failures_text(self) -> str:
        """Its failures by class, the most frequent first: ``12 timeout, 1 connect``."""
        ranked = sorted(self.failures, key=lambda failure: (-failure[1], failure[0]))
        return ", ".join(f"{count:,} {name}" for name, count in ranked)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON-able data."""
        return {
            "proxy": self.number,
            "id": self.id,
            "requests": self.requests,
            "failures": dict(self.failures),
            "received_bytes": self.received_bytes,
        }


@dataclass(slots=True)
class _Counts:
    number: int = 0
    requests: int = 0
    received_bytes: int = 0
    failures: Counter[str] = field(default_factory=Counter)


class ProxyTally:
    """Adds up requests by proxy."""

    def __init__(self, uses: Iterable[ProxyUse] = ()) -> None:
        self._found: dict[str, _Counts] = {}
        self.add(uses)

    def add(self, uses: Iterable[ProxyUse]) -> None:
        """Add the requests that were counted elsewhere."""
        for use in uses:
            counts = self._of(use.id, use.number)
            counts.requests += use.requests
            counts.received_bytes += use.received_bytes
            for failure_class, count in use.failures:
                counts.failures[failure_class] += count

    def take(self) -> tuple[ProxyUse, ...]:
        """Return the requests since the last call."""
        if not self._found:
            return ()
        uses = self.uses
        self._found.clear()
        return uses

    @property
    def uses(self) -> tuple[ProxyUse, ...]:
        """The requests by proxy, in the order of their first one."""
        return tuple(
            ProxyUse(
                id=exit_id,
                number=counts.number,
                requests=counts.requests,
                received_bytes=counts.received_bytes,
                failures=tuple(sorted(counts.failures.items())),
            )
            for exit_id, counts in self._found.items()
        )

    def _of(self, exit_id: str, number: int) -> _Counts:
        counts = self._found.get(exit_id)
        if counts is None:
            if len(self._found) - (OTHERS in self._found) >= MAX_PROXIES:
                exit_id, number = OTHERS, 0
            counts = self._found.setdefault(exit_id, _Counts())
        counts.number = number or counts.number
        return counts


_TALLY: ContextVar[ProxyTally | None] = ContextVar("proxy tally", default=None)


@contextmanager
def counting_proxies(has_proxies: bool) -> Iterator[ProxyTally]:
    """Count the requests of this ``with`` block, and of tasks that begin in it.

    One pool of exits serves all executions of an agent in a process, so the pool's own counts say nothing
    about one of them. A block that is cut off takes its counts with it.

    Args:
        has_proxies: Whether there is anything to count: several proxies.
    """
    tally = ProxyTally()
    if not has_proxies:
        yield tally
        return
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


def note_use(use: ProxyUse) -> None:
    """Count a request, or its end, for the work that this task belongs to, if that is counted."""
    tally = _TALLY.get()
    if tally is not None:
        tally.add((use,))


def take_uses() -> tuple[ProxyUse, ...]:
    """Return the requests of the current work since the last call."""
    tally = _TALLY.get()
    return () if tally is None else tally.take()


def added_uses(known: Sequence[ProxyUse], more: Iterable[ProxyUse]) -> tuple[ProxyUse, ...]:
    """Return the sum of both."""
    tally = ProxyTally(known)
    tally.add(more)
    return tally.uses


def in_list_order(uses: Iterable[ProxyUse]) -> list[ProxyUse]:
    """Return them by their place in the list, the others last."""
    return sorted(uses, key=lambda use: (use.number == 0, use.number, use.id))


def dump_uses(uses: Sequence[ProxyUse]) -> str | None:
    """Return them as JSON text; None without any."""
    return json.dumps([use.to_dict() for use in uses], separators=(",", ":")) if uses else None


def load_uses(text: str | None) -> tuple[ProxyUse, ...]:
    """Return the content of a text of :func:`dump_uses`."""
    return uses_of(json.loads(text)) if text else ()


def uses_of(data: Iterable[Mapping[str, Any]]) -> tuple[ProxyUse, ...]:
    """Return the uses that :meth:`ProxyUse.to_dict` returned as data."""
    return tuple(
        ProxyUse(
            id=one["id"],
            number=one["proxy"],
            requests=one["requests"],
            received_bytes=one["received_bytes"],
            failures=tuple(one["failures"].items()),
        )
        for one in data
    )
