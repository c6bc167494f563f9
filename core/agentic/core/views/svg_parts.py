"""Pieces of SVG: text, lines, icons. Nothing here knows a graph."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from agentic.core.views.texts import plain

Point = tuple[float, float]

HEAD_LENGTH = 8.0
HEADING_SIZE = 15
NAME_SIZE = 13
SMALL_SIZE = 11

_ICONS = {
    "completed": '<path d="M-4 0.2 -1.2 3 4 -2.8"/>',
    "failed": '<path d="M-3 -3 3 3M3 -3 -3 3"/>',
    "running": '<path d="M-2 -3.4 3.6 0 -2 3.4Z"/>',
    "parked": '<path d="M-2 -3V3M2 -3V3"/>',
    "waiting": '<path d="M0 -3V0.4L2.4 1.8"/>',
}


def text_at(x: float, y: float, text: str, kind: str) -> str:
    """Return a line of text around ``x``, its middle at ``y``."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}" dy="0.35em">{escape(plain(text))}</text>'


def title(text: str) -> str:
    """Return a tooltip, which screen readers read too."""
    return f"<title>{escape(plain(text))}</title>"


def icon(x: float, y: float, status: str) -> str:
    """Return a badge that shows a status without colour."""
    return (
        f'<g class="icon" transform="translate({number(x)} {number(y)})"><circle r="7"/>{_ICONS[status]}</g>'
    )


def group(kind: str, *parts: str, at: Point | None = None) -> str:
    """Return ``parts`` as one group."""
    place = "" if at is None else f' transform="translate({number(at[0])} {number(at[1])})"'
    return f'<g class="{kind}"{place}>{"".join(parts)}</g>'


def box(x: float, y: float, width: float, height: float, *, kind: str, radius: float) -> str:
    """Return a rectangle by its upper left corner."""
    return (
        f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}" rx="{number(radius)}"/>'
    )


def polygon(points: Sequence[Point], kind: str) -> str:
    """Return a filled shape."""
    return f'<polygon class="{kind}" points="{" ".join(f"{number(x)},{number(y)}" for x, y in points)}"/>'


def upright_curve(points: Sequence[Point], *, has_head: bool) -> str:
    """Return a line through ``points``, upright at each of them, with an arrow head at the last."""
    *others, (x, y) = points
    down = 1 if y > others[-1][1] else -1
    head = ""
    if has_head:
        base = y - down * HEAD_LENGTH
        head = polygon([(x, y), (x - 4.5, base), (x + 4.5, base)], "head")
        y = base + down
    steps = [f"M{number(points[0][0])} {number(points[0][1])}"]
    steps += [_step(p, q) for p, q in pairwise([*others, (x, y)])]
    return f'<path class="line" d="{"".join(steps)}"/>{head}'


def _step(start: Point, end: Point) -> str:
    (x, y), (to_x, to_y) = start, end
    if abs(x - to_x) < 0.05:
        return f"V{number(to_y)}"
    middle = number((y + to_y) / 2)
    return f"C{number(x)} {middle} {number(to_x)} {middle} {number(to_x)} {number(to_y)}"


def loop_curve(points: Sequence[Point], reach: float) -> str:
    """Return a line that leaves a node on its right side and returns to it."""
    (x, y), (_, to_y) = points
    far = number(x + reach * 1.25)
    path = f"M{number(x)} {number(y)}C{far} {number(y)} {far} {number(to_y)} {number(x + 7)} {number(to_y)}"
    head = polygon([(x, to_y), (x + HEAD_LENGTH, to_y - 4.5), (x + HEAD_LENGTH, to_y + 4.5)], "head")
    return f'<path class="line" d="{path}"/>{head}'


def number(value: float) -> str:
    """Return a coordinate in tenths of a pixel, always in the same format."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
