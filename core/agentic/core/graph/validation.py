"""What makes a graph impossible to run, every fault at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentic.core.graph.edges import DirectEdge, Edge, FanInEdge, FanOutEdge, MapEdge, sources_of, targets_of
from agentic.core.graph.executor import Executor
from agentic.core.types import ExecutorId


def find_faults(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> list[str]:
    """Return every fault, each a sentence naming the nodes and the fix; none for a graph that can run."""
    faults = [
        *_unknown(executors, edges, starts),
        *_bad_edges(edges),
        *_duplicates(edges),
        *_bad_bodies(edges, starts),
    ]
    if not starts:
        faults.append("no start executor; call set_start(...)")
    elif not faults:
        faults += _unreachable(executors, edges, starts)
    return faults


def _unknown(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> Iterator[str]:
    named = [*starts, *(end for edge in edges for end in (*sources_of(edge), *targets_of(edge)))]
    for name in dict.fromkeys(named):
        if name not in executors:
            known = ", ".join(executors) or "none"
            yield f"no executor is called {name!r} (known: {known}); add it with add_executor(...)"


def _bad_edges(edges: Sequence[Edge]) -> Iterator[str]:
    for edge in edges:
        match edge:
            case FanInEdge() if len(edge.sources) < 2:
                yield f"the fan-in to {edge.target!r} has {len(edge.sources)} source; use add_edge for one"
            case FanInEdge() if len(set(edge.sources)) < len(edge.sources):
                yield f"the fan-in to {edge.target!r} names a source twice; name each once"
            case FanOutEdge() if not edge.targets:
                yield f"the fan-out from {edge.source!r} has no target; name at least one"
            case FanOutEdge() if len(set(edge.targets)) < len(edge.targets):
                yield f"the fan-out from {edge.source!r} names a target twice; name each once"
            case MapEdge() if edge.max_parallel < 1 or edge.window < 1:
                yield f"the map edge to {edge.body!r} needs max_parallel and window of at least 1"
            case _:
                pass


def _duplicates(edges: Sequence[Edge]) -> Iterator[str]:
    seen: set[object] = set()
    for edge in edges:
        # Two edges between one pair are fine when conditions tell them apart.
        told_apart = edge.condition if isinstance(edge, DirectEdge) else None
        key = (type(edge), sources_of(edge), targets_of(edge), told_apart)
        if key in seen:
            ends = f"{', '.join(sources_of(edge))} -> {', '.join(targets_of(edge))}"
            yield f"the edge {ends} is there twice; remove one"
        seen.add(key)


def _bad_bodies(edges: Sequence[Edge], starts: Sequence[ExecutorId]) -> Iterator[str]:
    bodies = [edge.body for edge in edges if isinstance(edge, MapEdge)]
    for body in dict.fromkeys(bodies):
        others = [
            edge
            for edge in edges
            if body in sources_of(edge)
            or (body in targets_of(edge) and not (isinstance(edge, MapEdge) and edge.body == body))
        ]
        if others or body in starts or bodies.count(body) > 1:
            yield f"{body!r}, the body of a map edge, is connected otherwise too; use another executor there"


def _unreachable(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> Iterator[str]:
    reached: set[ExecutorId] = set()
    frontier = list(starts)
    while frontier:
        node = frontier.pop()
        if node not in reached:
            reached.add(node)
            frontier += [end for edge in edges if node in sources_of(edge) for end in targets_of(edge)]
    for name in executors:
        if name not in reached:
            yield f"{name!r} cannot be reached from {', '.join(starts)}; add an edge to it, or remove it"
