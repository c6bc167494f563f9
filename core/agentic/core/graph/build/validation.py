"""Finds every fault that makes a graph impossible to run, and signs that it may never end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from agentic.core.graph.build.edge_faults import find_edge_faults
from agentic.core.graph.build.type_faults import find_type_faults
from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    RetryEdge,
    SwitchEdge,
    carries_only_failures,
    edge_name,
    sources_of,
    targets_of,
)
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.walks import Ways, circles, path_round, reachable, ways_of
from agentic.core.types import ExecutorId

_MANY = 8


def find_faults(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> list[str]:
    """Return every fault, each a sentence naming the nodes and the fix; none for a graph that can run."""
    ways = _ways(edges)
    return [
        *_bad_names(executors, edges, starts),
        *find_edge_faults(edges, starts),
        *_unreachable(executors, ways, starts),
        *_vain_retries(edges, ways),
        *find_type_faults(executors, edges, starts),
    ]


def find_warnings(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> list[str]:
    """Return probable mistakes: circles that nothing ends, and joins that a retry leaves half full.

    Such a graph can be correct, if a handler sends nothing, or sends its messages again.
    """
    live = reachable(_ways(edges), starts) & executors.keys()
    endless = _ways([edge for edge in edges if not _is_limited(edge)])
    ways = {node: [end for end in ends if end in live] for node, ends in endless.items() if node in live}
    rounds = (path_round(ways, circle) for circle in circles(ways))
    return [*_half_retried(edges)] + [
        f"the cycle {_listed(path, ' -> ')} has neither a condition nor a pass limit, so only "
        "max_supersteps may end it; give one of its edges a condition, or use add_retry_edge"
        for path in rounds
        if path
    ]


def _half_retried(edges: Sequence[Edge]) -> Iterator[str]:
    """Yield the fan-ins between a worker and its validator that also need a source that is not rerun."""
    joins = [edge for edge in edges if isinstance(edge, FanInEdge) and edge.mode == "all"]
    for retry in (edge for edge in edges if isinstance(edge, RetryEdge)) if joins else ():
        onwards = _ways([edge for edge in edges if retry.source not in sources_of(edge)])
        again = reachable(onwards, [retry.target])
        for join in joins:
            kept = [source for source in join.sources if source not in again]
            if kept and len(kept) < len(join.sources) and retry.source in reachable(onwards, [join.target]):
                yield (
                    f"the retry edge {edge_name(retry)} does not rerun {_listed(kept, ', ')}, but the "
                    f"fan-in to {join.target!r} waits for it; use mode='latest' there"
                )


def _ways(edges: Sequence[Edge]) -> dict[ExecutorId, list[ExecutorId]]:
    return ways_of((source, end) for edge in edges for source in sources_of(edge) for end in targets_of(edge))


def _is_limited(edge: Edge) -> bool:
    """Whether the edge can stop messages, so that a circle over it can end."""
    match edge:
        case DirectEdge() if edge.condition is not None:
            return True
        case FanOutEdge() if edge.select is not None:
            return True
        case SwitchEdge() | RetryEdge():
            return True
        case _:
            return carries_only_failures(edge)


def _bad_names(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> Iterator[str]:
    if not starts:
        yield "no start executor; call set_start(...)"
    for name, count in Counter(starts).items():
        if count > 1:
            yield f"{name!r} is a start executor twice; name it once"
    named = [*starts, *(end for edge in edges for end in (*sources_of(edge), *targets_of(edge)))]
    known = _listed(list(executors), ", ") or "none"
    for name in dict.fromkeys(named):
        if name not in executors:
            yield f"no executor has the id {name!r} (known: {known}); add it with add_executor(...)"
    names: dict[int, ExecutorId] = {}
    for name, node in executors.items():
        other = names.setdefault(id(node), name)
        if other != name:
            yield f"{other!r} and {name!r} are the same executor object; create a second one"


def _unreachable(
    executors: Mapping[ExecutorId, Executor], ways: Ways, starts: Sequence[ExecutorId]
) -> Iterator[str]:
    if not executors.keys() & starts:
        return  # already reported; everything would be unreachable
    reached = reachable(ways, starts)
    origin = _listed(starts, ", ")
    for name in executors:
        if name not in reached:
            why = "" if name in ways else ", it has no edges"
            yield f"{name!r} cannot be reached from {origin}{why}; add an edge to it, or remove it"


def _vain_retries(edges: Sequence[Edge], ways: Ways) -> Iterator[str]:
    """Return the retry edges whose worker never leads to their validator again.

    A retry edge itself leads from validator to worker. So the worker leads back exactly if both are in one
    circle, which is checked for all retry edges at once.
    """
    retries = [edge for edge in edges if isinstance(edge, RetryEdge)]
    if not retries:
        return
    circle_of = {node: index for index, circle in enumerate(circles(ways)) for node in circle}
    for edge in retries:
        if circle_of[edge.source] != circle_of[edge.target]:
            yield (
                f"the retry edge {edge_name(edge)} has no effect: no path leads from {edge.target!r} to "
                f"{edge.source!r}; add an edge on that path"
            )


def _listed(names: Sequence[str], between: str) -> str:
    shown = [*names[: _MANY - 1], "...", names[-1]] if len(names) > _MANY else names
    return between.join(shown)
