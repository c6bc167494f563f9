"""Edges whose ends do not fit: the declared types of the senders, and the types their targets take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from agentic.core.graph.codec.annotations import members, shape, type_name
from agentic.core.graph.codec.typing_rules import can_fit
from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    MapEdge,
    On,
    RetryEdge,
    SwitchEdge,
    carries_failures,
    carries_only_failures,
    edge_name,
    receivers_of,
    sources_of,
    targets_of,
)
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.handler_types import Types, union_of
from agentic.core.graph.model.messages import ExecutorFailure, ItemResult
from agentic.core.types import ExecutorId


@dataclass(frozen=True, slots=True)
class _Node:
    """The declared types of an executor."""

    id: ExecutorId
    takes: tuple[object, ...]
    sends: Types

    def takes_any(self, sent: object) -> bool:
        """Whether it takes some values of type ``sent``."""
        return any(can_fit(sent, accepted) for accepted in self.takes)


_Nodes = Mapping[ExecutorId, _Node]


def find_type_faults(
    executors: Mapping[ExecutorId, Executor], edges: Sequence[Edge], starts: Sequence[ExecutorId]
) -> Iterator[str]:
    """Return the faults where no executor would take a message of a declared type.

    Edges with an unknown executor or an unknown ``on`` are skipped, and so are executors without declared
    types.
    """
    nodes = {
        name: _Node(name, node.input_types, union_of((node.send_types, node.return_types)))
        for name, node in executors.items()
    }
    known = [
        edge
        for edge in edges
        if {*sources_of(edge), *targets_of(edge)} <= nodes.keys()
        and (isinstance(edge, (MapEdge, RetryEdge)) or edge.on in get_args(On))
    ]
    for edge in known:
        yield from _misfits(edge, nodes)
    yield from _source_faults(known, nodes)
    yield from _disjoint_starts([nodes[start] for start in starts if start in nodes])


def _misfits(edge: Edge, nodes: _Nodes) -> Iterator[str]:
    if isinstance(edge, FanInEdge):
        yield from _fan_in_misfits(edge, nodes)
    elif isinstance(edge, MapEdge):
        yield from _map_misfits(edge, nodes)
    else:
        yield from _direct_misfits(edge, nodes)


def _direct_misfits(edge: DirectEdge | SwitchEdge | FanOutEdge | RetryEdge, nodes: _Nodes) -> Iterator[str]:
    source = nodes[edge.source]
    for target in map(nodes.__getitem__, _message_targets(edge)):
        if carries_failures(edge) and not target.takes_any(ExecutorFailure):
            yield (
                f"the edge {edge_name(edge)} carries the failure of {source.id!r} to {target.id!r}, "
                f"which takes {_names(target.takes)}; "
                f"declare its message as `{_union((*target.takes, ExecutorFailure))}`"
            )
        if source.sends and not carries_only_failures(edge) and not any(map(target.takes_any, source.sends)):
            yield (
                f"{source.id!r} sends {_names(source.sends)} to {target.id!r}, which takes "
                f"{_names(target.takes)}; declare its message as `{_union((*target.takes, *source.sends))}`, "
                f"or change what {source.id!r} declares"
            )


def _message_targets(edge: Edge) -> tuple[ExecutorId, ...]:
    """Return the receivers of the source's own message; a retry edge gives the worker its earlier input."""
    if isinstance(edge, RetryEdge) and edge.payload == "input":
        return () if edge.exhausted is None else (edge.exhausted,)
    return receivers_of(edge)


def _fan_in_misfits(edge: FanInEdge, nodes: _Nodes) -> Iterator[str]:
    target = nodes[edge.target]
    listed = _listed(edge, nodes)
    if not target.takes_any(list[object]):
        yield (
            f"the fan-in to {target.id!r} gives it a list, but it takes {_names(target.takes)}; "
            f"declare its message as `{_list_of_all(listed.values())}`"
        )
        return
    missing = {
        what: sends
        for what, sends in listed.items()
        if not any(target.takes_any(_list_of(sent)) for sent in sends)
    }
    if missing:
        held = [_items_of(taken) for taken in target.takes if can_fit(taken, list)]
        yield (
            f"the fan-in to {target.id!r} lists {' and '.join(missing)}, "
            f"but it takes {_names(target.takes)}; "
            f"declare its message as `{_list_of_all((*held, *missing.values()))}`"
        )


