"""How executors are connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, assert_never

from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.model.reducers import Reducer
from agentic.core.types import EdgeId, ExecutorId, JSONValue

Condition = Callable[[Any], bool | Awaitable[bool]]
"""Called with the message; it passes if the result is true."""

Selector = Callable[[Any, Sequence[str]], Sequence[str] | Awaitable[Sequence[str]]]
"""Called with the message and the ids of the declared targets; returns the targets that receive it."""

OnItemError = Literal["collect", "skip", "fail"]
On = Literal["success", "failure", "always"]
"""Content of an edge: messages, the :class:`ExecutorFailure` of a source that finally failed, or both."""

JoinMode = Literal["all", "latest", "available"]
RetryPayload = Literal["input", "message"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectEdge:
    """From one executor to one other, always or when ``condition`` holds."""

    source: ExecutorId
    target: ExecutorId
    condition: Condition | None = None
    description: str = ""
    on: On = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchCase:
    """One way out of a switch."""

    condition: Condition
    target: ExecutorId
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchEdge:
    """From one executor to the target of the first case that holds, or to ``default``."""

    source: ExecutorId
    cases: tuple[SwitchCase, ...]
    default: ExecutorId
    on: On = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutEdge:
    """From one executor to several: all of them, or the targets that ``select`` names."""

    source: ExecutorId
    targets: tuple[ExecutorId, ...]
    select: Selector | None = None
    on: On = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class FanInEdge:
    """From several executors to one, which gets one list; ``mode`` says when."""

    sources: tuple[ExecutorId, ...]
    target: ExecutorId
    mode: JoinMode = "all"
    on: On = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEdge:
    """``body`` processes a list from ``source`` item by item; ``join`` gets ``list[ItemResult]``."""

    source: ExecutorId
    body: ExecutorId
    join: ExecutorId
    max_parallel: int = 16
    window: int = 1000
    on_item_error: OnItemError = "collect"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEdge:
    """From ``source``, a validator, to ``target``, whose input is delivered again while ``when`` holds."""

    source: ExecutorId
    target: ExecutorId
    when: Condition
    max_passes: int
    exhausted: ExecutorId | None = None
    payload: RetryPayload = "input"


Edge = DirectEdge | SwitchEdge | FanOutEdge | FanInEdge | MapEdge | RetryEdge


def sources_of(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the executors whose messages the edge carries."""
    return edge.sources if isinstance(edge, FanInEdge) else (edge.source,)


