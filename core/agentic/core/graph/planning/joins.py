"""Fan-ins: they join the messages of several sources.

``all`` fires at the barrier where the last missing source arrives, takes all waiting messages, and starts
again. ``latest`` fires when each source has a value, then whenever one of them brings a new one.
``available`` fires when nothing in progress can bring more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentic.core.graph.codec.payload import list_payload
from agentic.core.graph.definition.edges import FanInEdge
from agentic.core.graph.model.messages import Delivery, Input, Trail
from agentic.core.graph.model.state import BufferedMessage, FanInBuffer, Waiting
from agentic.core.graph.planning.routed import RoutedMessage, RoutingContext
from agentic.core.types import ExecutorId


def gather(
    context: RoutingContext, edge_index: int, edge: FanInEdge, messages: Sequence[RoutedMessage]
) -> None:
    """Take messages into a fan-in, and fire it if that completes it; ``available`` is decided afterwards."""
    arrived: dict[ExecutorId, list[BufferedMessage]] = {}
    for message in messages:
        if message.aims_at(edge.target):
            arrived.setdefault(message.source, []).append(
                BufferedMessage(context.copy_for_receiver(message), message.trail)
            )
    if not arrived:
        return
    buffer = dict(context.draft.fan_ins.get(edge_index, {}))
    for source, held in arrived.items():
        buffer[source] = Waiting(held, buffer.get(source))
        if edge.mode == "latest":
            *replaced, newest = buffer[source]
            context.superseded += [(source, edge.target, one.payload) for one in replaced]
            buffer[source] = Waiting([newest])
    context.draft.put("fan_ins", edge_index, buffer)
    if len(buffer) == len(edge.sources) and edge.mode != "available":
        _fire(context, edge_index, edge)


def _fire(context: RoutingContext, edge_index: int, edge: FanInEdge) -> None:
    buffer = context.draft.fan_ins[edge_index]
    present = [source for source in edge.sources if source in buffer]
    held = [one for source in present for one in buffer[source]]
    if edge.mode == "latest":
        payloads = [one.payload.for_next_receiver() for one in held]  # the values stay, to join newer ones
    else:
        payloads = [one.payload for one in held]
        context.draft.drop("fan_ins", edge_index)
    trail = _merged(held)
    context.deliver_list(
        Delivery(edge.target, tuple(present), list_payload(payloads), trail=trail), edge.sources
    )


def _merged(held: Sequence[BufferedMessage]) -> Trail:
    """Return one trail: for each worker the input with the most redeliveries, or the last of equals."""
    trail: dict[ExecutorId, Input] = {}
    for one in held:
        for worker, last in one.trail.items():
            known = trail.get(worker)
            if known is None or len(last.feedback) >= len(known.feedback):
                trail[worker] = last
    return trail


def fire_available(context: RoutingContext, live: set[ExecutorId], waiting: set[ExecutorId]) -> None:
    """Fire the fan-ins in mode ``available`` whose missing sources can no longer get a message.

    Args:
        context: With every other delivery decided.
        live: Executors with something to do: deliveries, maps.
        waiting: Executors that are parked.
    """
    pending = dict(_pending(context))
    if not pending:
        return
    all_targets = {
        index: edge.target
        for index, edge in _buffered(context)
        if not (edge.mode == "latest" and len(context.draft.fan_ins[index]) == len(edge.sources))
    }
    fired = False
    for index, edge in pending.items():
        others = {target for other, target in all_targets.items() if other != index}
        if not _is_reachable(context, index, edge, live | waiting | others):
            _fire(context, index, edge)
            fired = True
    if fired or live or context.deliveries:
        return
    # Joins that wait only for each other: the first one fires.
    for index, edge in pending.items():
        if not _is_reachable(context, index, edge, waiting):
            _fire(context, index, edge)
            return


def _is_reachable(context: RoutingContext, index: int, edge: FanInEdge, live: set[ExecutorId]) -> bool:
    buffer = context.draft.fan_ins[index]
    upstream = context.graph.upstream[index]
    return any(not live.isdisjoint(upstream[source]) for source in edge.sources if source not in buffer)


def _pending(context: RoutingContext) -> Iterator[tuple[int, FanInEdge]]:
    return ((index, edge) for index, edge in _buffered(context) if edge.mode == "available")


def _buffered(context: RoutingContext) -> Iterator[tuple[int, FanInEdge]]:
    """Yield the fan-ins with waiting messages, in declaration order."""
    for index in sorted(context.draft.fan_ins):
        edge = context.graph.edges[index]
        if isinstance(edge, FanInEdge):
            yield index, edge


def starving(
    buffers: Mapping[int, FanInBuffer], edges: Sequence[object]
) -> Iterator[tuple[FanInEdge, list[ExecutorId]]]:
    """Yield the fan-ins that wait at the end of a run, with the sources that never sent."""
    for index in sorted(buffers):
        edge = edges[index]
        if isinstance(edge, FanInEdge):
            missing = [source for source in edge.sources if source not in buffers[index]]
            if missing:
                yield edge, missing
