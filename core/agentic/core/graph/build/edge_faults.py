"""Faults of a single edge, or of two edges: numbers, words, names, callables."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never, get_args

from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    JoinMode,
    MapEdge,
    On,
    OnItemError,
    RetryEdge,
    RetryPayload,
    SwitchEdge,
    edge_name,
    sources_of,
    targets_of,
)
from agentic.core.types import ExecutorId

_Way = tuple[ExecutorId, ExecutorId, str]
"""Source, target, and whether messages or failures are carried."""

_Ways = dict[_Way, list[Edge]]


def find_edge_faults(edges: Sequence[Edge], starts: Sequence[ExecutorId]) -> Iterator[str]:
    """Return the faults of edges that can be found without their executors."""
    for edge in edges:
        yield from _bad_ends(edge)
        yield from _bad_settings(edge)
        yield from _bad_callables(edge)
    yield from _duplicates(edges)
    yield from _bad_bodies(edges, starts)


def _bad_ends(edge: Edge) -> Iterator[str]:
    match edge:
        case FanInEdge() if len(edge.sources) < 2:
            count = f"{len(edge.sources)} source{'s' * (len(edge.sources) != 1)}"
            yield f"the fan-in to {edge.target!r} has {count}; give it two or more, or use add_edge for one"
        case FanInEdge() if len(set(edge.sources)) < len(edge.sources):
            yield f"the fan-in to {edge.target!r} names a source twice; name each once"
        case FanOutEdge() if not edge.targets:
            yield f"the fan-out from {edge.source!r} has no target; name at least one"
        case FanOutEdge() if len(set(edge.targets)) < len(edge.targets):
            yield f"the fan-out from {edge.source!r} names a target twice; name each once"
        case SwitchEdge() if not edge.cases:
            yield f"the switch from {edge.source!r} has no Case; give it one, or use add_edge"
        case SwitchEdge() if len({id(case.condition) for case in edge.cases}) < len(edge.cases):
            yield (
                f"the switch from {edge.source!r} has the same condition in two cases, so the second never "
                "matches; remove it, or change its condition"
            )
        case MapEdge() if len({edge.source, edge.body, edge.join}) < 3:
            yield (
                f"the map edge from {edge.source!r} has body {edge.body!r} and join {edge.join!r}; "
                f"source, body and join must be three executors"
            )
        case RetryEdge() if edge.exhausted == edge.target:
            yield (
                f"the retry edge from {edge.source!r} to {edge.target!r} also goes to {edge.target!r} when "
                "it is exhausted, so it never ends; name another executor with exhausted=..., or none"
            )
        case _:
            pass


def _bad_settings(edge: Edge) -> Iterator[str]:
    if not isinstance(edge, (MapEdge, RetryEdge)):
        yield from _bad_word(edge, "on", edge.on, On)
    match edge:
        case FanInEdge():
            yield from _bad_word(edge, "mode", edge.mode, JoinMode)
        case RetryEdge():
            yield from _bad_word(edge, "payload", edge.payload, RetryPayload)
            if edge.max_passes < 1:
                yield f"the retry edge {edge_name(edge)} has max_passes={edge.max_passes}; give at least 1"
        case MapEdge():
            yield from _bad_word(edge, "on_item_error", edge.on_item_error, OnItemError)
            if edge.max_parallel < 1 or edge.window < 1:
                yield (
                    f"the map edge to {edge.body!r} has max_parallel={edge.max_parallel} and "
                    f"window={edge.window}; it needs max_parallel and window of at least 1"
                )
        case _:
            pass


def _bad_word(edge: Edge, name: str, value: str, allowed: object) -> Iterator[str]:
    words = get_args(allowed)
    if value not in words:
        yield f"the edge {edge_name(edge)} has {name}={value!r}; use one of {', '.join(map(repr, words))}"


def _bad_callables(edge: Edge) -> Iterator[str]:
    match edge:
        case DirectEdge() if edge.condition is not None:
            yield from _bad_callable(edge, "condition", edge.condition, ("message",))
        case SwitchEdge():
            for case in edge.cases:
                yield from _bad_callable(edge, f"case for {case.target!r}", case.condition, ("message",))
        case FanOutEdge() if edge.select is not None:
            yield from _bad_callable(edge, "select", edge.select, ("message", "target_ids"))
        case RetryEdge():
            yield from _bad_callable(edge, "when", edge.when, ("message",))
        case _:
            pass


def _bad_callable(edge: Edge, name: str, given: object, arguments: tuple[str, ...]) -> Iterator[str]:
    call = f"({', '.join(arguments)})"
    where = f"{name} of the edge {edge_name(edge)}"
    if not callable(given):
        yield f"{where} is {given!r}; give a function that takes {call}"
    elif (taken := _other_parameters(given, arguments)) is not None:
        yield f"{where} takes {taken}, but is called with {call}; change its parameters"


def _other_parameters(function: Callable[..., object], arguments: tuple[str, ...]) -> str | None:
    """Return the parameters of a function, if it does not take these arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C: unknown
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        return f"({', '.join(signature.parameters)})"
    return None


