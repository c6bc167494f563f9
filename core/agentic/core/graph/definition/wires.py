"""Edges as arrows, for every picture of a graph.

An edge with several ends is drawn through a junction of its own. So a fan-in does not look like several
direct edges, nor a switch like several conditional ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, assert_never

from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    MapEdge,
    On,
    RetryEdge,
    SwitchEdge,
)
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.definition.workflow import WorkflowDefinition

Line = Literal["solid", "dashed", "thick", "back"]
"""Always taken; taken if a function says so; taken by many at once; taken back to an earlier executor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Junction:
    """Where the arms of an edge meet; ``id`` begins with a slash, so it differs from every executor id."""

    id: str
    kind: Literal["switch", "fan_out", "fan_in"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One line from an executor or junction to another."""

    source: str
    target: str
    label: str = ""
    line: Line = "solid"
    has_head: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """An edge, ready to be drawn."""

    name: str
    on: On = "success"
    junction: Junction | None = None
    arrows: tuple[Arrow, ...]


def wires_of(graph: Graph) -> list[Wire]:
    """Return one wire per edge, in declaration order."""
    return [
        _wire(edge, name, f"/{index}")
        for index, (edge, name) in enumerate(zip(graph.edges, graph.edge_names, strict=True))
    ]


def workflow_within(node: Executor) -> WorkflowDefinition | None:
    """Return the sub-workflow that the executor runs, None for any other executor."""
    return node.workflow if isinstance(node, WorkflowExecutor) else None


def function_name(function: Callable[..., object]) -> str:
    """Return the name of the function for people; ``""`` for one without a name, such as a lambda."""
    name = getattr(getattr(function, "func", function), "__name__", type(function).__name__)
    return "" if name == "<lambda>" else name


def _wire(edge: Edge, name: str, junction_id: str) -> Wire:
    match edge:
        case DirectEdge():
            return Wire(name=name, on=edge.on, arrows=(_direct(edge),))
        case SwitchEdge():
            junction = Junction(id=junction_id, kind="switch", text=_with_on("switch", edge.on))
            return Wire(name=name, on=edge.on, junction=junction, arrows=_switch(edge, junction_id))
        case FanOutEdge():
            return _fan_out(edge, name, junction_id)
        case FanInEdge():
            junction = Junction(id=junction_id, kind="fan_in", text=_with_on(f"join {edge.mode}", edge.on))
            arms = _arms(edge.sources, junction_id)
            out = Arrow(source=junction_id, target=edge.target)
            return Wire(name=name, on=edge.on, junction=junction, arrows=(*arms, out))
        case MapEdge():
            return Wire(name=name, arrows=_map(edge))
        case RetryEdge():
            return Wire(name=name, arrows=_retry(edge))
        case _:
            assert_never(edge)


def _direct(edge: DirectEdge) -> Arrow:
    label = edge.description or (_condition(edge.condition) if edge.condition else "")
    line: Line = "dashed" if edge.condition else "solid"
    return Arrow(source=edge.source, target=edge.target, label=_with_on(label, edge.on), line=line)


def _switch(edge: SwitchEdge, junction_id: str) -> tuple[Arrow, ...]:
    into = Arrow(source=edge.source, target=junction_id, has_head=False)
    cases = [
        Arrow(
            source=junction_id,
            target=case.target,
            label=case.description or function_name(case.condition) or f"case {number}",
            line="dashed",
        )
        for number, case in enumerate(edge.cases, start=1)
    ]
    return (into, *cases, Arrow(source=junction_id, target=edge.default, label="default", line="dashed"))


def _fan_out(edge: FanOutEdge, name: str, junction_id: str) -> Wire:
    chosen = "" if edge.select is None else f"select {function_name(edge.select)}".rstrip()
    line: Line = "dashed" if chosen else "thick"
    into = Arrow(source=edge.source, target=junction_id, has_head=False)
    arms = [Arrow(source=junction_id, target=end, line=line) for end in edge.targets]
    junction = Junction(id=junction_id, kind="fan_out", text=_with_on(chosen or "fan-out", edge.on))
    return Wire(name=name, on=edge.on, junction=junction, arrows=(into, *arms))


def _arms(sources: Iterable[str], junction_id: str) -> list[Arrow]:
    return [Arrow(source=source, target=junction_id, has_head=False) for source in sources]


def _map(edge: MapEdge) -> tuple[Arrow, ...]:
    label = f"each item: {edge.max_parallel} at once, window {edge.window}"
    if edge.on_item_error != "collect":
        label += f", {edge.on_item_error} on error"
    there = Arrow(source=edge.source, target=edge.body, label=label, line="thick")
    return (there, Arrow(source=edge.body, target=edge.join, label="list of results"))


def _retry(edge: RetryEdge) -> tuple[Arrow, ...]:
    reason = function_name(edge.when)
    passes = f"{edge.max_passes} pass{'' if edge.max_passes == 1 else 'es'}"
    label = f"retry {f'while {reason}, ' if reason else ''}up to {passes}"
    if edge.payload == "message":
        label += ", with the message"
    back = Arrow(source=edge.source, target=edge.target, label=label, line="back")
    if edge.exhausted is None:
        return (back,)
    return (back, Arrow(source=edge.source, target=edge.exhausted, label="exhausted", line="dashed"))


def _condition(condition: Callable[..., object]) -> str:
    name = function_name(condition)
    return f"if {name}" if name else "condition"


def _with_on(label: str, on: On) -> str:
    event = {"success": "", "failure": "on failure", "always": "always"}[on]
    return ": ".join(part for part in (event, label) if part)
