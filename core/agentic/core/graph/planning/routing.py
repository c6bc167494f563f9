"""The next receivers: sent messages become deliveries.

Deliveries are made in edge declaration order, then source order, then send order, independent of the order
that sources finish in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    MapEdge,
    RetryEdge,
    SwitchEdge,
    targets_of,
)
from agentic.core.graph.errors import RetriesExhaustedError
from agentic.core.graph.model.messages import NO_TRAIL, ActivationResult, Delivery, Input, Trail
from agentic.core.graph.model.state import Draft
from agentic.core.graph.planning import joins, maps
from agentic.core.graph.planning.routed import LostMessage, RoutedMessage, RoutingContext
from agentic.core.types import ExecutorId


def route(graph: Graph, draft: Draft, results: Sequence[ActivationResult]) -> RoutingContext:
    """Decide every delivery of the next superstep.

    Args:
        graph: The workflow's.
        draft: Of the next state; fan-ins and maps are kept there.
        results: One per activation of the superstep that ends, in planner order; the only failures among
            them are failures that an edge takes or a map collects.
    """
    context = RoutingContext(graph=graph, draft=draft)
    touched = maps.fold_items(draft, results)
    by_edge: dict[int, list[RoutedMessage]] = {}
    messages = _messages(graph, results)
    for message in messages:
        for edge_index in (graph.failures_over if message.is_failure else graph.messages_over)[
            message.source
        ]:
            by_edge.setdefault(edge_index, []).append(message)
    for edge_index in (
        sorted(by_edge.keys() | touched) if len(by_edge) + len(touched) > 1 else by_edge or touched
    ):
        _carry(context, edge_index, by_edge.get(edge_index, []))
    for message in messages:
        if not message.copies and (lost := _why_lost(graph, message)) is not None:
            context.lost.append(lost)
    return context


def takes_failure(graph: Graph, result: ActivationResult) -> bool:
    """Whether an edge takes the failure of an activation, so that it does not fail the run."""
    for sent in result.sends:
        for edge_index in graph.failures_over[result.activation.delivery.target]:
            edge = graph.edges[edge_index]
            if any(
                graph.executors[end].accepts(sent.payload.value) or isinstance(edge, FanInEdge)
                for end in _chosen(edge, result.edge_decisions.get((edge_index, 0), True))
            ):
                return True
    return False


def _chosen(edge: Edge, decision: bool | tuple[ExecutorId, ...]) -> Sequence[ExecutorId]:
    if isinstance(decision, tuple):
        return decision
    return targets_of(edge) if decision else ()


def _messages(graph: Graph, results: Sequence[ActivationResult]) -> list[RoutedMessage]:
    messages: list[RoutedMessage] = []
    for result in results:
        source = result.activation.delivery.target
        if result.sends and source not in graph.bodies:
            trail = _trail_after(graph, result) if graph.retry_targets else NO_TRAIL
            is_failure = result.error is not None
            messages += [
                RoutedMessage(
                    source, sent.payload, sent.target, position, result.edge_decisions, trail, is_failure,
                    result.activation,
                )
                for position, sent in enumerate(result.sends)
            ]  # fmt: skip
    return messages


def _trail_after(graph: Graph, result: ActivationResult) -> Trail:
    """Return the inputs that led to an activation's messages, with its own if that can be delivered again."""
    delivery = result.activation.delivery
    if delivery.target not in graph.retry_targets or delivery.feedback:
        return delivery.trail
    return {**delivery.trail, delivery.target: Input(delivery.payload, delivery.sources)}


def _carry(context: RoutingContext, edge_index: int, messages: Sequence[RoutedMessage]) -> None:
    """Take ``messages`` over one edge."""
    edge = context.graph.edges[edge_index]
    before = context.copy_count
    match edge:
        case DirectEdge():
            for message in messages:
                _over_direct(context, edge_index, edge, message)
        case SwitchEdge() | FanOutEdge():
            for message in messages:
                _over_several(context, edge_index, edge, message)
        case FanInEdge():
            joins.gather(context, edge_index, edge, messages)
        case MapEdge():
            maps.take_over(context, edge_index, edge, messages)
        case RetryEdge():
            for message in messages:
                _over_retry(context, edge_index, edge, message)
        case _:
            assert_never(edge)
    if context.copy_count > before:
        context.carried[edge_index] = context.copy_count - before


