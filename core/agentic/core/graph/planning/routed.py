"""Messages while a barrier decides where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.model.messages import Activation, ActivationKey, Delivery, EdgeDecisions, Trail
from agentic.core.graph.model.state import Draft
from agentic.core.records import record
from agentic.core.types import ExecutorId


@record
class LostMessage:
    """A message that no executor took.

    Attributes:
        source: The sender; for a list, the last sender of a part.
        payload: The message.
        reason: Why no executor took it.
        sender: The activation that sent it; None for a list.
        sources: For a list: the executors whose messages led to it.
    """

    source: ExecutorId
    payload: Payload
    reason: str
    sender: ActivationKey | None = None
    sources: tuple[ExecutorId, ...] = ()


@dataclass(slots=True)
class RoutedMessage:
    """A sent message on its way through the edges of its source.

    Attributes:
        source: The sender.
        payload: The message.
        aim: Its only target, if its sender named one.
        position: Its place among the messages of its activation.
        decisions: The results of conditions and selectors for the activation's messages.
        trail: The inputs that led to it.
        is_failure: Whether it reports that its source failed.
        sender: The activation that sent it.
        copies: Receivers so far.
        is_held_back: Whether a condition rejected it.
        reasons: Why some target did not take it.
        passed_by: Why edges did not evaluate their conditions on it.
    """

    source: ExecutorId
    payload: Payload
    aim: ExecutorId | None
    position: int
    edge_decisions: EdgeDecisions
    trail: Trail
    is_failure: bool
    sender: Activation
    copies: int = 0
    is_held_back: bool = False
    reasons: tuple[str, ...] = ()
    passed_by: tuple[str, ...] = ()

    def refuse(self, reason: str) -> None:
        """Note why some target did not take it."""
        self.reasons = (*self.reasons, reason)

    def aims_at(self, target: ExecutorId) -> bool:
        """Whether ``target`` may get it."""
        return self.aim is None or self.aim == target


@dataclass(slots=True)
class RoutingContext:
    """The decisions of one barrier.

    Attributes:
        graph: The workflow's.
        draft: Of the next state.
        deliveries: For the next superstep, in delivery order.
        carried: Edge index -> messages it took.
        lost: The undelivered messages.
        superseded: Values that a newer one of the same source replaced: source, target, value.
        error: The error that fails the run, if any.
        refused: The activations whose messages fail it, and why.
        chosen: Edge index -> target -> messages, for edges that choose among targets.
        copy_count: Messages handed out; each receiver counts.
    """

    graph: Graph
    draft: Draft
    deliveries: list[Delivery] = field(default_factory=list)
    carried: dict[int, int] = field(default_factory=dict)
    lost: list[LostMessage] = field(default_factory=list)
    superseded: list[tuple[ExecutorId, ExecutorId, Payload]] = field(default_factory=list)
    error: Exception | None = None
    refused: dict[ActivationKey, Exception] = field(default_factory=dict)
    chosen: dict[int, dict[ExecutorId, int]] = field(default_factory=dict)
    copy_count: int = 0

    def copy_for_receiver(self, message: RoutedMessage) -> Payload:
        """Return the payload for one more receiver: the original the first time, then separate copies."""
        self.copy_count += 1
        message.copies += 1
        return message.payload if message.copies == 1 else message.payload.for_next_receiver()

    def deliver(self, message: RoutedMessage, target: ExecutorId) -> bool:
        """Deliver a message, if its sender and its receiver agree; return whether they do."""
        return message.aims_at(target) and self.deliver_to(message, target)

    def deliver_to(self, message: RoutedMessage, target: ExecutorId) -> bool:
        """Deliver a message to a target that its sender may not have named; return whether it agrees."""
        is_taken = self.is_taken(message, target)
        if is_taken:
            payload = self.copy_for_receiver(message)
            self.deliveries.append(Delivery(target, (message.source,), payload, None, message.trail))
        return is_taken

    def choose(self, edge_index: int, target: ExecutorId) -> None:
        """Note the chosen target of an edge."""
        counts = self.chosen.setdefault(edge_index, {})
        counts[target] = counts.get(target, 0) + 1

    def is_taken(self, message: RoutedMessage, target: ExecutorId) -> bool:
        """Whether the receiver takes a message; if not, note that on the message."""
        is_taken = self.graph.executors[target].accepts(message.payload.value)
        if not is_taken:
            message.refuse(_refusal(message, target))
        return is_taken

    def pass_by(self, message: RoutedMessage, targets: Sequence[ExecutorId]) -> None:
        """Note that an edge skipped its condition: only targets of another edge take the message."""
        message.passed_by += tuple(_refusal(message, end) for end in targets if message.aims_at(end))

    def deliver_list(self, delivery: Delivery, sources: tuple[ExecutorId, ...]) -> None:
        """Deliver the list of a fan-in or a map, made from ``sources``, if its receiver takes it."""
        if self.graph.executors[delivery.target].accepts(delivery.payload.value):
            self.deliveries.append(delivery)
            return
        values = delivery.payload.value
        kinds = {type(v).__name__ for v in values} if isinstance(values, list) else set()
        reason = f"{delivery.target!r} does not accept a list of {', '.join(sorted(kinds)) or 'nothing'}"
        self.lost.append(LostMessage(delivery.sources[-1], delivery.payload, reason, None, sources))


def _refusal(message: RoutedMessage, target: ExecutorId) -> str:
    return f"{target!r} does not accept {type(message.payload.value).__name__}"
