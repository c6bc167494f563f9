"""The state of a run between two supersteps, and how the next state is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, cast, overload

from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.messages import Activation, ActivationKey, ActivationResult, Trail
from agentic.core.graph.model.progress import Asked, BaseRunState, Progress, SubRun
from agentic.core.graph.model.result import RunStatus
from agentic.core.records import record
from agentic.core.types import ExecutorId, JSONValue


@record
class BufferedMessage:
    """A message that waits in a fan-in."""

    payload: Payload
    trail: Trail = field(default_factory=dict)


class Waiting:
    """Messages of one source that wait in a fan-in, oldest first; never changed.

    The cost of an addition does not depend on the waiting messages: states share the older ones.

    Args:
        newest: The latest messages.
        before: The earlier messages, if any.
    """

    __slots__ = ("_before", "_count", "_newest")

    def __init__(self, newest: Sequence[BufferedMessage], before: Waiting | None = None) -> None:
        self._newest = newest
        self._before = before
        self._count: int = len(newest) + (0 if before is None else before._count)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[BufferedMessage]:
        return (held for part in reversed(list(self._parts())) for held in part._newest)

    def since(self, known: Waiting) -> Waiting | None:
        """Return the additions to ``known``, possibly none; None if this does not begin with it."""
        added: list[Sequence[BufferedMessage]] = []
        for part in self._parts():
            if part is known:
                return Waiting([held for newest in reversed(added) for held in newest])
            added.append(part._newest)
        return None

    def _parts(self) -> Iterator[Waiting]:
        part: Waiting | None = self
        while part is not None:
            yield part
            part = part._before


FanInBuffer = Mapping[ExecutorId, Waiting]


@record
class ItemOutcome:
    """The result of one item of a map edge's list; the item itself stays in the list."""

    index: int
    value: Payload | None = None
    error_type: str = ""
    error: str = ""
    failed_executor: str = ""
    attempt_count: int = 1


@record
class MapProgress:
    """The progress of a list: items before ``next_index`` are live or done.

    Attributes:
        edge_index: The map edge.
        items: The list.
        count: Its length.
        trail: The trail of the list's message.
        next_index: The first item that was not handed out yet.
        done: The finished items, one tuple per superstep with any.
        done_count: Items in ``done``.
    """

    edge_index: int
    items: Payload
    count: int
    trail: Trail = field(default_factory=dict)
    next_index: int = 0
    done: tuple[tuple[ItemOutcome, ...], ...] = ()
    done_count: int = 0


@record
class Parked:
    """An activation that waits for answers, between two entries."""

    activation: Activation
    progress: Progress


@record
class RunState(BaseRunState):
    """All that the planner knows of a run. Immutable: each barrier makes a new one.

    Attributes:
        run_id: The run.
        path: The path of a sub-workflow's run, else ``""``.
        started_at: Seconds since the epoch.
        deadline: Seconds since the epoch after which the run is ended; None for never.
        superstep: The one that is due, or runs.
        sequence: Number of the last durable event.
        activations: The activations of the due superstep, in planner order.
        is_begun: Whether the superstep has been announced.
        kept: Their finished results: not empty after a superstep that was broken off.
        fan_ins: Edge index -> source -> messages that wait.
        maps: Map id -> progress of a list.
        shared: The state that executors share, by key.
        local: Each executor's own state.
        parked: Activations that wait for answers, by their origin.
        next_map_id: Counts the lists of the run.
        output_count: Outputs yielded so far.
        status: Running until the run ends or waits.
        error: The error that ended a failed run.
        waiting_fan_ins: Targets of fan-ins that never got all their sources.
        previous_errors: In a sub-workflow's run: errors of earlier tries of its activation when it began.
    """

    path: str
    started_at: float
    deadline: float | None = None
    superstep: int = 0
    sequence: int = 0
    activations: tuple[Activation, ...] = ()
    is_begun: bool = False
    kept: Mapping[ActivationKey, ActivationResult] = field(default_factory=dict)
    fan_ins: Mapping[int, FanInBuffer] = field(default_factory=dict)
    maps: Mapping[int, MapProgress] = field(default_factory=dict)
    shared: Mapping[str, Payload] = field(default_factory=dict)
    local: Mapping[ExecutorId, Mapping[str, JSONValue]] = field(default_factory=dict)
    parked: Mapping[str, Parked] = field(default_factory=dict)
    next_map_id: int = 0
    output_count: int = 0
    status: RunStatus = RunStatus.RUNNING
    error: Exception | None = None
    waiting_fan_ins: tuple[ExecutorId, ...] = ()
    previous_errors: tuple[Payload, ...] = ()

    @property
    def open_requests(self) -> list[Asked]:
        """Every request that waits for an answer, oldest activation first."""
        return [asked for parked in self.parked.values() for asked in parked.progress.open_requests]