def _over_direct(context: RoutingContext, edge_index: int, edge: DirectEdge, message: RoutedMessage) -> None:
    if not message.aims_at(edge.target):
        return
    if edge.condition is None:
        context.deliver(message, edge.target)
        return
    decision = message.edge_decisions.get((edge_index, message.position))
    if decision is None:
        context.pass_by(message, (edge.target,))
    elif decision:
        context.deliver(message, edge.target)
    else:
        message.is_held_back = True


def _over_several(
    context: RoutingContext, edge_index: int, edge: SwitchEdge | FanOutEdge, message: RoutedMessage
) -> None:
    decision = message.edge_decisions.get((edge_index, message.position))
    if decision is None and edge_index in context.graph.conditional_edges:
        context.pass_by(message, targets_of(edge))
        return
    chosen = decision if isinstance(decision, tuple) else targets_of(edge)
    if message.aim is None or message.aim in targets_of(edge):
        message.is_held_back = message.is_held_back or not any(map(message.aims_at, chosen))
    for target in chosen:
        if context.deliver(message, target) and decision is not None:
            context.choose(edge_index, target)


def _over_retry(context: RoutingContext, edge_index: int, edge: RetryEdge, message: RoutedMessage) -> None:
    """Deliver a worker's input again, or report that no pass is left."""
    if not message.aims_at(edge.target):
        return
    decision = message.edge_decisions.get((edge_index, message.position))
    if not decision:
        if decision is None:
            context.pass_by(message, targets_of(edge))
        else:
            message.is_held_back = True
        return
    last = message.trail.get(edge.target)
    if last is None:
        message.refuse(f"no input of {edge.target!r} that led to it can be delivered again")
    elif last.passes.get(edge_index, 0) < edge.max_passes:
        if edge.payload == "input" or context.is_taken(message, edge.target):
            _deliver_again(context, edge_index, edge, message, last)
    elif edge.exhausted is not None:
        if context.deliver_to(message, edge.exhausted):
            context.choose(edge_index, edge.exhausted)
    else:
        message.is_held_back = True
        error = RetriesExhaustedError(edge.source, edge.target, edge.max_passes, message.payload.value)
        context.error = context.error or error
        context.refused.setdefault(message.sender.key, error)


def _deliver_again(
    context: RoutingContext, edge_index: int, edge: RetryEdge, message: RoutedMessage, last: Input
) -> None:
    feedback = (*last.feedback, context.copy_for_receiver(message))
    passes = {**last.passes, edge_index: last.passes.get(edge_index, 0) + 1}
    again = last.payload if edge.payload == "input" else context.copy_for_receiver(message)
    context.choose(edge_index, edge.target)
    context.deliveries.append(
        Delivery(
            edge.target,
            last.sources if edge.payload == "input" else (message.source,),
            again.for_next_receiver(),
            trail={**message.trail, edge.target: Input(last.payload, last.sources, passes, feedback)},
            feedback=feedback,
        )
    )


def _why_lost(graph: Graph, message: RoutedMessage) -> LostMessage | None:
    if message.copies or message.is_failure or (message.is_held_back and not message.reasons):
        return None
    reasons = message.reasons or message.passed_by or (_no_way(graph, message),)
    return LostMessage(message.source, message.payload, ", ".join(reasons), message.sender.key)


def _addressable(edge: Edge) -> Sequence[ExecutorId]:
    """Return the targets a sender may name; only a retry edge itself sends to its ``exhausted`` target."""
    return (edge.target,) if isinstance(edge, RetryEdge) else targets_of(edge)


def _no_way(graph: Graph, message: RoutedMessage) -> str:
    edges = [graph.edges[index] for index in graph.messages_over[message.source]]
    ends = sorted({end for edge in edges for end in _addressable(edge)})
    if not ends:
        return f"{message.source!r} has no out-edge"
    return f"{message.aim!r} is not a target of an edge of {message.source!r} (targets: {', '.join(ends)})"
