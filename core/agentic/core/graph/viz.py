"""Pictures of a graph."""

from __future__ import annotations

from agentic.core.graph.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    MapEdge,
    sources_of,
    targets_of,
)
from agentic.core.graph.executor import ExecutorKind
from agentic.core.types import ExecutorId, JSONValue

_SHAPES = {
    ExecutorKind.WORKER: ("[", "]"),
    ExecutorKind.VALIDATOR: ("{{", "}}"),
    ExecutorKind.ORCHESTRATOR: ("[[", "]]"),
}


def to_mermaid(graph: Graph) -> str:
    """Return a Mermaid flowchart: boxes are workers, hexagons validators, framed boxes orchestrators."""
    names = {executor_id: f"n{rank}" for executor_id, rank in graph.rank.items()}
    lines = ["flowchart TD"]
    for executor_id, node in graph.executors.items():
        left, right = _SHAPES[node.kind]
        start = ":::start" if executor_id in graph.starts else ""
        lines.append(f'    {names[executor_id]}{left}"{_label(executor_id)}"{right}{start}')
    for edge in graph.edges:
        lines += [f"    {names[source]} {arrow} {names[target]}" for source, arrow, target in _arrows(edge)]
    lines.append("    classDef start stroke-width:3px")
    return "\n".join(lines)


def to_dict(graph: Graph) -> dict[str, JSONValue]:
    """Return executors, starts and edges as JSON-able data."""
    return {
        "starts": list(graph.starts),
        "executors": [{"id": i, "kind": str(node.kind)} for i, node in graph.executors.items()],
        "edges": [_edge_dict(edge) for edge in graph.edges],
    }


def _edge_dict(edge: Edge) -> dict[str, JSONValue]:
    kind = {DirectEdge: "direct", FanOutEdge: "fan_out", FanInEdge: "fan_in", MapEdge: "map"}[type(edge)]
    if isinstance(edge, DirectEdge) and edge.condition is not None:
        kind = "conditional"
    return {"kind": kind, "sources": list(sources_of(edge)), "targets": list(targets_of(edge))}


def _arrows(edge: Edge) -> list[tuple[ExecutorId, str, ExecutorId]]:
    match edge:
        case DirectEdge():
            label = edge.description or ("condition" if edge.condition else "")
            arrow = "-.->" if edge.condition else "-->"
            return [(edge.source, f'{arrow}|"{_label(label)}"|' if label else arrow, edge.target)]
        case FanOutEdge():
            arrow = '-.->|"selected"|' if edge.select else "==>"
            return [(edge.source, arrow, target) for target in edge.targets]
        case FanInEdge():
            return [(source, '-->|"all"|', edge.target) for source in edge.sources]
        case MapEdge():
            return [(edge.source, '-->|"each item"|', edge.body), (edge.body, '-->|"results"|', edge.join)]


def _label(text: str) -> str:
    return text.replace('"', "#quot;").replace("\n", " ")
