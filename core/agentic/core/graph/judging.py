"""Asks the conditions and selectors on the way of what was sent; the planner reads the verdicts only."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

from agentic.core.graph.edges import (
    Condition,
    DirectEdge,
    Edge,
    FanOutEdge,
    Graph,
    RetryEdge,
    SwitchEdge,
    carries_failures,
    carries_only_failures,
    edge_name,
    targets_of,
)
from agentic.core.graph.errors import SelectorError, UndeliverableMessageError
from agentic.core.graph.messages import Sent, Verdict
from agentic.core.types import ExecutorId


async def judge(
    graph: Graph, source: ExecutorId, sends: Sequence[Sent], *, is_failure: bool = False
) -> dict[tuple[int, int], Verdict]:
    """Return what every condition and selector on the way of ``sends`` says.

    They see copies of messages that can be changed: what one changes is not delivered.

    Raises:
        Exception: What one of them raised.
        SelectorError: A selector returned no list of ids.
        UndeliverableMessageError: A selector named an executor that is none of its targets.
    """
    verdicts: dict[tuple[int, int], Verdict] = {}
    shown = [sent.parcel.fresh() for sent in sends]
    for edge_index in graph.leaving[source]:
        edge = graph.edges[edge_index]
        if carries_failures(edge) if is_failure else not carries_only_failures(edge):
            for position, sent in enumerate(sends):
                if sent.target is None or sent.target in targets_of(edge):
                    try:
                        verdict = await _ask(edge, shown[position])
                    except BaseException as exc:
                        exc.add_note(f"while deciding about the edge {edge_name(edge)}")
                        raise
                    if verdict is not None:
                        verdicts[edge_index, position] = verdict
    return verdicts


async def _ask(edge: Edge, message: object) -> Verdict | None:
    match edge:
        case DirectEdge():
            return None if edge.condition is None else await _holds(edge.condition, message)
        case RetryEdge():
            return await _holds(edge.when, message)
        case SwitchEdge():
            for case in edge.cases:
                if await _holds(case.condition, message):
                    return (case.target,)
            return (edge.default,)
        case FanOutEdge():
            return None if edge.select is None else await _selected(edge, message)
        case _:
            return None


async def _holds(condition: Condition, message: object) -> bool:
    answer = condition(message)
    return bool(await answer if inspect.isawaitable(answer) else answer)


async def _selected(edge: FanOutEdge, message: object) -> tuple[ExecutorId, ...]:
    if edge.select is None:
        return edge.targets
    answer = edge.select(message, edge.targets)
    answer = await answer if inspect.isawaitable(answer) else answer
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise SelectorError(edge.source, answer)
    chosen = set(answer)
    if unknown := sorted(map(str, chosen - set(edge.targets))):
        reason = f"its selector chose {', '.join(unknown)}, declared are {', '.join(edge.targets)}"
        raise UndeliverableMessageError(edge.source, message, reason)
    return tuple(target for target in edge.targets if target in chosen)
