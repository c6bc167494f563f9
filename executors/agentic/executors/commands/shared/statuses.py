"""Styles of execution statuses on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

STATUS_STYLES: Mapping[str, str] = {
    "succeeded": "green",
    "completed": "green",
    "partial": "yellow",
    "failed": "red",
    "cancelled": "magenta",
    "running": "cyan",
}
"""Word of a status -> style of Rich."""
