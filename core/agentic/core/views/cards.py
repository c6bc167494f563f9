"""Executors as cards: shape by kind, with their status in a run."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.definition.executor import Executor, ExecutorKind
from agentic.core.views import svg_parts as svg
from agentic.core.views.run_view import ExecutorView
from agentic.core.views.texts import counted, duration_text, shortened, text_width

_NAME_LENGTH = 36
_LINE_LENGTH = 44
_LINE_HEIGHT = 17.0
_PADDING = 18.0
_ICON_ROOM = 19.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A finished piece of the picture; ``body`` is SVG around its own centre."""

    width: float
    height: float
    body: str


def card_of(node: Executor, view: ExecutorView | None) -> Card:
    """Return an executor: a box is a worker, a hexagon a validator, a double frame an orchestrator."""
    facts = shortened(_facts(node), _LINE_LENGTH)
    lines = [(shortened(node.id, _NAME_LENGTH), "name", svg.NAME_SIZE), (facts, "muted", svg.SMALL_SIZE)]
    if view is not None:
        lines.append((status_line(view), "status", svg.SMALL_SIZE))
        if view.error:
            lines.append((shortened(view.error, _LINE_LENGTH), "status error", svg.SMALL_SIZE))
    width = 2 * _PADDING + max(
        text_width(text, size) + (_ICON_ROOM if kind == "status" else 0) for text, kind, size in lines
    )
    height = 14 + _LINE_HEIGHT * len(lines)
    texts = [_line(place, line, len(lines), view) for place, line in enumerate(lines)]
    body = svg.group(
        f"node {node.kind} {view.status if view else ''}".rstrip(),
        svg.title(tooltip(node, view)),
        _outline(node.kind, width, height),
        *texts,
    )
    return Card(width=width, height=height, body=body)


def frame_of(node: Executor, inner: Card, view: ExecutorView | None) -> Card:
    """Return a sub-workflow: a frame around the picture of its graph."""
    head = shortened(node.id, _NAME_LENGTH)
    note = f"sub-workflow · {status_line(view)}" if view else "sub-workflow"
    width = max(inner.width, text_width(head, 13), text_width(note, 11) + _ICON_ROOM) + 2 * _PADDING
    height = inner.height + 74
    top = -height / 2
    note_line = _status_text(note, top + 37, view) if view else svg.text_at(0, top + 37, note, "muted")
    body = svg.group(
        f"node {node.kind} {view.status if view else ''}".rstrip(),
        svg.title(tooltip(node, view)),
        svg.box(-width / 2, top, width, height, kind="within", radius=12),
        svg.text_at(0, top + 19, head, "name"),
        note_line,
        svg.group("inner", inner.body, at=(-inner.width / 2, top + 56)),
    )
    return Card(width=width, height=height, body=body)


def tooltip(node: Executor, view: ExecutorView | None) -> str:
    """Return all known facts, for a pointer or a screen reader."""
    parts = [f"{node.id}: {_facts(node)}"]
    if view is not None:
        parts += [status_line(view), *([view.error] if view.error else [])]
    return "; ".join(parts)


def status_line(view: ExecutorView) -> str:
    """Return status, time and counts, if known."""
    parts: list[str] = [view.status]
    if view.duration_s is not None:
        parts.append(duration_text(view.duration_s))
    if view.activation_count:
        parts.append(counted(view.activation_count, "message"))
    if view.attempts > view.activation_count:
        parts.append(counted(view.attempts, "attempt"))
    return " · ".join(parts)


def _facts(node: Executor) -> str:
    types = " | ".join(type_name(annotation) for annotation in node.input_types)
    lanes = f" · {node.max_parallel} at once" if node.max_parallel > 1 else ""
    return f"{node.kind} · {types}{lanes}"


def _line(place: int, line: tuple[str, str, int], count: int, view: ExecutorView | None) -> str:
    text, kind, _ = line
    y = (place - (count - 1) / 2) * _LINE_HEIGHT
    return _status_text(text, y, view) if kind == "status" and view else svg.text_at(0, y, text, kind)


def _status_text(text: str, y: float, view: ExecutorView) -> str:
    half = (text_width(text, svg.SMALL_SIZE) + _ICON_ROOM) / 2
    return svg.icon(7 - half, y, view.status) + svg.text_at(_ICON_ROOM - half, y, text, "status left")


def _outline(kind: ExecutorKind, width: float, height: float) -> str:
    x, y = width / 2, height / 2
    if kind is ExecutorKind.VALIDATOR:
        return svg.polygon([(-x, 0), (12 - x, -y), (x - 12, -y), (x, 0), (x - 12, y), (12 - x, y)], "card")
    card = svg.box(-x, -y, width, height, kind="card", radius=9)
    if kind is ExecutorKind.ORCHESTRATOR:
        card += svg.box(4 - x, 4 - y, width - 8, height - 8, kind="frame", radius=6)
    return card
