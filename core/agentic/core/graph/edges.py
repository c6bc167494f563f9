"""How executors are connected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentic.core.graph.executor import Executor
from agentic.core.types import ExecutorId

Condition = Callable[[Any], bool | Awaitable[bool]]
"""Given the message; false lets it not pass."""

Selector = Callable[[Any, Sequence[str]], Sequence[str] | Awaitable[Sequence[str]]]
"""Given the message and the ids of the declared targets; returns those that get it."""

OnItemError = Literal["collect", "skip", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectEdge:
    """From one executor to one other, always or when ``condition`` holds."""

    source: ExecutorId
    target: ExecutorId
    condition: Condition | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutEdge:
    """From one executor to several, all of them or those that ``select`` names."""

    source: ExecutorId
    targets: tuple[ExecutorId, ...]
    select: Selector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FanInEdge:
    """From several executors to one, which gets one list when each has sent."""

    sources: tuple[ExecutorId, ...]
    target: ExecutorId


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEdge:
    """A list from ``source`` is worked off item by item by ``body``; ``join`` gets ``list[ItemResult]``."""

    source: ExecutorId
    body: ExecutorId
    join: ExecutorId
    max_parallel: int = 16
    window: int = 1000
    on_item_error: OnItemError = "collect"


Edge = DirectEdge | FanOutEdge | FanInEdge | MapEdge


def sources_of(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the executors whose messages the edge carries."""
    return edge.sources if isinstance(edge, FanInEdge) else (edge.source,)


def targets_of(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the executors that a message sent over the edge can reach, the map's join included."""
    if isinstance(edge, FanOutEdge):
        return edge.targets
    if isinstance(edge, MapEdge):
        return (edge.body, edge.join)
    return (edge.target,)


def edge_name(edge: Edge) -> str:
    """Return how events name an edge: ``a->b``, ``a->b+c`` for a fan-out, ``a+b->c`` for a fan-in."""
    return f"{'+'.join(sources_of(edge))}->{'+'.join(receivers_of(edge))}"


def receivers_of(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the executors that get the very messages the sources send."""
    return (edge.body,) if isinstance(edge, MapEdge) else targets_of(edge)


class Graph:
    """Executors and edges, indexed. Immutable once made.

    Args:
        executors: In declaration order; supersteps run and merge in it.
        edges: In declaration order; deliveries are made in it.
        starts: Each gets the input of a run.
    """

    def __init__(
        self,
        executors: Mapping[ExecutorId, Executor],
        edges: Sequence[Edge],
        starts: Sequence[ExecutorId],
    ) -> None:
        self.executors = dict(executors)
        self.edges = tuple(edges)
        self.starts = tuple(starts)
        self.rank = {executor_id: rank for rank, executor_id in enumerate(self.executors)}
        self.leaving: dict[ExecutorId, list[int]] = {executor_id: [] for executor_id in self.executors}
        self.lanes = {executor_id: node.max_parallel for executor_id, node in self.executors.items()}
        for index, edge in enumerate(self.edges):
            for source in sources_of(edge):
                self.leaving[source].append(index)
            if isinstance(edge, MapEdge):
                self.lanes[edge.body] = edge.max_parallel
        self.bodies = frozenset(edge.body for edge in self.edges if isinstance(edge, MapEdge))

    def sends_return_value(self, executor_id: ExecutorId) -> bool:
        """Whether what a handler returns is a message; without an out-edge it is an output of the run."""
        return bool(self.leaving[executor_id]) or executor_id in self.bodies
