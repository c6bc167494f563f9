"""Pictures of a graph: Mermaid text, SVG, plain data. The drawing modules are imported at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.core.graph.definition.edges import Graph
    from agentic.core.views.run_view import RunView


def to_mermaid(graph: Graph) -> str:
    """Return a Mermaid flowchart.

    Boxes are workers, hexagons validators, framed boxes orchestrators; a sub-workflow is a subgraph. Edges
    with several ends meet in a junction: a diamond for a switch, a stadium for a fan-out, or a fan-in and its
    mode. For dotted arrows a function decides; thick arrows carry many messages at once.
    """
    from agentic.core.views.mermaid import flowchart

    return flowchart(graph)


def to_svg(graph: Graph, *, run: RunView | None = None, title: str = "") -> str:
    """Return the graph as SVG that needs nothing else, for light and dark. Same input, same text.

    Args:
        graph: A workflow's; sub-workflows are drawn inside their node.
        run: Drawn on the graph: states, times and counts on the executors, messages on the edges.
        title: Heading, also for screen readers.
    """
    from agentic.core.views.svg import drawing

    return drawing(graph, run, title)


def to_dict(graph: Graph) -> dict[str, JSONValue]:
    """Return starts, executors, edges and reduced state keys as JSON-able data; sub-workflows are nested."""
    from agentic.core.graph.definition.shape import graph_to_dict

    return graph_to_dict(graph)
