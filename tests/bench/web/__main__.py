"""Runs the cases through this project, Scrapy and Crawlee, and puts the table into the documentation.

python -m tests.bench.web [--cases robots-mark,feed-cut] [--python PATH]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench.environments import run_module
from tests.bench.measuring import HOME
from tests.bench.table import put_into
from tests.bench.web.listing import CASES
from tests.bench.web.model import Case
from tests.bench.web.peers.versions import REQUIREMENTS
from tests.bench.web.programs import programs
from tests.bench.web.verdicts import Verdict

PAGE = Path("docs/explanation/faults-of-sites.md")
PLACE = HOME / "web"
TITLES = {"agentic": "agentic", "scrapy": "Scrapy", "crawlee": "Crawlee"}

Found = Mapping[str, Mapping[str, Verdict]]
"""Name of a case -> program -> verdict."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases, show the table, and keep it if it is whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.web", description=__doc__)
    parser.add_argument("--cases", default="", help="names, separated by commas; all when omitted")
    parser.add_argument(
        "--python", type=Path, default=PLACE / "bin" / "python", help="an interpreter that has the peers"
    )
    given = parser.parse_args(arguments)
    wanted = given.cases.split(",") if given.cases else list(CASES)
    if unknown := set(wanted) - set(CASES):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; known: {', '.join(CASES)}")
    versions = find_versions(given.python)
    missing = [name for name, number in versions.items() if number is None]
    if not versions or missing:
        parser.error(advice(given.python, missing))
    cases = [CASES[name] for name in wanted]
    text = render(
        cases, run(cases, given.python), {"agentic-pipelines": version("agentic-pipelines"), **versions}
    )
    sys.stdout.write(text)
    if len(cases) == len(CASES):
        put_into(PAGE, text)


def find_versions(python: Path) -> dict[str, str | None]:
    """Return the versions of the peers; nothing without an interpreter."""
    if not python.exists():
        return {}
    found: dict[str, str | None] = json.loads(run_module(python, "tests.bench.web.peers.versions", []))
    return found


def advice(python: Path, missing: Sequence[str]) -> str:
    """Return how to install the peers."""
    fault = f"{python} lacks {', '.join(missing)}" if missing else f"there is no {python}"
    names = " ".join(f"'{one}'" if "[" in one else one for one in REQUIREMENTS)
    return (
        f"{fault}. Install the peers into an environment of their own:\n"
        f"    python -m venv {PLACE} && {PLACE}/bin/pip install {names}\n"
        "or name an interpreter that has them with --python"
    )


def run(cases: Sequence[Case], python: Path) -> Found:
    """Run each case with each program."""
    found = {}
    with programs(python) as all_of_them:
        for number, case in enumerate(cases, 1):
            sys.stderr.write(f"\r{number} of {len(cases)}: {case.name:<20}")
            sys.stderr.flush()
            found[case.name] = all_of_them.verdicts(case)
    sys.stderr.write("\n")
    return found


def render(cases: Sequence[Case], found: Found, versions: Mapping[str, str | None]) -> str:
    """Return the table, the counts, and the circumstances."""
    known = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    day = datetime.now(UTC).date().isoformat()
    return "\n".join([*_table(cases, found), "", f"{len(cases)} cases, {day}. Versions: {known}.", ""])


def _table(cases: Sequence[Case], found: Found) -> Iterator[str]:
    yield f"| kind | the site | expected | {' | '.join(TITLES.values())} |"
    yield f"|---|---|---|{'---|' * len(TITLES)}"
    kind = ""
    for case in cases:
        cells = ["" if case.kind == kind else case.kind, _cell(case.trouble), _cell(case.expects)]
        yield f"| {' | '.join([*cells, *(_shown(found[case.name][name]) for name in TITLES)])} |"
        kind = case.kind
    for verdict in Verdict:
        counts = [Counter(one[name] for one in found.values())[verdict] for name in TITLES]
        yield f"| **{verdict}** | | | {' | '.join(f'**{count}**' for count in counts)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _shown(verdict: Verdict) -> str:
    return verdict if verdict in {Verdict.RIGHT, Verdict.REPORTED} else f"**{verdict}**"


if __name__ == "__main__":
    main()