def _duplicates(edges: Sequence[Edge]) -> Iterator[str]:
    seen: set[object] = set()
    ways: _Ways = {}
    for edge in edges:
        keys = {(type(edge), sources_of(edge), targets_of(edge), *key) for key in _told_apart_by(edge)}
        if keys & seen:
            yield f"the edge {edge_name(edge)} exists twice; remove one"
        else:
            yield from _crossed(edge, ways)
        seen |= keys


def _crossed(edge: Edge, ways: _Ways) -> Iterator[str]:
    """Yield the targets that get the same messages from this edge and from an earlier one of any kind."""
    told = False
    for way in _ways_of(edge):
        others = ways.setdefault(way, [])
        for other in others if not told else ():
            if _doubles(other, edge):
                told = True
                source, target, _ = way
                yield (
                    f"{target!r} gets the messages of {source!r} over two edges, {_described(other)} and "
                    f"{_described(edge)}; remove {target!r} from one of them, or give both a condition"
                )
                break
        others.append(edge)


def _doubles(one: Edge, other: Edge) -> bool:
    """Whether two edges carry the same message, though user code did not choose that."""
    if isinstance(one, (DirectEdge, FanInEdge)) and type(one) is type(other):
        return False  # their conditions and modes differ
    if isinstance(one, FanInEdge) or isinstance(other, FanInEdge):
        return not _chooses(one) and not _chooses(other)  # past a join, a condition may be a short cut
    return not (_chooses(one) and _chooses(other))


def _ways_of(edge: Edge) -> Iterator[_Way]:
    """Yield source, target and content (messages or failures) that an edge carries unchanged."""
    if isinstance(edge, (MapEdge, RetryEdge)):
        return  # a map's body is only for its items, and a retry edge brings an earlier input
    carried = ("success", "failure") if edge.on == "always" else (edge.on,)
    for source in sources_of(edge):
        for target in targets_of(edge):
            yield from ((source, target, each) for each in carried)


def _chooses(edge: Edge) -> bool:
    """Whether user code decides which messages an edge carries."""
    match edge:
        case DirectEdge():
            return edge.condition is not None
        case FanOutEdge():
            return edge.select is not None
        case _:
            return isinstance(edge, SwitchEdge)


def _described(edge: Edge) -> str:
    match edge:
        case DirectEdge():
            return f"the edge {edge_name(edge)}"
        case SwitchEdge():
            return f"the switch {edge_name(edge)}"
        case FanOutEdge():
            return f"the fan-out {edge_name(edge)}"
        case FanInEdge():
            return f"the fan-in {edge_name(edge)}"
        case MapEdge():
            return f"the map edge {edge_name(edge)}"
        case RetryEdge():
            return f"the retry edge {edge_name(edge)}"
        case _:
            assert_never(edge)


def _told_apart_by(edge: Edge) -> list[tuple[object, ...]]:
    """Return keys that distinguish an edge from others of its kind with the same ends, one per content."""
    rule: object
    match edge:
        case MapEdge():
            return [()]
        case RetryEdge():
            return [(id(edge.when), edge.payload)]
        case DirectEdge():
            rule = id(edge.condition)
        case FanOutEdge():
            rule = id(edge.select)
        case SwitchEdge():
            rule = tuple(id(case.condition) for case in edge.cases)
        case FanInEdge():
            rule = edge.mode
        case _:
            assert_never(edge)
    carried = ("success", "failure") if edge.on == "always" else (edge.on,)
    return [(rule, each) for each in carried]


def _bad_bodies(edges: Sequence[Edge], starts: Sequence[ExecutorId]) -> Iterator[str]:
    bodies = [edge.body for edge in edges if isinstance(edge, MapEdge)]
    uses = Counter(starts)
    for edge in edges:
        uses.update(sources_of(edge))
        uses.update(targets_of(edge))
    for body in dict.fromkeys(bodies):
        if uses[body] > 1:
            yield (
                f"{body!r} is the body of a map edge and has other edges, too; a body receives items only, "
                "so use another executor there"
            )
