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
from agentic.core.graph.planning.routed import Letter, Lost, Routing
from agentic.core.types import ExecutorId


def route(graph: Graph, draft: Draft, results: Sequence[ActivationResult]) -> Routing:
    """Decide every delivery of the next superstep.

    Args:
        graph: The workflow's.
        draft: Of the next state; fan-ins and maps are kept there.
        results: One per activation of the superstep that ends, in planner order; the only failures among
            them are failures that an edge takes or a map collects.
    """
    routing = Routing(graph=graph, draft=draft)
    touched = maps.fold_items(draft, results)
    by_edge: dict[int, list[Letter]] = {}
    letters = _letters(graph, results)
    for letter in letters:
        for edge_index in (graph.failures_over if letter.is_failure else graph.messages_over)[letter.source]:
            by_edge.setdefault(edge_index, []).append(letter)
    for edge_index in (
        sorted(by_edge.keys() | touched) if len(by_edge) + len(touched) > 1 else by_edge or touched
    ):
        _carry(routing, edge_index, by_edge.get(edge_index, []))
    for letter in letters:
        if not letter.copies and (lost := _why_lost(graph, letter)) is not None:
            routing.lost.append(lost)
    return routing


def takes_failure(graph: Graph, result: ActivationResult) -> bool:
    """Whether an edge takes the failure of an activation, so that it does not fail the run."""
    for sent in result.sends:
        for edge_index in graph.failures_over[result.activation.delivery.target]:
            edge = graph.edges[edge_index]
            if any(
                graph.executors[end].accepts(sent.parcel.value) or isinstance(edge, FanInEdge)
                for end in _chosen(edge, result.verdicts.get((edge_index, 0), True))
            ):
                return True
    return False


def _chosen(edge: Edge, verdict: bool | tuple[ExecutorId, ...]) -> Sequence[ExecutorId]:
    if isinstance(verdict, tuple):
        return verdict
    return targets_of(edge) if verdict else ()


def _letters(graph: Graph, results: Sequence[ActivationResult]) -> list[Letter]:
    letters: list[Letter] = []
    for result in results:
        source = result.activation.delivery.target
        if result.sends and source not in graph.bodies:
            trail = _trail_after(graph, result) if graph.retry_targets else NO_TRAIL
            is_failure = result.error is not None
            letters += [
                Letter(
                    source, sent.parcel, sent.target, position, result.verdicts, trail, is_failure,
                    result.activation,
                )
                for position, sent in enumerate(result.sends)
            ]  # fmt: skip
    return letters


def _trail_after(graph: Graph, result: ActivationResult) -> Trail:
    """Return the inputs that led to an activation's messages, with its own if that can be delivered again."""
    delivery = result.activation.delivery
    if delivery.target not in graph.retry_targets or delivery.feedback:
        return delivery.trail
    return {**delivery.trail, delivery.target: Input(delivery.parcel, delivery.sources)}


def _carry(routing: Routing, edge_index: int, letters: Sequence[Letter]) -> None:
    """Take ``letters`` over one edge."""
    edge = routing.graph.edges[edge_index]
    before = routing.copy_count
    match edge:
        case DirectEdge():
            for letter in letters:
                _over_direct(routing, edge_index, edge, letter)
        case SwitchEdge() | FanOutEdge():
            for letter in letters:
                _over_several(routing, edge_index, edge, letter)
        case FanInEdge():
            joins.gather(routing, edge_index, edge, letters)
        case MapEdge():
            maps.take_over(routing, edge_index, edge, letters)
        case RetryEdge():
            for letter in letters:
                _over_retry(routing, edge_index, edge, letter)
        case _:
            assert_never(edge)
    if routing.copy_count > before:
        routing.carried[edge_index] = routing.copy_count - before


def _over_direct(routing: Routing, edge_index: int, edge: DirectEdge, letter: Letter) -> None:
    if not letter.aims_at(edge.target):
        return
    if edge.condition is None:
        routing.deliver(letter, edge.target)
        return
    verdict = letter.verdicts.get((edge_index, letter.position))
    if verdict is None:
        routing.pass_by(letter, (edge.target,))
    elif verdict:
        routing.deliver(letter, edge.target)
    else:
        letter.held_back = True


def _over_several(routing: Routing, edge_index: int, edge: SwitchEdge | FanOutEdge, letter: Letter) -> None:
    verdict = letter.verdicts.get((edge_index, letter.position))
    if verdict is None and edge_index in routing.graph.judging:
        routing.pass_by(letter, targets_of(edge))
        return
    chosen = verdict if isinstance(verdict, tuple) else targets_of(edge)
    if letter.aim is None or letter.aim in targets_of(edge):
        letter.held_back = letter.held_back or not any(map(letter.aims_at, chosen))
    for target in chosen:
        if routing.deliver(letter, target) and verdict is not None:
            routing.choose(edge_index, target)


def _over_retry(routing: Routing, edge_index: int, edge: RetryEdge, letter: Letter) -> None:
    """Deliver a worker's input again, or report that no pass is left."""
    if not letter.aims_at(edge.target):
        return
    verdict = letter.verdicts.get((edge_index, letter.position))
    if not verdict:
        if verdict is None:
            routing.pass_by(letter, targets_of(edge))
        else:
            letter.held_back = True
        return
    last = letter.trail.get(edge.target)
    if last is None:
        letter.refuse(f"no input of {edge.target!r} that led to it can be delivered again")
    elif last.passes.get(edge_index, 0) < edge.max_passes:
        if edge.payload == "input" or routing.is_taken(letter, edge.target):
            _deliver_again(routing, edge_index, edge, letter, last)
    elif edge.exhausted is not None:
        if routing.pass_on(letter, edge.exhausted):
            routing.choose(edge_index, edge.exhausted)
    else:
        letter.held_back = True
        error = RetriesExhaustedError(edge.source, edge.target, edge.max_passes, letter.parcel.value)
        routing.error = routing.error or error
        routing.refused.setdefault(letter.sender.key, error)


def _deliver_again(routing: Routing, edge_index: int, edge: RetryEdge, letter: Letter, last: Input) -> None:
    feedback = (*last.feedback, routing.hand_out(letter))
    passes = {**last.passes, edge_index: last.passes.get(edge_index, 0) + 1}
    again = last.parcel if edge.payload == "input" else routing.hand_out(letter)
    routing.choose(edge_index, edge.target)
    routing.deliveries.append(
        Delivery(
            edge.target,
            last.sources if edge.payload == "input" else (letter.source,),
            again.again(),
            trail={**letter.trail, edge.target: Input(last.parcel, last.sources, passes, feedback)},
            feedback=feedback,
        )
    )


def _why_lost(graph: Graph, letter: Letter) -> Lost | None:
    if letter.copies or letter.is_failure or (letter.held_back and not letter.reasons):
        return None
    reasons = letter.reasons or letter.passed_by or (_no_way(graph, letter),)
    return Lost(letter.source, letter.parcel, ", ".join(reasons), letter.sender.key)


def _addressable(edge: Edge) -> Sequence[ExecutorId]:
    """Return the targets a sender may name; only a retry edge itself sends to its ``exhausted`` target."""
    return (edge.target,) if isinstance(edge, RetryEdge) else targets_of(edge)


def _no_way(graph: Graph, letter: Letter) -> str:
    edges = [graph.edges[index] for index in graph.messages_over[letter.source]]
    ends = sorted({end for edge in edges for end in _addressable(edge)})
    if not ends:
        return f"{letter.source!r} has no out-edge"
    return f"{letter.aim!r} is not a target of an edge of {letter.source!r} (targets: {', '.join(ends)})"
