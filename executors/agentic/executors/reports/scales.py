"""Readable numbers and times, and the positions of a plot's lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400)


def nice_ticks(most: float, count: int = 4) -> list[float]:
    """Return about ``count`` round values from 0 up to the first that is not below ``most``."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def time_ticks(span_s: float, count: int = 6) -> list[float]:
    """Return about ``count`` round moments within ``span_s`` seconds, from 0 on."""
    if span_s < count:
        return [tick for tick in nice_ticks(span_s, count) if tick <= span_s]
    days = math.ceil(span_s / count / 86_400) * 86_400
    step = next((step for step in _STEPS_S if span_s / step <= count), days)
    return [float(step * number) for number in range(int(span_s // step) + 1)]


def clock(seconds: float) -> str:
    """Return a moment of a run: ``0.4 s``, ``12 s``, ``3:20``, ``2:05:00``."""
    if seconds < 60:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float) -> str:
    """Return how long something took: ``12 ms``, ``3.2 s``, ``5 min 20 s``, ``2 h 5 min``."""
    if seconds < 0.9995:
        return f"{seconds * 1_000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1_000:.1f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def number(value: float) -> str:
    """Return a number with separated thousands, and decimals only where they matter."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def size(size_bytes: int) -> str:
    """Return a number of bytes: ``820 B``, ``1.2 MB``."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    value, units = size_bytes / 1_000, ["kB", "MB", "GB", "TB"]
    while round(value, 1) >= 1_000 and len(units) > 1:
        value, units = value / 1_000, units[1:]
    return f"{value:,.1f} {units[0]}"


def share(part: float, whole: float) -> str:
    """Return a part in percent: ``0 %`` for nothing, ``<0.1 %`` for almost nothing."""
    if not part or not whole:
        return "0 %"
    per_cent = 100 * part / whole
    if per_cent < 0.1:
        return "<0.1 %"
    return f"{per_cent:.0f} %" if per_cent >= 9.95 else f"{per_cent:.1f} %"


def counted(count: int, word: str) -> str:
    """Return a count with its noun: ``1 page``, ``1,250 pages``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def median(values: Sequence[float]) -> float:
    """Return the median of values, sorted or not; 0 without values."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0