def _listed(edge: FanInEdge, nodes: _Nodes) -> dict[str, Sequence[object]]:
    """Return the content of a fan-in's list, in words, with its types if they are declared."""
    listed: dict[str, Sequence[object]] = {}
    for source in map(nodes.__getitem__, edge.sources):
        if source.sends and not carries_only_failures(edge):
            listed[f"{_names(source.sends)} from {source.id!r}"] = source.sends
    if carries_failures(edge):
        listed["the failures of its sources"] = (ExecutorFailure,)
    return listed


def _map_misfits(edge: MapEdge, nodes: _Nodes) -> Iterator[str]:
    source, body, join = nodes[edge.source], nodes[edge.body], nodes[edge.join]
    if source.sends:
        lists = [sent for sent in source.sends if can_fit(sent, list) or can_fit(sent, tuple)]
        items = [item for sent in lists for item in _items_of(sent)]
        if not lists:
            yield (
                f"the map edge from {source.id!r} needs lists, but it sends {_names(source.sends)}; "
                f"let it return `list[{_union(source.sends)}]`, or use add_edge"
            )
        elif not any(map(body.takes_any, items)):
            yield (
                f"{body.id!r} is given the items of {_names(lists)} that {source.id!r} sends, but takes "
                f"{_names(body.takes)}; declare its message as `{_union((*body.takes, *items))}`"
            )
    if not join.takes_any(list[ItemResult]):
        yield (
            f"{join.id!r} joins a map edge and takes {_names(join.takes)}; "
            f"declare its message as `list[ItemResult]`"
        )


def _source_faults(edges: Iterable[Edge], nodes: _Nodes) -> Iterator[str]:
    """Return the sources with edges that send nothing, or messages that none of the edges can carry."""
    leaving: dict[ExecutorId, list[Edge]] = {}
    for edge in edges:
        for source in () if carries_only_failures(edge) else sources_of(edge):
            leaving.setdefault(source, []).append(edge)
    for source, out in leaving.items():
        sends = nodes[source].sends
        if sends is None:
            continue
        if not sends:
            yield (
                f"{source!r} declares that it sends nothing, but has the edge {edge_name(out[0])}; "
                "annotate its messages, or remove the edge"
            )
        elif not any(map(_may_hold_back, out)):
            yield from _orphans(nodes[source], sends, out, nodes)


def _orphans(source: _Node, sends: Sequence[object], out: Sequence[Edge], nodes: _Nodes) -> Iterator[str]:
    orphans = [sent for sent in sends if not any(_carries(edge, sent, nodes) for edge in out)]
    if orphans and len(orphans) < len(sends):  # if all are orphans, each edge is reported
        targets = dict.fromkeys(end for edge in out for end in receivers_of(edge))
        yield (
            f"{source.id!r} may send {_names(orphans)}, which no target of its edges takes "
            f"({', '.join(targets)}); add it to one of them, or add an edge to an executor that takes it"
        )


def _may_hold_back(edge: Edge) -> bool:
    """Whether the edge may intentionally stop a message by its condition."""
    match edge:
        case DirectEdge():
            return edge.condition is not None
        case FanOutEdge():
            return edge.select is not None
        case _:
            return isinstance(edge, RetryEdge)


def _carries(edge: Edge, sent: object, nodes: _Nodes) -> bool:
    if isinstance(edge, FanInEdge):
        return nodes[edge.target].takes_any(_list_of(sent))
    if isinstance(edge, MapEdge):
        return can_fit(sent, list) or can_fit(sent, tuple)
    return any(nodes[target].takes_any(sent) for target in receivers_of(edge))


def _disjoint_starts(starts: Sequence[_Node]) -> Iterator[str]:
    if len(starts) > 1 and not any(all(other.takes_any(t) for other in starts[1:]) for t in starts[0].takes):
        each = ", ".join(f"{start.id!r} takes {_names(start.takes)}" for start in starts)
        yield f"no input fits all start executors: {each}; all get the same input, so declare a common type"


def _list_of(element: object) -> object:
    return list.__class_getitem__(element)


def _items_of(listed: object) -> tuple[object, ...]:
    _, args = shape(listed)
    return tuple(part for arg in args if arg is not Ellipsis for part in members(arg)) or (object,)


def _names(types: Iterable[object]) -> str:
    return " or ".join(map(type_name, types)) or "nothing"


def _list_of_all(elements: Iterable[Iterable[object]]) -> str:
    return f"list[{_union(element for part in elements for element in part)}]"


def _union(types: Iterable[object]) -> str:
    """Return how to declare all of the types."""
    return " | ".join(dict.fromkeys(map(type_name, types))) or "object"