def receivers_of(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the executors that get the same messages that the sources send."""
    match edge:
        case MapEdge():
            return (edge.body,)
        case FanOutEdge():
            return edge.targets
        case SwitchEdge():
            return tuple(dict.fromkeys([*(case.target for case in edge.cases), edge.default]))
        case RetryEdge() if edge.exhausted is not None:
            return (edge.target, edge.exhausted)
        case DirectEdge() | FanInEdge() | RetryEdge():
            return (edge.target,)
        case _:
            assert_never(edge)


def targets_of(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the executors that a message sent over the edge can reach, the map's join included."""
    return (edge.body, edge.join) if isinstance(edge, MapEdge) else receivers_of(edge)


def edge_name(edge: Edge) -> EdgeId:
    """Return an edge's ends: ``a->b``, ``a->b+c`` for a fan-out, ``a+b->c`` for a fan-in."""
    return EdgeId(f"{'+'.join(sources_of(edge))}->{'+'.join(receivers_of(edge))}")


def rule_of(edge: Edge) -> dict[str, JSONValue]:
    """Return the rule of an edge that does not take every message, in words: ``rule``, ``cases``."""
    match edge:
        case DirectEdge():
            held = f"{_said(edge.description, edge.condition)} holds" if edge.condition is not None else ""
            return _rule(edge.on, held)
        case SwitchEdge():
            cases: dict[str, JSONValue] = {edge.default: "no case holds"}
            for case in reversed(edge.cases):  # if several lead to one target, the first is shown
                cases[case.target] = f"{_said(case.description, case.condition)} holds"
            return {**_rule(edge.on, "the first case that holds"), "cases": cases}
        case FanOutEdge():
            return _rule(edge.on, "" if edge.select is None else f"{_said('', edge.select)} chose")
        case FanInEdge():
            return _rule(edge.on, "")
        case RetryEdge():
            return _rule("success", f"{_said('', edge.when)} holds")
        case MapEdge():
            return {}
        case _:
            assert_never(edge)


def _rule(on: On, held: str) -> dict[str, JSONValue]:
    parts = [*(["its source failed"] if on == "failure" else []), *([held] if held else [])]
    return {"rule": ", and ".join(parts)} if parts else {}


def _said(description: str, asked: object) -> str:
    name = getattr(asked, "__name__", "")
    return description or (name if name.isidentifier() else "its condition")


def carries_failures(edge: Edge) -> bool:
    """Whether the edge takes the failure of its source."""
    return not isinstance(edge, (MapEdge, RetryEdge)) and edge.on != "success"


def carries_only_failures(edge: Edge) -> bool:
    """Whether the edge takes only failures."""
    return not isinstance(edge, (MapEdge, RetryEdge)) and edge.on == "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKey:
    """A key of the shared state that several executors may write in one superstep.

    Attributes:
        name: The key.
        reducer: Takes the value so far and the written one, returns the new value. Sync and pure.
    """

    name: str
    reducer: Reducer


class Graph:
    """Executors and edges, indexed. Immutable once made.

    Args:
        executors: In declaration order, which is the order of runs and merges in a superstep.
        edges: In declaration order, which is the order of deliveries.
        starts: Each gets the input of a run.
        state_keys: The keys with a reducer.
    """

    def __init__(
        self,
        executors: Mapping[ExecutorId, Executor],
        edges: Sequence[Edge],
        starts: Sequence[ExecutorId],
        state_keys: Sequence[StateKey] = (),
    ) -> None:
        self.executors = dict(executors)
        self.edges = tuple(edges)
        self.starts = tuple(starts)
        self.reducers = {key.name: key.reducer for key in state_keys}
        self.bodies = {edge.body: i for i, edge in enumerate(self.edges) if isinstance(edge, MapEdge)}
        self.retry_targets = frozenset(edge.target for edge in self.edges if isinstance(edge, RetryEdge))
        self.has_available = any(
            isinstance(edge, FanInEdge) and edge.mode == "available" for edge in self.edges
        )

    # The following is made when a run needs it: of a thousand workflows in a process, few are run.

    @cached_property
    def rank(self) -> Mapping[ExecutorId, int]:
        """Position of each executor in declaration order."""
        return {executor_id: rank for rank, executor_id in enumerate(self.executors)}

    @cached_property
    def lanes(self) -> Mapping[ExecutorId, int]:
        """How many messages of one superstep each executor handles at a time."""
        bodies = {edge.body: edge.max_parallel for edge in self.edges if isinstance(edge, MapEdge)}
        return {name: bodies.get(name, node.max_parallel) for name, node in self.executors.items()}

    @cached_property
    def leaving(self) -> Mapping[ExecutorId, Sequence[int]]:
        """The edges that leave each executor, by index."""
        return self._leaving_with(lambda _: True)

    @cached_property
    def messages_over(self) -> Mapping[ExecutorId, Sequence[int]]:
        """The edges that carry its messages."""
        return self._leaving_with(lambda edge: not carries_only_failures(edge))

    @cached_property
    def failures_over(self) -> Mapping[ExecutorId, Sequence[int]]:
        """The edges that carry its failures."""
        return self._leaving_with(carries_failures)

    def _leaving_with(self, is_wanted: Callable[[Edge], bool]) -> Mapping[ExecutorId, Sequence[int]]:
        found: dict[ExecutorId, list[int]] = {executor_id: [] for executor_id in self.executors}
        for index, edge in enumerate(self.edges):
            if is_wanted(edge):
                for source in sources_of(edge):
                    found[source].append(index)
        return found

    @cached_property
    def edge_names(self) -> tuple[EdgeId, ...]:
        """The name of each edge in events and pictures; a second one with the same ends is ``a->b (2)``."""
        counts: Counter[str] = Counter()
        names: dict[EdgeId, None] = {}
        for edge in self.edges:
            name = found = edge_name(edge)
            counts[name] += 1
            while counts[name] > 1 or found in names:
                found = EdgeId(f"{name} ({counts[name]})")
                if found not in names:
                    break
                counts[name] += 1  # an executor has this name
            names[found] = None
        return tuple(names)

    @cached_property
    def edge_facts(self) -> tuple[dict[str, JSONValue], ...]:
        """The facts in events for each edge that took one message."""
        return tuple(
            {
                "edge": name,
                "sources": list(sources_of(edge)),
                "targets": list(receivers_of(edge)),
                "message_count": 1,
                **rule_of(edge),
            }
            for name, edge in zip(self.edge_names, self.edges, strict=True)
        )

    @cached_property
    def conditional_sources(self) -> frozenset[ExecutorId]:
        """The executors with messages that user code judges."""
        return frozenset(
            source for edge in self.edges if _is_conditional(edge) for source in sources_of(edge)
        )

    @cached_property
    def conditional_edges(self) -> frozenset[int]:
        """The edges on which user code decides, by index."""
        return frozenset(index for index, edge in enumerate(self.edges) if _is_conditional(edge))

    def sends_return_value(self, executor_id: ExecutorId) -> bool:
        """Whether a return value is a message; without an out-edge it is an output of the run."""
        return executor_id in self.bodies or any(
            not carries_only_failures(self.edges[index]) for index in self.leaving[executor_id]
        )

    @cached_property
    def sending(self) -> frozenset[ExecutorId]:
        """The executors whose handlers' return values are messages."""
        return frozenset(filter(self.sends_return_value, self.executors))

    @cached_property
    def upstream(self) -> Mapping[int, Mapping[ExecutorId, frozenset[ExecutorId]]]:
        """For each fan-in in mode ``available``: source -> executors that can reach it.

        Paths through the fan-in itself do not count; conditions are assumed to hold. Only graphs that use the
        mode pay for it.
        """
        return {
            index: {source: self._leading_to(source, index) for source in edge.sources}
            for index, edge in enumerate(self.edges)
            if isinstance(edge, FanInEdge) and edge.mode == "available"
        }

    def _leading_to(self, end: ExecutorId, without_edge: int) -> frozenset[ExecutorId]:
        found = {end}
        frontier = [end]
        while frontier:
            for source in self._entering(frontier.pop(), without_edge) - found:
                found.add(source)
                frontier.append(source)
        return frozenset(found)

    def _entering(self, end: ExecutorId, without_edge: int) -> set[ExecutorId]:
        edges = (edge for index, edge in self._arriving[end] if index != without_edge)
        # A map's join gets its message from the body, whose items come from the source.
        return {s for e in edges for s in ((e.source, e.body) if isinstance(e, MapEdge) else sources_of(e))}

    @cached_property
    def _arriving(self) -> dict[ExecutorId, list[tuple[int, Edge]]]:
        arriving: dict[ExecutorId, list[tuple[int, Edge]]] = {name: [] for name in self.executors}
        for index, edge in enumerate(self.edges):
            for end in targets_of(edge):
                arriving[end].append((index, edge))
        return arriving


def _is_conditional(edge: Edge) -> bool:
    """Whether user code decides the receivers of a message."""
    match edge:
        case DirectEdge():
            return edge.condition is not None
        case FanOutEdge():
            return edge.select is not None
        case SwitchEdge() | RetryEdge():
            return True
        case FanInEdge() | MapEdge():
            return False
        case _:
            assert_never(edge)
