"""Measures this project and its peers in one go, and puts the table into the documentation.

python -m tests.bench.run [--rounds 5] [--rows step,branch]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.environments import PEERS, python_of, run_module
from tests.bench.measuring import Figures
from tests.bench.rows import CONTENDERS, ROWS, Contender, Row
from tests.bench.table import Measured, put_into, render

PAGE = Path("docs/explanation/benchmarks.md")


_MODULES = {
    "durable": "durable",
    "place": "runs",
    "group": "runs",
    "waiting": "runs",
    "celery": "workers",
}
"""Kind of a case -> the module that measures it; ``engine`` measures the others."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, show the table, and keep it if it is whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each row; the median counts")
    parser.add_argument("--rows", default="", help="names, separated by commas; all when omitted")
    given = parser.parse_args(arguments)
    wanted = given.rows.split(",") if given.rows else [row.name for row in ROWS]
    if unknown := set(wanted) - {row.name for row in ROWS}:
        parser.error(
            f"no row is called {', '.join(sorted(unknown))}; known: {', '.join(r.name for r in ROWS)}"
        )
    rows = [row for row in ROWS if row.name in wanted]
    table = render(rows, _measure(rows, given.rounds), _versions(rows), given.rounds)
    sys.stdout.write(table)
    if len(rows) == len(ROWS):
        put_into(PAGE, table)


def _measure(rows: Sequence[Row], rounds: int) -> Measured:
    """Measure everybody in turn, so that what else the machine does is shared by all."""
    measured: dict[tuple[Contender, str], list[Figures]] = {
        (contender, row.measured_by): [] for row in rows for contender in row.contenders
    }
    for number in range(1, rounds + 1):
        for (contender, case), found in measured.items():
            sys.stderr.write(f"\rround {number} of {rounds}: {contender} {case:<20}")
            sys.stderr.flush()
            found.append(_ask(contender, case))
    sys.stderr.write("\n")
    return measured


def _versions(rows: Sequence[Row]) -> dict[str, str]:
    found: dict[str, str] = {}
    for contender in CONTENDERS:
        if any(contender in row.contenders for row in rows):
            found |= json.loads(run_module(*_called(contender, "versions"), ["versions"]))
    return found


def _ask(contender: Contender, case: str) -> Figures:
    figures: Figures = json.loads(run_module(*_called(contender, case), [case]))
    return figures


def _called(contender: Contender, case: str) -> tuple[Path, str]:
    """Return the interpreter and the module that measure a case."""
    kind = case.partition("-")[0]
    if contender == "ours":
        return Path(sys.executable), f"tests.bench.{_MODULES.get(kind, 'engine')}"
    if kind == "celery":
        return Path(sys.executable), "tests.bench.celery_tasks"
    python = python_of(contender) if contender in PEERS else Path(sys.executable)
    return python, f"tests.bench.peers.{contender}"


if __name__ == "__main__":
    main()
