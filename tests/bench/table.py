"""The tables of measurements as Markdown."""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.contenders import CONTENDERS, Contender
from tests.bench.measuring import Figures
from tests.bench.rows import Row

Measured = Mapping[tuple[Contender, str], Sequence[Figures]]
"""(contender, case) -> what each round gave."""

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def render(
    tables: Mapping[str, Sequence[Row]], measured: Measured, versions: Mapping[str, str], rounds: int
) -> str:
    """Return each table that has rows below its title, and under what circumstances all was measured."""
    lines = [line for title, rows in tables.items() if rows for line in _table(title, rows, measured)]
    known = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    machine = f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"
    return "\n".join([*lines, f"Medians of {rounds} rounds on: {machine}.", f"Versions: {known}.", ""])


def put_into(page: Path, tables: str) -> None:
    """Replace the tables of a page.

    Raises:
        ValueError: The page does not say where it is.
    """
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{page} has no {BEGIN} ... {END} to put the tables between")
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n{END}{after}")


def _table(title: str, rows: Sequence[Row], measured: Measured) -> Iterator[str]:
    columns: list[Contender] = [one for one in CONTENDERS if any(one in row.contenders for row in rows)]
    head = ["", "unit", "target", *(CONTENDERS[one] for one in columns)]
    if is_compared := any(row.better and row.peers for row in rows):
        head.append("times the best peer")
    yield from (f"**{title}**", "")
    yield f"| {' | '.join(head)} |"
    yield f"|---|---|{'---:|' * (len(head) - 2)}"
    for row in rows:
        values = _values(row, measured)
        figures = [shown(values.get(one)) for one in columns]
        target = "" if row.target is None else f"{row.target:,g}"
        cells = [f"**{row.name}**: {row.what}", row.unit, target, *figures]
        yield f"| {' | '.join([*cells, _advantage(row, values)] if is_compared else cells)} |"
    yield ""


def _values(row: Row, measured: Measured) -> dict[Contender, float]:
    return {
        contender: statistics.median(one[row.figure] for one in found)
        for contender in row.contenders
        if (found := measured.get((contender, row.measured_by)))
    }


def _advantage(row: Row, values: Mapping[Contender, float]) -> str:
    """Return how many times better ours is than the best of the others that are engines."""
    peers = [value for contender, value in values.items() if contender not in {"ours", "plain"}]
    if not peers or not row.better or "ours" not in values:
        return ""
    own = values["ours"]
    return f"{own / max(peers) if row.better == 'more' else min(peers) / own:.1f}"


def shown(value: float | None) -> str:
    """Return a figure as it stands in a table: nothing if there is none, ``never`` if it has no end."""
    if value is None:
        return ""
    if value == math.inf:
        return "never"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def _processor() -> str:
    """Return the processor's name."""
    try:
        with Path("/proc/cpuinfo").open() as facts:
            names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
