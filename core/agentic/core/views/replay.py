"""Replays a run from its durable events alone, superstep by superstep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeVar, cast

from agentic.core.graph.errors import IncompleteLogError
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.names import origin_of
from agentic.core.types import JSONValue, RunId
from agentic.core.views.run_view import DueView, ExecutorStatus, ExecutorView, RunView

KeyT = TypeVar("KeyT")
EntryT = TypeVar("EntryT")

_ENDS = {
    EventKind.RUN_COMPLETED: RunStatus.COMPLETED,
    EventKind.RUN_FAILED: RunStatus.FAILED,
    EventKind.RUN_CANCELLED: RunStatus.CANCELLED,
    EventKind.RUN_WAITING_INPUT: RunStatus.WAITING_INPUT,
}
# Events at the start, or restart, of a superstep: the view comes after the last of them.
_BEGINS = frozenset({
    EventKind.REQUEST_ANSWERED, EventKind.REQUEST_EXPIRED, EventKind.SUPERSTEP_STARTED,
    EventKind.EXECUTOR_INVOKED,
})  # fmt: skip


def replay(events: Iterable[WorkflowEvent]) -> list[RunView]:
    """Return the states of a run: at each start or restart of a superstep, and at each end or wait.

    Args:
        events: Of one run and its sub-runs, in any order; live ones and repetitions are allowed. For a fork,
            also the events of the run it was forked from.

    Raises:
        IncompleteLogError: A durable event of the run is missing.
    """
    unique = {event.id: event for event in events if event.sequence is not None}
    top = _with_origins([event for event in unique.values() if "/" not in event.run_id])
    nested = [event for event in unique.values() if "/" in event.run_id]
    origins = {f"{e.path}.{e.superstep}.{e.shard}" for e in top if e.kind is EventKind.EXECUTOR_INVOKED}
    return list(_Replay(top[-1].run_id, nested, origins).views(top)) if top else []


def _with_origins(events: list[WorkflowEvent]) -> list[WorkflowEvent]:
    """Return a run's events in order; a fork's events follow the earlier events of its origin."""
    runs: dict[RunId, list[WorkflowEvent]] = {}
    for event in sorted(events, key=_number):
        runs.setdefault(event.run_id, []).append(event)
    origins = {run_id: _origin(first[0]) for run_id, first in runs.items()}
    last = [run_id for run_id in runs if run_id not in origins.values()]
    if len(last) > 1:
        raise IncompleteLogError(last[0], f"it is mixed with run {last[1]!r}")
    told: list[WorkflowEvent] = []
    run_id = last[0] if last else None
    while run_id is not None and run_id in runs:
        before = told[0].sequence if told else None
        told = [e for e in runs[run_id] if before is None or _number(e) < before] + told
        run_id = origins[run_id]
    for expected, event in enumerate(told, start=1):
        if event.sequence != expected:
            raise IncompleteLogError(event.run_id, f"event {expected} is missing")
    return told


def _origin(first: WorkflowEvent) -> RunId | None:
    forked_from = first.data.get("forked_from")
    return RunId(forked_from.rpartition("@")[0]) if isinstance(forked_from, str) else None


def _number(event: WorkflowEvent) -> int:
    return event.sequence or 0


class _Replay:
    """Follows a run."""

    def __init__(self, run_id: RunId, nested: Iterable[WorkflowEvent], origins: AbstractSet[str]) -> None:
        self._view = RunView(run_id=run_id, status=RunStatus.RUNNING)
        self._begun: dict[tuple[str, int], DueView] = {}
        self._over: set[tuple[str, int]] = set()
        self._executors: dict[str, ExecutorView] = {}
        self._edges: dict[str, int] = {}
        self._asked: dict[str, list[str]] = {}
        self._outputs: list[JSONValue] = []
        # Events of sub-runs have numbers of their own; they belong to the activation that ran them.
        self._nested: dict[str, list[WorkflowEvent]] = {}
        self._origins: dict[tuple[str, int], str] = {}
        self._drawn: set[str] = set()
        for event in sorted(nested, key=lambda event: (event.run_id, _number(event))):
            name = event.run_id.removeprefix(f"{run_id}/").partition("/")[0]
            self._nested.setdefault(origin_of(name), []).append(event)
            if name not in origins:
                # In old logs, the second sub-run of an activation is called executor.superstep.shard.2.
                self._nested.setdefault(name.rpartition(".")[0], []).append(event)

    def views(self, events: Iterable[WorkflowEvent]) -> Iterator[RunView]:
        """Yield a view of the run at each point of the replay."""
        is_begun = False
        for event in events:
            if is_begun and event.kind not in _BEGINS:
                yield self._shown()
                is_begun = False
            self._take(event)
            is_begun = is_begun or event.kind in {EventKind.SUPERSTEP_STARTED, EventKind.RUN_RESUMED}
            if event.kind in _ENDS:
                yield self._shown()
        if is_begun:
            yield self._shown()

    def _shown(self) -> RunView:
        return replace(
            self._view,
            due=tuple(due for key, due in self._begun.items() if key not in self._over),
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
                self._begun.clear()
                self._over.clear()
                self._view = replace(self._view, status=RunStatus.RUNNING, superstep=event.superstep)
            case EventKind.SUPERSTEP_COMPLETED:
                self._begun.clear()
                self._over.clear()
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
            case EventKind.EXECUTOR_INVOKED if not event.data.get("again"):
                if origin := event.data.get("origin"):
                    self._origins[key] = str(origin)
                    self._asked.pop(str(origin), None)
                else:
                    self._origins.pop(key, None)
                self._over.discard(key)
                self._begun[key] = DueView(
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
            case EventKind.EXECUTOR_FAILED:
                self._over.discard(key)  # it had finished, if a barrier refused its result
            case _:
                pass

    def _done(self, event: WorkflowEvent, key: tuple[str, int]) -> None:
        self._over.add(key)
        origin = self._origins.get(key, f"{event.path}.{event.superstep}.{event.shard}")
        # A sub-run that waits continues later: its later events have not happened yet.
        for inner in self._nested.get(origin, ()):
            if inner.time <= event.time and inner.id not in self._drawn:
                self._drawn.add(inner.id)
                self._draw(inner)

    def _settle(self, request: str) -> None:
        for asked in self._asked.values():
            if request in asked:
                asked.remove(request)

    def _draw(self, event: WorkflowEvent) -> None:
        """Note an event of an executor or an edge, in the run or in a sub-run."""
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
    is_counted = is_new and not event.data.get("again")
    failed = event.kind is EventKind.EXECUTOR_FAILED
    will_retry = failed and bool(event.data["will_retry"])
    took = None if is_new else (before.duration_s or 0.0) + (event.duration_s or 0.0)
    return ExecutorView(
        status="running" if will_retry else _STATUS[event.kind],
        activation_count=before.activation_count + is_counted,
        attempts=before.attempts + (not is_new),
        duration_s=before.duration_s if is_new else took,
        error=str(event.data["error"]) if failed else None,
    )


def _after(view: RunView, event: WorkflowEvent) -> RunView:
    """Return the view after a superstep, with its changes of the state."""
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
    """Return a table with its changes; None stands for a removed entry."""
    merged = {**before, **changes}
    return {key: entry for key, entry in merged.items() if entry is not None}
