"""Who gets what next: sent messages become deliveries.

Deliveries are made in edge declaration order, then source order, then send order, whatever order the sources
finished in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentic.core.graph.edges import DirectEdge, FanInEdge, FanOutEdge, Graph, MapEdge, targets_of
from agentic.core.graph.messages import (
    ActivationResult,
    Delivery,
    ExecutorFailure,
    ItemResult,
    Lineage,
    PayloadT,
    Sent,
    isolated,
)
from agentic.core.graph.state import FanInBuffer, MapProgress, RunState
from agentic.core.types import ExecutorId


@dataclass(frozen=True, slots=True)
class Lost:
    """A sent message that reached nobody, and why."""

    source: ExecutorId
    payload: object
    reason: str


@dataclass(slots=True)
class Routing:
    """What one barrier decided; filled by :func:`route`."""

    deliveries: list[Delivery] = field(default_factory=list)
    fan_ins: dict[int, FanInBuffer] = field(default_factory=dict)
    maps: dict[int, MapProgress] = field(default_factory=dict)
    next_map_id: int = 0
    carried: dict[int, int] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)


@dataclass(slots=True)
class _Letter:
    """A sent message on its way through the edges of its source."""

    source: ExecutorId
    sent: Sent
    position: int
    verdicts: Mapping[tuple[int, int], bool | tuple[ExecutorId, ...]]
    copies: int = 0
    held_back: bool = False
    reasons: list[str] = field(default_factory=list)

    def aims_at(self, target: ExecutorId) -> bool:
        return self.sent.target is None or self.sent.target == target

    def hand_out(self, payload: PayloadT) -> PayloadT:
        """Return the payload: itself the first time, then a copy nobody shares."""
        self.copies += 1
        return payload if self.copies == 1 else isolated(payload)


def route(graph: Graph, state: RunState, results: Sequence[ActivationResult]) -> Routing:
    """Decide every delivery of the next superstep.

    Args:
        graph: The workflow's.
        state: As of the superstep that ends.
        results: One per activation of that superstep, in planner order, none of them an unhandled failure.
    """
    routing = Routing(fan_ins=dict(state.fan_ins), maps=dict(state.maps), next_map_id=state.next_map_id)
    touched = _fold_items(graph, routing, results)
    by_edge: dict[int, list[_Letter]] = {}
    letters = list(_letters(graph, results))
    for letter in letters:
        for edge_index in graph.leaving[letter.source]:
            by_edge.setdefault(edge_index, []).append(letter)
    for edge_index in sorted(by_edge.keys() | touched):
        _carry(graph, routing, edge_index, by_edge.get(edge_index, []))
    routing.lost = [lost for letter in letters if (lost := _why_lost(graph, letter)) is not None]
    return routing


def _letters(graph: Graph, results: Sequence[ActivationResult]) -> Iterator[_Letter]:
    for result in results:
        if result.activation.executor_id not in graph.bodies:
            for position, sent in enumerate(result.sends):
                yield _Letter(result.activation.executor_id, sent, position, result.verdicts)


def _carry(graph: Graph, routing: Routing, edge_index: int, letters: Sequence[_Letter]) -> None:
    """Take ``letters`` over one edge."""
    edge = graph.edges[edge_index]
    before = sum(letter.copies for letter in letters)
    match edge:
        case DirectEdge():
            for letter in letters:
                if edge.condition is None or letter.verdicts[edge_index, letter.position]:
                    _deliver(graph, routing, letter, edge.target)
                else:
                    letter.held_back = True
        case FanOutEdge():
            for letter in letters:
                _fan_out(graph, routing, edge_index, edge, letter)
        case FanInEdge():
            _fan_in(graph, routing, edge_index, edge, letters)
        case MapEdge():
            _map(graph, routing, edge_index, edge, letters)
    carried = sum(letter.copies for letter in letters) - before
    if carried:
        routing.carried[edge_index] = carried


def _deliver(graph: Graph, routing: Routing, letter: _Letter, target: ExecutorId) -> None:
    if not letter.aims_at(target):
        return
    if graph.executors[target].accepts(letter.sent.payload):
        routing.deliveries.append(Delivery(target, (letter.source,), letter.hand_out(letter.sent.payload)))
    else:
        letter.reasons.append(f"{target!r} takes no {type(letter.sent.payload).__name__}")


def _fan_out(graph: Graph, routing: Routing, edge_index: int, edge: FanOutEdge, letter: _Letter) -> None:
    chosen: tuple[ExecutorId, ...] = edge.targets
    if edge.select is not None:
        verdict = letter.verdicts[edge_index, letter.position]
        chosen = verdict if isinstance(verdict, tuple) else ()
        letter.held_back = letter.held_back or not chosen
    for target in chosen:
        _deliver(graph, routing, letter, target)


def _fan_in(
    graph: Graph, routing: Routing, edge_index: int, edge: FanInEdge, letters: Sequence[_Letter]
) -> None:
    buffer = dict(routing.fan_ins.get(edge_index, {}))
    for letter in letters:
        if letter.aims_at(edge.target):
            buffer[letter.source] = (*buffer.get(letter.source, ()), letter.hand_out(letter.sent.payload))
    if len(buffer) < len(edge.sources):
        if buffer:
            routing.fan_ins[edge_index] = buffer
        return
    routing.fan_ins.pop(edge_index, None)
    gathered = [message for source in edge.sources for message in buffer[source]]
    _deliver_gathered(graph, routing, Delivery(edge.target, edge.sources, gathered))


def _deliver_gathered(graph: Graph, routing: Routing, delivery: Delivery) -> None:
    if graph.executors[delivery.target].accepts(delivery.payload):
        routing.deliveries.append(delivery)
        return
    kinds = (
        ", ".join(sorted({type(m).__name__ for m in delivery.payload}))
        if isinstance(delivery.payload, list)
        else ""
    )
    reason = f"{delivery.target!r} takes no list of {kinds or 'nothing'}"
    routing.lost.append(Lost(delivery.sources[-1], delivery.payload, reason))


def _map(graph: Graph, routing: Routing, edge_index: int, edge: MapEdge, letters: Sequence[_Letter]) -> None:
    for letter in letters:
        payload = letter.sent.payload
        if not (letter.aims_at(edge.body) or letter.aims_at(edge.join)):
            continue
        if not isinstance(payload, (list, tuple)):
            letter.reasons.append(f"the map edge to {edge.body!r} needs a list, not {type(payload).__name__}")
            continue
        items = tuple(letter.hand_out(payload))
        routing.maps[routing.next_map_id] = MapProgress(edge_index=edge_index, items=items)
        routing.next_map_id += 1
    for map_id, progress in list(routing.maps.items()):
        if progress.edge_index == edge_index:
            _work_off(graph, routing, map_id, edge)


def _work_off(graph: Graph, routing: Routing, map_id: int, edge: MapEdge) -> None:
    """Hand out items up to the window, or give the join what all items came to."""
    progress = routing.maps[map_id]
    if progress.is_finished:
        del routing.maps[map_id]
        every = [progress.done[index] for index in range(len(progress.items))]
        kept = [item for item in every if item.ok] if edge.on_item_error == "skip" else every
        _deliver_gathered(graph, routing, Delivery(edge.join, (edge.body,), kept))
        return
    room = edge.window - progress.live_count
    upto = min(progress.next_index + room, len(progress.items))
    for index in range(progress.next_index, upto):
        item = isolated(progress.items[index])
        routing.deliveries.append(Delivery(edge.body, (edge.source,), item, Lineage(map_id, index)))
    routing.maps[map_id] = replace(progress, next_index=upto)


def _fold_items(graph: Graph, routing: Routing, results: Sequence[ActivationResult]) -> set[int]:
    """Put finished items into their lists; return the map edges concerned."""
    finished: dict[int, dict[int, ItemResult]] = {}
    for result in results:
        lineage = result.activation.delivery.lineage
        if lineage is not None and result.activation.executor_id in graph.bodies:
            finished.setdefault(lineage.map_id, {})[lineage.index] = _item_result(result, lineage.index)
    for map_id, items in finished.items():
        progress = routing.maps[map_id]
        routing.maps[map_id] = replace(progress, done={**progress.done, **items})
    return {routing.maps[map_id].edge_index for map_id in finished}


def _item_result(result: ActivationResult, index: int) -> ItemResult:
    item = result.activation.delivery.payload
    if result.error is not None:
        failure = failure_of(result.activation.executor_id, result.error)
        return ItemResult(index=index, item=item, error=failure)
    values = [sent.payload for sent in result.sends] + list(result.outputs)
    return ItemResult(index=index, item=item, value=values if len(values) > 1 else next(iter(values), None))


def failure_of(executor_id: ExecutorId, error: Exception) -> ExecutorFailure:
    """Return an error as data."""
    return ExecutorFailure(executor_id=executor_id, error_type=type(error).__name__, message=str(error))


def _why_lost(graph: Graph, letter: _Letter) -> Lost | None:
    if letter.copies or (letter.held_back and not letter.reasons):
        return None
    reasons = letter.reasons or [_no_way(graph, letter)]
    return Lost(letter.source, letter.sent.payload, ", ".join(reasons))


def _no_way(graph: Graph, letter: _Letter) -> str:
    ends = sorted({end for index in graph.leaving[letter.source] for end in targets_of(graph.edges[index])})
    if not ends:
        return f"{letter.source!r} has no out-edge"
    return f"{letter.sent.target!r} is no target of an edge of {letter.source!r} (targets: {', '.join(ends)})"
