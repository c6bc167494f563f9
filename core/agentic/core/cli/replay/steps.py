"""One step of a run, by its events."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from agentic.core.cli.replay.story import ReplayedActivation, ReplayedAttempt, ReplayedOutcome, ReplayedStep
from agentic.core.graph import EventKind, RunStatus, WorkflowEvent
from agentic.core.types import JSONValue

ENDINGS: Mapping[EventKind, RunStatus] = {
    EventKind.RUN_COMPLETED: RunStatus.COMPLETED,
    EventKind.RUN_FAILED: RunStatus.FAILED,
    EventKind.RUN_CANCELLED: RunStatus.CANCELLED,
    EventKind.RUN_WAITING_INPUT: RunStatus.WAITING_INPUT,
}
"""Events that end a leg of a run."""

OPENINGS = frozenset({EventKind.SUPERSTEP_STARTED, EventKind.RUN_RESUMED})
"""Events that start or restart a step."""

ANSWERS = frozenset({EventKind.REQUEST_ANSWERED, EventKind.REQUEST_EXPIRED})
"""Events that settle a request."""

_OF_ACTIVATIONS: Mapping[EventKind, ReplayedOutcome] = {
    EventKind.EXECUTOR_INVOKED: "in hand",
    EventKind.EXECUTOR_COMPLETED: "completed",
    EventKind.EXECUTOR_FAILED: "failed",
    EventKind.EXECUTOR_PARKED: "parked",
}
_FACTS = ("item", "pass", "origin", "again", "requests", "handled")
_SHRUNK = "dropped_bytes"
_CHANGES = ("state", "local", "fan_ins", "maps")


def is_shrunk(event: WorkflowEvent) -> bool:
    """Return whether an event was too large for the bus, which has it without its data."""
    return event.data.keys() == {_SHRUNK}


def step_of(leg: Sequence[WorkflowEvent], nested_ids: Sequence[str], run_id: str) -> ReplayedStep:
    """Return a step, apart from what only others tell: its leg, what is missing, and where the run stood.

    Args:
        leg: Its events in order, at least one.
        nested_ids: The runs of all sub-workflows, sorted.
        run_id: The run.
    """
    by_kind: dict[EventKind, list[WorkflowEvent]] = {}
    for event in leg:
        by_kind.setdefault(event.kind, []).append(event)
    opened = [event for event in leg if event.kind in OPENINGS]
    completed = by_kind.get(EventKind.SUPERSTEP_COMPLETED, [])
    resumed = by_kind.get(EventKind.RUN_RESUMED, [])
    ended = [event for event in leg if event.kind in ENDINGS]
    began_at = (opened or leg)[-1 if opened else 0].time
    over = [*completed, *ended]
    return ReplayedStep(
        number=leg[0].superstep,
        leg=1,
        first=leg[0].sequence or 0,
        last=leg[-1].sequence or 0,
        began_at=began_at,
        duration_s=over[0].time - began_at if over and opened else None,
        is_done=bool(completed),
        resumed_from=str(resumed[-1].data.get("was", "")) if resumed else None,
        activations=_activations(leg, nested_ids, run_id),
        edges=_edges(by_kind.get(EventKind.EDGE_ACTIVATED, [])),
        astray=tuple(_astray(leg)),
        outputs=tuple((e.path, e.data.get("value")) for e in by_kind.get(EventKind.OUTPUT, [])),
        changes=_changes(completed),
        raised=tuple(event.data for event in by_kind.get(EventKind.REQUEST_RAISED, [])),
        settled=tuple(event.data for event in leg if event.kind in ANSWERS),
        starving={
            str(e.data.get("target", "")): _names(e.data.get("missing"))
            for e in by_kind.get(EventKind.FAN_IN_WAITING, [])
        },
        ending=ENDINGS[ended[-1].kind] if ended else None,
        error=_error(ended[-1]) if ended and "error" in ended[-1].data else None,
        bare=tuple(event.sequence or 0 for event in leg if is_shrunk(event)),
        missing=(),
        after=None,
    )


def _activations(
    leg: Sequence[WorkflowEvent], nested_ids: Sequence[str], run_id: str
) -> tuple[ReplayedActivation, ...]:
    told: dict[tuple[str, int], list[WorkflowEvent]] = {}
    for event in leg:
        if event.kind in _OF_ACTIVATIONS:
            told.setdefault((event.path, event.shard), []).append(event)
    return tuple(_activation(events, nested_ids, run_id) for events in told.values())


def _activation(
    events: Sequence[WorkflowEvent], nested_ids: Sequence[str], run_id: str
) -> ReplayedActivation:
    first, last = events[0], events[-1]
    invoked = first.data if first.kind is EventKind.EXECUTOR_INVOKED else {}
    facts = {**invoked, **last.data}
    outcome = _OF_ACTIVATIONS[last.kind]
    will_retry = bool(last.data.get("will_retry"))
    return ReplayedActivation(
        path=last.path,
        shard=last.shard,
        outcome="in hand" if will_retry else outcome,
        attempt=last.attempt + will_retry,
        duration_s=last.duration_s,
        sources=_names(invoked.get("sources")),
        input=invoked.get("input"),
        failures=tuple(_failure(e) for e in events if e.kind is EventKind.EXECUTOR_FAILED),
        sends=_values(last.data.get("sends")),
        facts={name: facts[name] for name in _FACTS if name in facts},
        runs=_runs(first, facts, nested_ids, run_id),
    )


def _failure(event: WorkflowEvent) -> ReplayedAttempt:
    return ReplayedAttempt(
        number=event.attempt,
        duration_s=event.duration_s,
        error=_error(event),
        will_retry=bool(event.data.get("will_retry")),
    )


def _runs(
    event: WorkflowEvent, facts: Mapping[str, JSONValue], nested_ids: Sequence[str], run_id: str
) -> tuple[str, ...]:
    """Return the runs of sub-workflows of an activation; a second one ends in ``~2``, before in ``.2``."""
    name = event.path.rpartition("/")[2]
    origin = facts.get("origin") or f"{name}.{event.superstep}.{event.shard}"
    own = f"{run_id}/{origin}"
    at = bisect_left(nested_ids, own)
    near = itertools.takewhile(lambda nested: nested.startswith(own), nested_ids[at:])
    return tuple(one for one in near if re.fullmatch(r"(\.\d+|~\d+(\.\d+)?)?", one.removeprefix(own)))


def _edges(activated: Iterable[WorkflowEvent]) -> dict[str, int]:
    carried: dict[str, int] = {}
    for event in activated:
        name = str(event.data.get("edge", ""))
        carried[name] = carried.get(name, 0) + cast(int, event.data.get("message_count", 1))
    return carried


def _astray(leg: Iterable[WorkflowEvent]) -> Iterator[tuple[str, JSONValue]]:
    for event in leg:
        if event.kind is EventKind.MESSAGE_UNDELIVERABLE:
            yield f"{event.path} not delivered: {event.data.get('reason')}", event.data.get("message")
        elif event.kind is EventKind.MESSAGE_SUPERSEDED:
            target = event.data.get("target")
            yield f"a newer message of {event.path} to {target} replaced", event.data.get("message")


def _changes(completed: Iterable[WorkflowEvent]) -> dict[str, Mapping[str, JSONValue]]:
    return {
        table: cast("Mapping[str, JSONValue]", event.data[table])
        for event in completed
        for table in _CHANGES
        if table in event.data
    }


def _error(event: WorkflowEvent) -> str:
    return ": ".join(str(event.data[name]) for name in ("error_type", "error") if event.data.get(name))


def _names(found: JSONValue) -> tuple[str, ...]:
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _values(found: JSONValue) -> tuple[JSONValue, ...]:
    return tuple(found) if isinstance(found, list) else ()
