"""The state of a run, from its events: to show, draw and compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agentic.core.graph.model.result import RunStatus
from agentic.core.types import JSONValue, RunId

ExecutorStatus = Literal["waiting", "running", "completed", "failed", "parked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorView:
    """The work of one executor in a run.

    Attributes:
        status: Of its latest activation; ``waiting`` before the first one.
        activation_count: Messages it received.
        attempts: Tries of these activations, retries included.
        duration_s: Seconds in its handlers, all attempts together; None when it never ran.
        error: The text of its error, if it failed.
    """

    status: ExecutorStatus = "waiting"
    activation_count: int = 0
    attempts: int = 0
    duration_s: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DueView:
    """A message that is due in the superstep.

    Attributes:
        executor_id: The executor that handles it.
        shard: Position among the executor's messages of the superstep.
        message: As JSON, or its hash when it is large.
    """

    executor_id: str
    shard: int
    message: JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The state of a run, executor by executor.

    Attributes:
        run_id: The run.
        status: Of the run as a whole.
        superstep: The latest one.
        executors: Path -> its work. Below a sub-workflow a path is ``node/inner``.
        edges: Name of an edge, from events -> messages it carried. Within a sub-workflow the name follows
            the path of the node and a slash.
        due: The due messages of the superstep, in planner order.
        state: The shared state, as JSON.
        local: Executor -> its own state.
        fan_ins: Name of an edge -> source -> messages that wait.
        maps: Map id -> items done, items in all.
        requests: Ids of its open requests.
        outputs: Its outputs, as JSON.
        error: The text of its error.
    """

    run_id: RunId
    status: RunStatus
    superstep: int = 0
    executors: Mapping[str, ExecutorView] = field(default_factory=dict)
    edges: Mapping[str, int] = field(default_factory=dict)
    due: tuple[DueView, ...] = ()
    state: Mapping[str, JSONValue] = field(default_factory=dict)
    local: Mapping[str, JSONValue] = field(default_factory=dict)
    fan_ins: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    maps: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    requests: tuple[str, ...] = ()
    outputs: tuple[JSONValue, ...] = ()
    error: str | None = None
