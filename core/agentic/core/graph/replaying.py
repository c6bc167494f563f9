"""A run told again by its durable events alone, superstep by superstep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from agentic.core.graph.errors import IncompleteLogError
from agentic.core.graph.events import EventKind, WorkflowEvent
from agentic.core.graph.result import RunStatus
from agentic.core.graph.run_view import DueView, ExecutorStatus, ExecutorView, RunView
from agentic.core.types import JSONValue, RunId

KeyT = TypeVar("KeyT")
EntryT = TypeVar("EntryT")

_ENDS = {
    EventKind.RUN_COMPLETED: RunStatus.COMPLETED,
    EventKind.RUN_FAILED: RunStatus.FAILED,
    EventKind.RUN_CANCELLED: RunStatus.CANCELLED,
    EventKind.RUN_WAITING_INPUT: RunStatus.WAITING_INPUT,
}


def replay(events: Iterable[WorkflowEvent]) -> list[RunView]:
    """Return where a run stood: at the begin of each superstep, and wherever it came to rest.

    Args:
        events: Of one run and its sub-runs, in any order, live ones and repetitions among them.

    Raises:
        IncompleteLogError: A durable event of the run is missing.
    """
    unique = {event.id: event for event in events if event.sequence is not None}
    top = [event for event in unique.values() if "/" not in event.run_id]
    nested = [event for event in unique.values() if "/" in event.run_id]
    top.sort(key=_number)
    _check_whole(top)
    return list(_Replay(top[0].run_id, nested).views(top)) if top else []


def _number(event: WorkflowEvent) -> int:
    return event.sequence or 0


def _check_whole(events: list[WorkflowEvent]) -> None:
    for expected, event in enumerate(events, start=1):
        if event.run_id != events[0].run_id:
            raise IncompleteLogError(events[0].run_id, f"it is mixed with run {event.run_id!r}")
        if event.sequence != expected:
            raise IncompleteLogError(event.run_id, f"event {expected} is missing")


class _Replay:
    """Follows a run."""

    def __init__(self, run_id: RunId, nested: Iterable[WorkflowEvent]) -> None:
        self._view = RunView(run_id=run_id, status=RunStatus.RUNNING)
        self._due: dict[tuple[str, int], DueView] = {}
        self._executors: dict[str, ExecutorView] = {}
        self._edges: dict[str, int] = {}
        self._asked: dict[str, list[str]] = {}
        self._outputs: list[JSONValue] = []
        # Events of sub-runs have numbers of their own; they belong to the activation that ran them.
        self._nested: dict[str, list[WorkflowEvent]] = {}
        for event in sorted(nested, key=lambda event: (event.run_id, _number(event))):
            origin = event.run_id.removeprefix(f"{run_id}/").partition("/")[0]
            self._nested.setdefault(origin, []).append(event)

    def views(self, events: Iterable[WorkflowEvent]) -> Iterator[RunView]:
        """Yield the run at each point where it can be looked at."""
        is_begun = False
        for event in events:
            if is_begun and event.kind is not EventKind.EXECUTOR_INVOKED:
                yield self._shown()
                is_begun = False
            self._take(event)
            is_begun = is_begun or event.kind is EventKind.SUPERSTEP_STARTED
            if event.kind in _ENDS:
                yield self._shown()
        if is_begun:
            yield self._shown()

    def _shown(self) -> RunView:
        return replace(
            self._view,
            due=tuple(self._due.values()),
            executors=dict(self._executors),
            edges=dict(self._edges),
            requests=tuple(request for asked in self._asked.values() for request in asked),
            outputs=tuple(self._outputs),
        )

    def _take(self, event: WorkflowEvent) -> None:
        match event.kind:
            case EventKind.RUN_RESUMED:
                self._view = replace(self._view, status=RunStatus.RUNNING, error=None)
            case EventKind.SUPERSTEP_STARTED:
                self._due.clear()
                self._view = replace(self._view, status=RunStatus.RUNNING, superstep=event.superstep)
            case EventKind.SUPERSTEP_COMPLETED:
                self._due.clear()
                self._view = _after(self._view, event)
            case EventKind.REQUEST_ANSWERED | EventKind.REQUEST_EXPIRED:
                self._settle(str(event.data["request"]))
            case EventKind.OUTPUT:
                self._outputs.append(event.data["value"])
            case kind if kind in _ENDS:
                error = event.data.get("error")
                self._view = replace(
                    self._view,
                    status=_ENDS[kind],
                    superstep=event.superstep,
                    error=None if error is None else str(error),
                )
            case _:
                self._take_executor(event)

    def _take_executor(self, event: WorkflowEvent) -> None:
        self._draw(event)
        key = (event.path, event.shard)
        match event.kind:
            case EventKind.EXECUTOR_INVOKED:
                self._asked.pop(str(event.data.get("origin")), None)
                self._due[key] = DueView(
                    executor_id=event.path, shard=event.shard, message=event.data["input"]
                )
            case EventKind.EXECUTOR_COMPLETED:
                self._done(event, key)
            case EventKind.EXECUTOR_PARKED:
                self._done(event, key)
                requests = cast(list[str], event.data["requests"])
                self._asked[str(event.data["origin"])] = list(requests)
            case EventKind.EXECUTOR_FAILED if event.data["handled"] and not event.data["will_retry"]:
                self._done(event, key)
            case _:
                pass

    def _done(self, event: WorkflowEvent, key: tuple[str, int]) -> None:
        self._due.pop(key, None)
        for inner in self._nested.pop(f"{event.path}.{event.superstep}.{event.shard}", ()):
            self._draw(inner)

    def _settle(self, request: str) -> None:
        for asked in self._asked.values():
            if request in asked:
                asked.remove(request)

    def _draw(self, event: WorkflowEvent) -> None:
        """Note what an event tells of an executor or an edge, in the run or in a sub-run."""
        if event.kind is EventKind.EDGE_ACTIVATED:
            name = f"{event.path}/{event.data['edge']}" if event.path else str(event.data["edge"])
            count = cast(int, event.data["message_count"])
            self._edges[name] = self._edges.get(name, 0) + count
        elif event.kind in _STATUS:
            before = self._executors.get(event.path, ExecutorView())
            self._executors[event.path] = _drawn(before, event)


_STATUS: dict[EventKind, ExecutorStatus] = {
    EventKind.EXECUTOR_INVOKED: "running",
    EventKind.EXECUTOR_COMPLETED: "completed",
    EventKind.EXECUTOR_FAILED: "failed",
    EventKind.EXECUTOR_PARKED: "parked",
}


def _drawn(before: ExecutorView, event: WorkflowEvent) -> ExecutorView:
    is_new = event.kind is EventKind.EXECUTOR_INVOKED
    failed = event.kind is EventKind.EXECUTOR_FAILED
    will_retry = failed and bool(event.data["will_retry"])
    took = None if is_new else (before.duration_s or 0.0) + (event.duration_s or 0.0)
    return ExecutorView(
        status="running" if will_retry else _STATUS[event.kind],
        activation_count=before.activation_count + is_new,
        attempts=before.attempts + (not is_new),
        duration_s=before.duration_s if is_new else took,
        error=str(event.data["error"]) if failed else None,
    )


def _after(view: RunView, event: WorkflowEvent) -> RunView:
    """Return the view after a superstep: what it changed in the state."""
    data = event.data
    fan_ins = cast(dict[str, dict[str, int]], data.get("fan_ins", {}))
    maps = cast(dict[str, dict[str, int] | None], data.get("maps", {}))
    return replace(
        view,
        superstep=event.superstep + 1,
        state={**view.state, **cast(dict[str, JSONValue], data.get("state", {}))},
        local={**view.local, **cast(dict[str, JSONValue], data.get("local", {}))},
        fan_ins=_merged(view.fan_ins, {edge: waiting or None for edge, waiting in fan_ins.items()}),
        maps=_merged(
            view.maps,
            {
                int(key): None if found is None else (found["done"], found["count"])
                for key, found in maps.items()
            },
        ),
    )


def _merged(before: Mapping[KeyT, EntryT], changes: Mapping[KeyT, EntryT | None]) -> dict[KeyT, EntryT]:
    """Return a table with its changes; None is for an entry that is gone."""
    merged = {**before, **changes}
    return {key: entry for key, entry in merged.items() if entry is not None}
