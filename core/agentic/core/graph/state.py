"""Where a run stands between two supersteps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentic.core.graph.events import EventKind, WorkflowEvent
from agentic.core.graph.messages import Activation, Delivery, ItemResult
from agentic.core.graph.result import RunStatus
from agentic.core.types import ExecutorId, JSONValue, RunId

FanInBuffer = Mapping[ExecutorId, tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapProgress:
    """How far a list is worked off: items before ``next_index`` are live or in ``done``."""

    edge_index: int
    items: tuple[object, ...]
    next_index: int = 0
    done: Mapping[int, ItemResult] = field(default_factory=dict)

    @property
    def live_count(self) -> int:
        """Items handed out and not finished."""
        return self.next_index - len(self.done)

    @property
    def is_finished(self) -> bool:
        """Whether every item has a result."""
        return len(self.done) == len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """All the planner knows of a run. A new one is made at each barrier; none is ever changed.

    Attributes:
        run_id: The run.
        path: Where it lives when it is a sub-workflow's run, else ``""``.
        started_at: Seconds since the epoch.
        superstep: The one that is due, or runs.
        sequence: Number of the last durable event.
        pending: Deliveries of the superstep that is due, in delivery order.
        fan_ins: Edge index -> source -> messages that wait for the other sources.
        maps: Map id -> progress of a list.
        next_map_id: Counts the lists of the run.
        output_count: Outputs yielded so far.
        status: Running until the run ends.
        error: What ended a failed run.
        waiting_fan_ins: Targets of fan-ins that never got all their sources.
    """

    run_id: RunId
    path: str
    started_at: float
    superstep: int = 0
    sequence: int = 0
    pending: tuple[Delivery, ...] = ()
    fan_ins: Mapping[int, FanInBuffer] = field(default_factory=dict)
    maps: Mapping[int, MapProgress] = field(default_factory=dict)
    next_map_id: int = 0
    output_count: int = 0
    status: RunStatus = RunStatus.RUNNING
    error: Exception | None = None
    waiting_fan_ins: tuple[ExecutorId, ...] = ()


class EventLog:
    """Numbers the durable events that one decision of the planner gives."""

    def __init__(self, state: RunState, now: float) -> None:
        self.events: list[WorkflowEvent] = []
        self.sequence = state.sequence
        self._state = state
        self._now = now

    def add(
        self,
        kind: EventKind,
        data: Mapping[str, JSONValue],
        *,
        executor_id: str = "",
        activation: Activation | None = None,
        duration_s: float | None = None,
    ) -> None:
        """Append an event of the state's superstep: of an activation, of an executor, or of the run."""
        state = self._state
        self.sequence += 1
        name = activation.executor_id if activation else executor_id
        self.events.append(
            WorkflowEvent(
                kind=kind,
                run_id=state.run_id,
                time=self._now,
                sequence=self.sequence,
                superstep=state.superstep,
                path=joined(state.path, name),
                attempt=1 if activation else 0,
                shard=activation.shard if activation else 0,
                duration_s=duration_s,
                data=data,
            )
        )


def joined(path: str, name: str) -> str:
    """Return ``path/name``; either may be empty."""
    return f"{path}/{name}" if path and name else path or name
