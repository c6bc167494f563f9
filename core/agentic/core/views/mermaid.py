"""A graph as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.executor import Executor, ExecutorKind
from agentic.core.graph.definition.wires import Arrow, Junction, wires_of, workflow_within
from agentic.core.views.texts import plain

_SHAPES = {
    ExecutorKind.WORKER: ("[", "]"),
    ExecutorKind.VALIDATOR: ("{{", "}}"),
    ExecutorKind.ORCHESTRATOR: ("[[", "]]"),
}
_JUNCTIONS = {"switch": ("{", "}"), "fan_out": ("([", "])"), "fan_in": ("([", "])")}
_LINES = {
    "solid": ("---", "-->"),
    "dashed": ("-.-", "-.->"),
    "thick": ("===", "==>"),
    "back": ("-.-", "-.->"),
}


def flowchart(graph: Graph) -> str:
    """Return the graph as Mermaid text."""
    return "\n".join(
        ["flowchart TD", *_lines(graph, "n", "    "), "    classDef start stroke-width:3px", *_STYLES]
    )


_STYLES = ["    classDef join stroke-dasharray:2 2"]


def _lines(graph: Graph, prefix: str, indent: str) -> Iterator[str]:
    names = {str(executor_id): f"{prefix}{rank}" for executor_id, rank in graph.rank.items()}
    for executor_id, node in graph.executors.items():
        mark = ":::start" if executor_id in graph.starts else ""
        yield from _node(node, names[executor_id], mark, indent)
    for wire in wires_of(graph):
        if wire.junction is not None:
            names[wire.junction.id] = f"{prefix}j{wire.junction.id[1:]}"
            yield indent + _junction(wire.junction, names[wire.junction.id])
        for arrow in wire.arrows:
            yield f"{indent}{names[arrow.source]} {_arrow(arrow)} {names[arrow.target]}"


def _node(node: Executor, name: str, mark: str, indent: str) -> Iterator[str]:
    inner = workflow_within(node)
    if inner is None:
        left, right = _SHAPES[node.kind]
        yield f'{indent}{name}{left}"{_escaped(node.id)}"{right}{mark}'
        return
    yield f'{indent}subgraph {name}["{_escaped(node.id)}"]'
    yield from _lines(inner.graph, f"{name}_", f"{indent}    ")
    yield f"{indent}end"
    if mark:
        yield f"{indent}class {name} start"


def _junction(junction: Junction, name: str) -> str:
    left, right = _JUNCTIONS[junction.kind]
    return f'{name}{left}"{_escaped(junction.text)}"{right}:::join'


def _arrow(arrow: Arrow) -> str:
    line = _LINES[arrow.line][arrow.has_head]
    return f'{line}|"{_escaped(arrow.label)}"|' if arrow.label else line


def _escaped(text: str) -> str:
    """Return the text with entities for characters that Mermaid or HTML would read as markup."""
    return "".join(_ENTITIES.get(letter, letter) for letter in plain(text))


# Mermaid writes entities with "#" for "&"; a backtick after the quote would begin Markdown.
_ENTITIES = {letter: f"#{ord(letter)};" for letter in "#$&<>`\\|"} | {'"': "#quot;"}
