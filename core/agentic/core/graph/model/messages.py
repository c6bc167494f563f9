"""Messages between executors, and the results of activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.progress import NEW, Progress
from agentic.core.records import record
from agentic.core.types import ExecutorId, JSONValue


@record
class MapItem:
    """The list item of a map edge that a delivery belongs to."""

    map_id: int
    index: int


@record
class Sent:
    """A message that an executor sent; ``target`` limits it to one target of the executor's out-edges."""

    payload: Payload
    target: ExecutorId | None = None


class Several(tuple[object, ...]):
    """Several return values of one handler; each counts on its own."""

    __slots__ = ()


@record
class Input:
    """The input of a worker, which a retry edge delivers again, and how often that happened.

    Attributes:
        payload: The input.
        sources: The senders.
        passes: Retry edge's index -> times it was delivered again.
        feedback: The validators' messages about earlier passes, oldest first.
    """

    payload: Payload
    sources: tuple[ExecutorId, ...]
    passes: Mapping[int, int] = field(default_factory=dict)
    feedback: tuple[Payload, ...] = ()


Trail = Mapping[ExecutorId, Input]
"""The last input of each worker with a retry edge that a message goes back to."""

NO_TRAIL: Trail = {}


@record
class Delivery:
    """A message on its way to one executor.

    Attributes:
        target: The receiver.
        sources: The senders: several after a fan-in, none for the input of the run.
        payload: The message.
        item: Set for an item of a map edge's list.
        trail: The inputs that led to it.
        feedback: The validators' messages, when a retry edge delivers it again.
        progress: The earlier progress, when it is delivered again after answers.
    """

    target: ExecutorId
    sources: tuple[ExecutorId, ...]
    payload: Payload
    item: MapItem | None = None
    trail: Trail = field(default_factory=dict)
    feedback: tuple[Payload, ...] = ()
    progress: Progress = NEW


ActivationKey = tuple[ExecutorId, int]
"""Executor and shard: names an activation within its superstep."""


@record
class Activation:
    """One delivery to handle in one superstep; ``shard`` counts one executor's activations from 0."""

    delivery: Delivery
    superstep: int
    shard: int

    @property
    def executor_id(self) -> ExecutorId:
        """The executor that handles it."""
        return self.delivery.target

    @property
    def key(self) -> ActivationKey:
        """Its name within the superstep."""
        return self.delivery.target, self.shard

    @property
    def origin(self) -> str:
        """Its name within the run, ``executor.superstep.shard``: of its first entry, if it was parked."""
        return self.delivery.progress.origin or f"{self.delivery.target}.{self.superstep}.{self.shard}"


EdgeDecision = bool | tuple[ExecutorId, ...]
"""Result of a condition, a switch or a selector."""

EdgeDecisions = Mapping[tuple[int, int], EdgeDecision]
"""(edge index, position among the sent messages) -> decision."""

NO_DECISIONS: EdgeDecisions = {}


OnCommit = Callable[[Any], object]
"""Called with the session of the transaction that stores the activation's result."""


@record
class ActivationResult:
    """The result of an activation.

    Attributes:
        activation: The one that ran.
        sends: In the order they were sent. After an error: the failure, where an edge carries it.
        outputs: In the order they were yielded; empty after an error.
        writes: Shared state, in the order it was written: key and value, or the value for a reducer.
        local: The executor's own state, if it changed it.
        edge_decisions: For every edge that has a condition, a switch or a selector.
        error: The error of its final failure, if it failed.
        routing_error: The error of a condition or a selector; the activation itself is done.
        parked: Whether it waits for answers; then nothing else counts.
        progress: Failed attempts, and the progress that outlives them.
        duration_s: Wall time.
        sub_events: Durable events of the sub-workflows it ran, in order.
        is_evaluated: Whether conditions and selectors were evaluated; not, if the run ended meanwhile.
        on_commit: Functions to call in the transaction that keeps the result; not stored themselves.
    """

    activation: Activation
    sends: tuple[Sent, ...] = ()
    outputs: tuple[Payload, ...] = ()
    writes: tuple[tuple[str, Payload], ...] = ()
    local: Mapping[str, JSONValue] | None = None
    edge_decisions: EdgeDecisions = field(default_factory=dict)
    error: Exception | None = None
    routing_error: Exception | None = None
    parked: bool = False
    progress: Progress = NEW
    duration_s: float = 0.0
    sub_events: tuple[WorkflowEvent, ...] = ()
    is_evaluated: bool = True
    on_commit: tuple[OnCommit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorFailure:
    """A failure as data: failure edges carry it, and it is the error of an :class:`ItemResult`.

    Attributes:
        executor_id: The executor that failed.
        error_type: Name of the exception's class.
        message: Its text.
        attempt_count: The number of tries.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.messages.ExecutorFailure"

    executor_id: ExecutorId
    error_type: str
    message: str
    attempt_count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """The result of a map edge's body for one item.

    Attributes:
        index: Position of the item in the list.
        item: The item itself.
        value: The value that the body returned or sent: None for nothing, a list for several messages.
            Outputs that it yields belong to the run.
        error: Set when the body failed; ``value`` is then None.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.messages.ItemResult"

    index: int
    item: object
    value: object = None
    error: ExecutorFailure | None = None

    @property
    def ok(self) -> bool:
        """Whether the body succeeded."""
        return self.error is None
