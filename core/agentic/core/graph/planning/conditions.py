"""Evaluates the conditions and selectors on sent messages; the planner only reads the decisions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

from agentic.core.graph.definition.edges import (
    Condition,
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    MapEdge,
    RetryEdge,
    SwitchEdge,
    edge_name,
    targets_of,
)
from agentic.core.graph.errors import SelectorError, UndeliverableMessageError
from agentic.core.graph.model.messages import EdgeDecision, Sent
from agentic.core.types import ExecutorId


async def evaluate_conditions(
    graph: Graph, source: ExecutorId, sends: Sequence[Sent], *, is_failure: bool = False
) -> dict[tuple[int, int], EdgeDecision]:
    """Return the decision of every condition and selector on the way of ``sends``.

    They are evaluated on messages that one of their targets takes, and on messages that no executor takes:
    if one of them rejects such a message, it was not meant to arrive. They see copies of mutable messages:
    their changes are not delivered.

    Raises:
        Exception: An error of one of them.
        SelectorError: A selector did not return a list of ids.
        UndeliverableMessageError: A selector named an executor that is not one of its targets.
    """
    decisions: dict[tuple[int, int], EdgeDecision] = {}
    shown = [sent.payload.copy_value() for sent in sends]
    for edge_index in (graph.failures_over if is_failure else graph.messages_over)[source]:
        edge = graph.edges[edge_index]
        for position, sent in enumerate(sends):
            if sent.target is not None and sent.target not in targets_of(edge):
                continue
            fits = _fits(graph, edge, sent)
            if not fits and _is_for_another(graph, source, sent, is_failure=is_failure):
                continue
            try:
                decision = await _ask(graph, edge, shown[position])
            except BaseException as exc:
                if fits or not isinstance(exc, Exception):
                    exc.add_note(f"while evaluating the edge {edge_name(edge)}")
                    raise
                decision = True  # no target takes it, which is reported
            if decision is not None:
                decisions[edge_index, position] = decision
    return decisions


def _fits(graph: Graph, edge: Edge, sent: Sent) -> bool:
    """Whether the edge can carry a message: whether one of its receivers takes it."""
    match edge:
        case DirectEdge():
            return graph.executors[edge.target].accepts(sent.payload.value)
        case FanInEdge():
            return True
        case MapEdge():
            return isinstance(sent.payload.value, (list, tuple))
        case RetryEdge() if edge.payload == "input":
            return True  # its worker gets an earlier input again
        case _:
            ends = targets_of(edge) if sent.target is None else (sent.target,)
            return any(graph.executors[end].accepts(sent.payload.value) for end in ends)


def _is_for_another(graph: Graph, source: ExecutorId, sent: Sent, *, is_failure: bool) -> bool:
    """Whether some edge can carry a message."""
    leaving = (graph.failures_over if is_failure else graph.messages_over)[source]
    return any(
        _fits(graph, edge, sent)
        for edge in map(graph.edges.__getitem__, leaving)
        if sent.target is None or sent.target in targets_of(edge)
    )


async def _ask(graph: Graph, edge: Edge, message: object) -> EdgeDecision | None:
    match edge:
        case DirectEdge():
            return None if edge.condition is None else await _holds(edge.condition, message)
        case RetryEdge():
            return await _holds(edge.when, message)
        case SwitchEdge():
            for case in edge.cases:
                if graph.executors[case.target].accepts(message) and await _holds(case.condition, message):
                    return (case.target,)
            return (edge.default,)
        case FanOutEdge():
            return None if edge.select is None else await _selected(edge, message)
        case _:
            return None


async def _holds(condition: Condition, message: object) -> bool:
    try:
        answer = condition(message)
        if not inspect.isawaitable(answer):
            return bool(answer)
    except GeneratorExit as exc:  # an awaiting caller would take it for the order to close
        raise RuntimeError("the condition raised GeneratorExit") from exc
    return bool(await answer)


async def _selected(edge: FanOutEdge, message: object) -> tuple[ExecutorId, ...]:
    if edge.select is None:
        return edge.targets
    try:
        answer = edge.select(message, edge.targets)
    except GeneratorExit as exc:  # as above
        raise RuntimeError("the selector raised GeneratorExit") from exc
    answer = await answer if inspect.isawaitable(answer) else answer
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise SelectorError(edge.source, answer)
    chosen = set(answer)
    if unknown := sorted(map(str, chosen - set(edge.targets))):
        reason = f"its selector chose {', '.join(unknown)}, but declares {', '.join(edge.targets)}"
        raise UndeliverableMessageError(edge.source, message, reason)
    return tuple(target for target in edge.targets if target in chosen)
