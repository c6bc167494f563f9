"""The speed of executors, computed from their events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.port import BusMessage
from agentic.core.bus.subjects import token
from agentic.core.graph import EventKind

_ENDS = frozenset({EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_FAILED})


@dataclass(slots=True, kw_only=True)
class Measure:
    """The attempts of an executor's activations, in all runs of a project.

    Attributes:
        executor: Its name, without the path around it.
        completed_count: Attempts that succeeded.
        failed_count: Attempts that failed, including repeated ones.
        total_s: Wall time of all attempts.
        max_s: Wall time of the longest attempt.
        since: When the first attempt ended, in seconds since 1970.
        until: When the last attempt ended.
    """

    executor: str
    completed_count: int = 0
    failed_count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    since: float = 0.0
    until: float = 0.0


def measured(events: Iterable[PublishedEvent]) -> Sequence[Measure]:
    """Return a measure for each executor with the end of an attempt in ``events``, by first appearance."""
    found: dict[str, Measure] = {}
    for published in events:
        event = published.event
        if event.kind not in _ENDS:
            continue
        name = event.path.rpartition("/")[2]
        measure = found.setdefault(name, Measure(executor=name, since=event.time))
        if event.kind is EventKind.EXECUTOR_COMPLETED:
            measure.completed_count += 1
        else:
            measure.failed_count += 1
        duration_s = event.duration_s or 0.0
        measure.total_s += duration_s
        measure.max_s = max(measure.max_s, duration_s)
        measure.until = max(measure.until, event.time)
    return list(found.values())


def measure_message(measure: Measure, project: str, last: int) -> BusMessage:
    """Return ``measure`` ready to be published, on ``agentic.metrics.{project}.executor.{executor}``.

    Args:
        measure: The measure.
        project: The project of the runs.
        last: Stream sequence of the newest event it covers.
    """
    name = token(measure.executor or "-")
    return BusMessage(
        subject=f"agentic.metrics.{token(project)}.executor.{name}",
        payload=json.dumps({"project": project, **asdict(measure)}).encode("ascii"),
        message_id=f"{token(project)}:{name}:{last}",
    )
