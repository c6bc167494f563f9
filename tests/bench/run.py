"""Measures this project and its peers in one go, and puts the tables into the documentation.

python -m tests.bench.run [--rounds 5] [--rows step,branch]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.agent_rows import AGENTS, CODING
from tests.bench.bus_rows import MAPPERS, ON_NATS
from tests.bench.contenders import Contender, call_of
from tests.bench.crawl_rows import CRAWLS, RESUMES
from tests.bench.environments import run_figures, run_module
from tests.bench.measuring import Figures
from tests.bench.rows import STEPS, Row
from tests.bench.table import Measured, put_into, render

PAGE = Path("docs/explanation/benchmarks.md")

TABLES: Mapping[str, Sequence[Row]] = {
    "Steps, branches and runs": STEPS,
    "On NATS": ON_NATS,
    "Rows in SQL": MAPPERS,
    "Crawls": CRAWLS,
    "A crawl that is killed at 40 % and started again": RESUMES,
    "Agents": AGENTS,
    "Programs that a model writes": CODING,
}
ROWS = tuple(row for rows in TABLES.values() for row in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, show the tables, and keep them if they are whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each row; the median counts")
    parser.add_argument("--rows", default="", help="names, separated by commas; all when omitted")
    given = parser.parse_args(arguments)
    wanted = given.rows.split(",") if given.rows else [row.name for row in ROWS]
    if unknown := set(wanted) - {row.name for row in ROWS}:
        parser.error(
            f"no row is called {', '.join(sorted(unknown))}; known: {', '.join(r.name for r in ROWS)}"
        )
    tables = {title: [row for row in rows if row.name in wanted] for title, rows in TABLES.items()}
    rows = [row for chosen in tables.values() for row in chosen]
    text = render(tables, _measure(rows, given.rounds), _versions(rows), given.rounds)
    sys.stdout.write(text)
    if len(rows) == len(ROWS):
        put_into(PAGE, text)


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
    calls = [call_of(contender, row.measured_by) for row in rows for contender in row.contenders]
    found: dict[str, str] = {}
    for python, module in dict.fromkeys((call.python, call.module) for call in calls):
        found |= json.loads(run_module(python, module, ["versions"]))
    return found


def _ask(contender: Contender, case: str) -> Figures:
    call = call_of(contender, case)
    return run_figures(call.python, call.module, [call.case])


if __name__ == "__main__":
    main()
