"""The progress of a run from its events: facts and text, without drawing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.pipeline.crawl.report import CRAWL_PROGRESS
from agentic.core.types import EXCLUDED_CLASSES, JSONValue

LISTED_HOSTS = 5
LISTED_CLASSES = 6


@dataclass(slots=True)
class LongStep:
    """A step that reports its progress.

    Attributes:
        began_at: Time of its first event, by the clock.
        began_with: The number done by then.
        done: The number done now.
        total: The total number, if known.
        note: Its own note.
        rate: Number done per second, if the step reports it.
        failures: Failure class -> how many.
        hosts: Host -> pages, failed, waiting; the busiest first.
        is_over: Whether its executor has ended; another slice of it may follow.
    """

    began_at: float
    began_with: float
    done: float = 0.0
    total: float | None = None
    note: str = ""
    rate: float | None = None
    failures: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, Mapping[str, JSONValue]] = field(default_factory=dict)
    is_over: bool = False

    def left_s(self, now: float) -> float | None:
        """Return the estimated remaining seconds, if known."""
        rate = self.rate
        if rate is None and now > self.began_at:
            rate = (self.done - self.began_with) / (now - self.began_at)
        if not rate or self.total is None or self.done >= self.total:
            return None
        return (self.total - self.done) / rate

    def facts(self, now: float) -> str:
        """Return its progress, speed and estimated remaining time."""
        counted = f"{self.done:,.0f}" if self.total is None else f"{self.done:,.0f}/{self.total:,.0f}"
        left_s = self.left_s(now)
        parts = [
            counted,
            "" if self.rate is None else f"{self.rate:,.1f} pages/s",
            "" if left_s is None else f"{duration_text(left_s)} left",
            self.note,
        ]
        return " · ".join(filter(None, parts))


class RunProgress:
    """Gathers the progress of a run from events.

    Args:
        clock: Monotonic seconds.

    Attributes:
        current: The executor that began last.
        steps: Path -> a long step, in order of their first events.
        event_count: Events so far.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.current = ""
        self.steps: dict[str, LongStep] = {}
        self.event_count = 0

    def hear(self, event: WorkflowEvent) -> None:
        """Update from an event."""
        self.event_count += 1
        match event.kind:
            case EventKind.EXECUTOR_PROGRESS:
                self._report(event.path, event.data)
            case EventKind.CUSTOM if event.data.get("type") == CRAWL_PROGRESS:
                self._crawl(event.path, event.data.get("data"))
            case EventKind.SUPERSTEP_COMPLETED:
                self._loops(event.path, event.data.get("maps"))
            case EventKind.EXECUTOR_INVOKED:
                self._begin(event.path)
            case EventKind.EXECUTOR_COMPLETED | EventKind.EXECUTOR_FAILED:
                if event.path in self.steps:
                    self.steps[event.path].is_over = True

    def _report(self, path: str, data: Mapping[str, JSONValue]) -> None:
        done = _number(data.get("done")) or 0.0
        step = self._step(path, done)
        step.done, step.total, step.note = done, _number(data.get("total")), str(data.get("note") or "")

    def _crawl(self, path: str, data: JSONValue) -> None:
        if not isinstance(data, Mapping):
            return
        step = self._step(path, (_number(data.get("done")) or 0.0) + (_number(data.get("failed")) or 0.0))
        step.rate = _number(data.get("pages_per_s"))
        failures, hosts = data.get("failures"), data.get("hosts")
        if isinstance(failures, Mapping):
            step.failures = {
                name: count
                for name, count in failures.items()
                if isinstance(count, int) and name not in EXCLUDED_CLASSES
            }
        if isinstance(hosts, Mapping):
            step.hosts = {name: counts for name, counts in hosts.items() if isinstance(counts, Mapping)}

    def _loops(self, path: str, maps: JSONValue) -> None:
        """Record the progress of loops: their items run concurrently, over several supersteps."""
        if not isinstance(maps, Mapping):
            return
        for number, counts in maps.items():
            name = f"{path} items #{number}".strip()
            if isinstance(counts, Mapping):
                self._report(name, {"done": counts.get("done"), "total": counts.get("count")})
            else:
                self.steps.pop(name, None)

    def _begin(self, path: str) -> None:
        self.current = path
        if path in self.steps:
            self.steps[path].is_over = False
        else:  # the slices of a crawl follow each other: ended steps disappear once another begins
            self.steps = {name: step for name, step in self.steps.items() if not step.is_over}

    def _step(self, path: str, done: float) -> LongStep:
        if path not in self.steps:
            self.steps[path] = LongStep(began_at=self._clock(), began_with=done, done=done)
        return self.steps[path]

    def line(self, title: str) -> str:
        """Return the progress of the run in one line."""
        now = self._clock()
        told = [f"{name} {step.facts(now)}{_failed(step)}" for name, step in self.steps.items()]
        return f"{title}: {'; '.join(told) or self.current}, {self.event_count:,} events"

    def facts(self, name: str) -> str:
        """Return the progress of a step."""
        return self.steps[name].facts(self._clock())


def failures_text(failures: Mapping[str, int]) -> str:
    """Return the most frequent failure classes with their counts, as text."""
    frequent = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count:,} {name}" for name, count in frequent[:LISTED_CLASSES]]
    more = len(frequent) - LISTED_CLASSES
    return ", ".join([*shown, *([f"{more} other classes"] if more > 0 else [])])


def hosts_text(hosts: Mapping[str, Mapping[str, JSONValue]]) -> str:
    """Return the busiest hosts with their counts, as text."""
    return " · ".join(_host_text(name, counts) for name, counts in list(hosts.items())[:LISTED_HOSTS])


def duration_text(seconds: float) -> str:
    """Return a readable duration: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


def _host_text(name: str, counts: Mapping[str, JSONValue]) -> str:
    asides = [f"{counts[word]:,} {word}" for word in ("failed", "waiting") if counts.get(word)]
    return f"{name} {counts.get('pages', 0):,}" + (f" ({', '.join(asides)})" if asides else "")


def _failed(step: LongStep) -> str:
    return f" ({failures_text(step.failures)})" if step.failures else ""


def _number(value: JSONValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
