"""The colours of a picture, for light and for dark surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Palette:
    """Colours; a status has one for lines and text and one for surfaces, at least 4.5 : 1 apart."""

    background: str
    surface: str
    text: str
    muted: str
    line: str
    back: str
    always: str
    statuses: Mapping[str, tuple[str, str]]


_LIGHT = _Palette(
    background="#ffffff",
    surface="#f8fafc",
    text="#0f172a",
    muted="#475569",
    line="#64748b",
    back="#6d28d9",
    always="#92400e",
    statuses={
        "completed": ("#15803d", "#f0fdf4"),
        "failed": ("#b91c1c", "#fef2f2"),
        "running": ("#1d4ed8", "#eff6ff"),
        "parked": ("#92400e", "#fffbeb"),
        "waiting": ("#5b6b80", "#f8fafc"),
    },
)
_DARK = _Palette(
    background="#0f172a",
    surface="#1e293b",
    text="#f1f5f9",
    muted="#cbd5e1",
    line="#94a3b8",
    back="#c4b5fd",
    always="#fcd34d",
    statuses={
        "completed": ("#86efac", "#0b2a1a"),
        "failed": ("#fca5a5", "#3b1219"),
        "running": ("#93c5fd", "#11244d"),
        "parked": ("#fcd34d", "#33230a"),
        "waiting": ("#a8b5c7", "#1e293b"),
    },
)

_SHAPES = """
.G{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.G text{text-anchor:middle;font-size:11px}
.G text.name{font-size:13px;font-weight:600}
.G text.heading{font-size:15px;font-weight:650;text-anchor:start}
.G text.left{text-anchor:start}
.G .line{fill:none;stroke-width:1.5}
.G .thick .line{stroke-width:3}
.G .dashed .line{stroke-dasharray:5 4}
.G .back .line{stroke-dasharray:1.5 4;stroke-linecap:round;stroke-width:2.2}
.G .card,.G .frame{stroke-width:1.4}
.G .frame{fill:none}
.G .within{stroke-width:1.3;stroke-dasharray:7 4}
.G .icon path{fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.G .unused .line,.G .unused .head{opacity:.4}
"""


def style_sheet() -> str:
    """Return CSS that changes nothing outside of ``.agentic-graph``."""
    css = f"{_SHAPES}{_colours(_LIGHT)}@media (prefers-color-scheme:dark){{{_colours(_DARK)}}}"
    return css.replace(".G", ".agentic-graph").strip()


def _colours(palette: _Palette) -> str:
    failed = palette.statuses["failed"][0]
    rules = [
        f".G .background,.G .within,.G .pill{{fill:{palette.background}}}",
        f".G text{{fill:{palette.text}}}",
        f".G text.muted{{fill:{palette.muted}}}",
        f".G .card,.G .junction .pill{{fill:{palette.surface}}}",
        f".G .card,.G .frame,.G .line,.G .within,.G .junction .pill{{stroke:{palette.line}}}",
        f".G .head,.G .start{{fill:{palette.line}}}",
    ]
    for kind, colour in (("back", palette.back), ("failure", failed), ("always", palette.always)):
        rules.append(f".G .{kind} .line{{stroke:{colour}}}.G .{kind} .head,.G .{kind} text{{fill:{colour}}}")
    for status, (strong, soft) in palette.statuses.items():
        rules += [
            f".G .{status}>.card{{fill:{soft}}}",
            f".G .{status}>.card,.G .{status}>.frame,.G .{status}>.within{{stroke:{strong}}}",
            f".G .{status}>text.status{{fill:{strong}}}",
            f".G .{status}>.icon circle{{fill:{strong}}}.G .{status}>.icon path{{stroke:{soft}}}",
        ]
    return "\n".join(rules) + "\n"
