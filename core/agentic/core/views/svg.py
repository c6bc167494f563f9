"""A graph, or a run on it, as SVG that needs nothing else: no script, no network, no font."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape

from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.wires import Arrow, Junction, Wire, wires_of, workflow_within
from agentic.core.graph.model.state import joined
from agentic.core.views import svg_parts as svg
from agentic.core.views.cards import Card, card_of, frame_of
from agentic.core.views.layers import Box, Link
from agentic.core.views.layout import LOOP_WIDTH, Route, lay_out
from agentic.core.views.run_view import ExecutorView, RunView
from agentic.core.views.svg_style import style_sheet
from agentic.core.views.texts import counted, plain, shortened, text_width

_MARGIN = 24.0
_LABEL_LENGTH = 64
_LABEL_HEIGHT = 18.0
_START = "/start"
_START_RADIUS = 6.0


def drawing(graph: Graph, run: RunView | None, title: str) -> str:
    """Return the graph as SVG, under a heading if it is not empty."""
    picture = _picture(graph, run, "")
    heading = " · ".join(part for part in (plain(title), _run_text(run)) if part)
    top = _MARGIN + (32 if heading else 0)
    width = max(picture.width, text_width(heading, svg.HEADING_SIZE)) + 2 * _MARGIN
    height = top + picture.height + _MARGIN
    size = f'width="{svg.number(width)}" height="{svg.number(height)}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="agentic-graph" role="img" {size} '
        f'viewBox="0 0 {svg.number(width)} {svg.number(height)}" '
        f'aria-label="{escape(heading or "workflow")}">'
    )
    parts = [
        f"<style>\n{escape(style_sheet())}</style>",
        f"<desc>{escape(_described(graph))}</desc>",
        svg.box(0, 0, width, height, kind="background", radius=12),
        svg.text_at(_MARGIN, _MARGIN + 8, heading, "heading") if heading else "",
        svg.group("graph", picture.body, at=((width - picture.width) / 2, top)),
    ]
    return "\n".join([head, *filter(None, parts), "</svg>\n"])


def _run_text(run: RunView | None) -> str:
    if run is None:
        return ""
    return f"run {shortened(run.run_id, 48)} {run.status} · superstep {run.superstep}"


def _described(graph: Graph) -> str:
    sizes = f"{counted(len(graph.executors), 'executor')}, {counted(len(graph.edges), 'edge')}"
    return plain(f"{sizes}; starts at {', '.join(graph.starts)}")


def _picture(graph: Graph, run: RunView | None, path: str) -> Card:
    """Return a graph without margins; ``path`` leads to the node it is within, ``body`` starts at 0, 0."""
    wires = wires_of(graph)
    cards: dict[str, Card] = {_START: _start_mark()}
    for node in graph.executors.values():
        cards[node.id] = _node(node, run, joined(path, node.id))
    cards |= {w.junction.id: _junction(w.junction, w, run, path) for w in wires if w.junction is not None}
    arrows = [(Arrow(source=_START, target=start), "") for start in graph.starts]
    arrows += [_counted(wire, place, run, path) for wire in wires for place in range(len(wire.arrows))]
    return _drawn(cards, arrows)


def _drawn(cards: Mapping[str, Card], arrows: list[tuple[Arrow, str]]) -> Card:
    links = [
        Link(
            source=arrow.source,
            target=arrow.target,
            label_width=text_width(arrow.label, svg.SMALL_SIZE) + 14 if arrow.label else 0,
            label_height=_LABEL_HEIGHT if arrow.label else 0,
        )
        for arrow, _ in arrows
    ]
    layout = lay_out({name: Box(width=c.width, height=c.height) for name, c in cards.items()}, links)
    lines = [_arrow(arrow, kind, route) for (arrow, kind), route in zip(arrows, layout.routes, strict=True)]
    nodes = [svg.group("at", card.body, at=layout.nodes[name]) for name, card in cards.items()]
    labels = [_label(arrow, kind, route) for (arrow, kind), route in zip(arrows, layout.routes, strict=True)]
    return Card(
        width=layout.width, height=layout.height, body="\n".join([*lines, *nodes, *filter(None, labels)])
    )


def _start_mark() -> Card:
    dot = f'<circle class="start" r="{svg.number(_START_RADIUS)}"/>'
    return Card(width=2 * _START_RADIUS, height=2 * _START_RADIUS, body=svg.title("start") + dot)


def _node(node: Executor, run: RunView | None, path: str) -> Card:
    view = None if run is None else run.executors.get(path, ExecutorView())
    inner = workflow_within(node)
    if inner is None:
        return card_of(node, view)
    return frame_of(node, _picture(inner.graph, run, path), view)


def _junction(junction: Junction, wire: Wire, run: RunView | None, path: str) -> Card:
    text = shortened(junction.text + _count_text(wire, run, path), _LABEL_LENGTH)
    width = text_width(text, svg.SMALL_SIZE) + (40 if junction.kind == "switch" else 22)
    height = 22.0
    x, y = width / 2, height / 2
    if junction.kind == "switch":
        shape = svg.polygon([(-x, 0), (12 - x, -y), (x - 12, -y), (x, 0), (x - 12, y), (12 - x, y)], "pill")
    else:
        shape = svg.box(-x, -y, width, height, kind="pill", radius=y)
    body = svg.group(f"junction {wire.on}", svg.title(wire.name), shape, svg.text_at(0, 0, text, "muted"))
    return Card(width=width, height=height, body=body)


def _counted(wire: Wire, place: int, run: RunView | None, path: str) -> tuple[Arrow, str]:
    """Return an arrow of a wire, its label with its message count, and its CSS classes for colours."""
    arrow = wire.arrows[place]
    label = arrow.label
    if place == 0 and wire.junction is None:
        label = (label + _count_text(wire, run, path)).removeprefix(" · ")
    unused = run is not None and not _is_used(wire, arrow, run, path)
    kind = " ".join([arrow.line, wire.on, *(["unused"] if unused else [])])
    return replace(arrow, label=shortened(label, _LABEL_LENGTH)), kind


def _is_used(wire: Wire, arrow: Arrow, run: RunView, path: str) -> bool:
    """Whether messages went this way; if a wire has several ways, each needs a target with messages."""
    if len(wire.arrows) == 1 or (wire.junction is not None and arrow.target == wire.junction.id):
        return _count(wire, run, path) > 0
    end = run.executors.get(joined(path, arrow.target), ExecutorView())
    return _count(wire, run, path) > 0 and end.activation_count > 0


def _count(wire: Wire, run: RunView, path: str) -> int:
    return run.edges.get(joined(path, wire.name), 0)


def _count_text(wire: Wire, run: RunView | None, path: str) -> str:
    count = _count(wire, run, path) if run is not None else 0
    return f" · {counted(count, 'message')}" if count else ""


def _arrow(arrow: Arrow, kind: str, route: Route) -> str:
    if arrow.source == arrow.target:
        line = svg.loop_curve(route.points, LOOP_WIDTH)
    else:
        line = svg.upright_curve(route.points, has_head=arrow.has_head)
    told = svg.title(f"{arrow.source} to {arrow.target}" + (f": {arrow.label}" if arrow.label else ""))
    return svg.group(f"edge {kind}".rstrip(), told, line)


def _label(arrow: Arrow, kind: str, route: Route) -> str:
    if route.label is None:
        return ""
    x, y = route.label
    width = text_width(arrow.label, svg.SMALL_SIZE) + 10
    pill = svg.box(x - width / 2, y - _LABEL_HEIGHT / 2, width, _LABEL_HEIGHT, kind="pill", radius=9)
    return svg.group(f"label {kind}".rstrip(), pill, svg.text_at(x, y, arrow.label, "muted"))
