"""The table of measurements as Markdown."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.measuring import Figures
from tests.bench.rows import CONTENDERS, ENGINES, Contender, Row

Measured = Mapping[tuple[Contender, str], Sequence[Figures]]
"""(contender, case) -> what each round gave."""

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def render(rows: Sequence[Row], measured: Measured, versions: Mapping[str, str], rounds: int) -> str:
    """Return the table, and under what circumstances it was measured."""
    head = ["", "unit", "target", *CONTENDERS.values(), "best peer : ours"]
    lines = [f"| {' | '.join(head)} |", f"|---|---|{'---:|' * (len(head) - 2)}"]
    lines += [f"| {' | '.join(_cells(row, measured))} |" for row in rows]
    known = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    machine = f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"
    return "\n".join([*lines, "", f"Medians of {rounds} rounds on: {machine}.", f"Versions: {known}.", ""])


def put_into(page: Path, table: str) -> None:
    """Replace the table of a page.

    Raises:
        ValueError: The page does not say where it is.
    """
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{page} has no {BEGIN} ... {END} to put the table between")
    page.write_text(f"{before}{BEGIN}\n\n{table}\n{END}{after}")


def _cells(row: Row, measured: Measured) -> Iterator[str]:
    values = {
        contender: statistics.median(one[row.figure] for one in found)
        for contender in CONTENDERS
        if (found := measured.get((contender, row.measured_by))) and contender in row.contenders
    }
    yield f"**{row.name}**: {row.what}"
    yield row.unit
    yield "" if row.target is None else f"{row.target:,g}"
    yield from (_shown(values.get(contender)) for contender in CONTENDERS)
    peers = [values[peer] for peer in ENGINES if peer in values]
    yield f"{min(peers) / values['ours']:.1f}" if peers and "ours" in values else ""


def _shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _processor() -> str:
    """Return the processor's name."""
    try:
        with Path("/proc/cpuinfo").open() as facts:
            names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