def state_of(sub_run: SubRun) -> RunState:
    """Return the state of a run within an activation."""
    return cast(RunState, sub_run.state)


TableName = Literal["fan_ins", "maps", "shared", "local", "parked"]


@record
class StateChange:
    """An entry of the state that a decision set or removed."""

    table: TableName
    key: object


class Draft:
    """The next state while a decision makes it: equal to the old one, except for changes.

    Attributes:
        state: The old one.
        outputs: The outputs of the run by the decision.
        changed: Entries of tables that were set or removed.
    """

    __slots__ = (
        "_own", "activations", "changed", "error", "fan_ins", "is_begun", "kept", "local", "maps",
        "next_map_id", "outputs", "parked", "shared", "state", "status", "superstep", "waiting_fan_ins",
    )  # fmt: skip

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.superstep = state.superstep
        self.activations = state.activations
        self.is_begun = state.is_begun
        self.kept = state.kept
        self.fan_ins = state.fan_ins
        self.maps = state.maps
        self.shared = state.shared
        self.local = state.local
        self.parked = state.parked
        self.next_map_id = state.next_map_id
        self.outputs: list[Payload] = []
        self.status = state.status
        self.error = state.error
        self.waiting_fan_ins = state.waiting_fan_ins
        self.changed: dict[StateChange, None] = {}
        self._own: dict[TableName, dict[Any, Any]] = {}

    @overload
    def put(self, table: Literal["fan_ins"], key: int, entry: FanInBuffer) -> None: ...
    @overload
    def put(self, table: Literal["maps"], key: int, entry: MapProgress) -> None: ...
    @overload
    def put(self, table: Literal["shared"], key: str, entry: Payload) -> None: ...
    @overload
    def put(self, table: Literal["local"], key: ExecutorId, entry: Mapping[str, JSONValue]) -> None: ...
    @overload
    def put(self, table: Literal["parked"], key: str, entry: Parked) -> None: ...
    def put(self, table: TableName, key: object, entry: object) -> None:
        """Set an entry of a table."""
        self._changing(table, key)[key] = entry

    def drop(self, table: TableName, key: object) -> None:
        """Remove an entry of a table, if it is there."""
        if key in getattr(self, table):
            del self._changing(table, key)[key]

    def _changing(self, table: TableName, key: object) -> dict[Any, Any]:
        """Return a mutable table: copied at the first change, so that the old state stays."""
        self.changed[StateChange(table, key)] = None
        own = self._own.get(table)
        if own is None:
            own = self._own[table] = dict(getattr(self, table))
            setattr(self, table, own)
        return own

    @property
    def output_count(self) -> int:
        """Outputs of the run, including the decision's."""
        return self.state.output_count + len(self.outputs)

    def finished(self, sequence: int) -> RunState:
        """Return the next state; its last durable event has number ``sequence``.

        Made by position: ``dataclasses.replace`` takes seven times as long, and each barrier does this.
        """
        old = self.state
        return RunState(
            old.run_id, old.path, old.started_at, old.deadline, self.superstep, sequence, self.activations,
            self.is_begun, self.kept, self.fan_ins, self.maps, self.shared, self.local,
            self.parked, self.next_map_id, self.output_count, self.status, self.error,
            self.waiting_fan_ins, old.previous_errors,
        )  # fmt: skip


class EventLog:
    """Numbers the durable events that one decision of the planner gives.

    Attributes:
        superstep: Their superstep.
    """

    __slots__ = ("_now", "_path", "events", "run_id", "sequence", "superstep")

    def __init__(self, state: RunState, now: float) -> None:
        self.run_id = state.run_id
        self.events: list[WorkflowEvent] = []
        self.sequence = state.sequence
        self.superstep = state.superstep
        self._path = state.path
        self._now = now

    def add(
        self,
        kind: EventKind,
        data: Mapping[str, object],
        *,
        executor_id: str = "",
        duration_s: float | None = None,
    ) -> None:
        """Append an event of the run, or of an executor as a whole."""
        path = joined(self._path, executor_id) if self._path else executor_id
        self.sequence = sequence = self.sequence + 1
        self.events.append(
            WorkflowEvent(
                kind, self.run_id, self._now, sequence, self.superstep, path, 0, 0, duration_s, data
            )
        )  # fmt: skip

    def of(
        self,
        activation: Activation,
        kind: EventKind,
        data: Mapping[str, object],
        attempt: int = 0,
        duration_s: float | None = None,
    ) -> None:
        """Append an event of an activation."""
        self.sequence = sequence = self.sequence + 1
        target = activation.delivery.target
        path = joined(self._path, target) if self._path else target
        self.events.append(
            WorkflowEvent(
                kind, self.run_id, self._now, sequence, self.superstep, path,
                attempt, activation.shard, duration_s, data,
            )
        )  # fmt: skip


def joined(path: str, name: str) -> str:
    """Return ``path/name``; either may be empty."""
    return f"{path}/{name}" if path and name else path or name
