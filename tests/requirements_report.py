"""Says which rows of docs/requirements.md have tests.

Usage: ``python tests/requirements_report.py [--json] [--missing]``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
TABLE = REPOSITORY / "docs" / "requirements.md"


@dataclass(slots=True, kw_only=True)
class Row:
    """One requirement and the tests that would fail without it."""

    id: str
    area: str
    component: str
    tests: list[str] = field(default_factory=list)


class MarkCollector:
    """A pytest plugin that notes the requirement marks of what is collected, as (row id, test)."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], None] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note the marks of a test, slow or not, once however it is parametrized."""
        test = item.nodeid.partition("[")[0]
        ids = (str(row_id) for mark in item.iter_markers("requirement") for row_id in mark.args)
        self._found.update(dict.fromkeys((row_id, test) for row_id in ids))

    @property
    def marks(self) -> list[tuple[str, str]]:
        """All marks so far."""
        return list(self._found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 when tests cannot be collected or a mark names an unknown row."""
    parser = argparse.ArgumentParser(description="Which rows of docs/requirements.md have tests.")
    parser.add_argument("--json", action="store_true", help="print every row with its tests as JSON")
    parser.add_argument("--missing", action="store_true", help="print only rows without a test")
    parser.add_argument("paths", nargs="*", default=[str(REPOSITORY / "tests")], help="where to collect")
    options = parser.parse_args(arguments)
    rows = read_rows(TABLE.read_text(encoding="utf-8"))
    marks = collect_marks(options.paths)
    if marks is None:
        return 1
    unknown = assign(rows, marks)
    shown = [row for row in rows.values() if not (options.missing and row.tests)]
    sys.stdout.write(as_json(shown) if options.json else as_text(shown, rows.values()))
    for row_id, test in unknown:
        sys.stderr.write(f"{test} names {row_id}, which is no row of {TABLE.relative_to(REPOSITORY)}\n")
    return 1 if unknown else 0


def read_rows(table: str) -> dict[str, Row]:
    """Return row id -> row of the Markdown in ``table``; a heading names the area of the rows below it."""
    rows: dict[str, Row] = {}
    area = ""
    for line in table.splitlines():
        if line.startswith("## "):
            area = line.removeprefix("## ")
        elif found := re.match(r"\| ([A-Z]{2}\d{2}) \| (.+?) (?<!\\)\| ", line):
            row = Row(id=found[1], area=area, component=found[2].replace("\\|", "|"))
            rows[row.id] = row
    return rows


def collect_marks(paths: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return (row id, test) pairs of the tests under ``paths``; None, with the reason printed, on failure."""
    collector = MarkCollector()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(
            ["--collect-only", "-qq", f"-c{REPOSITORY / 'pyproject.toml'}", *paths], [collector]
        )
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.stderr.write(f"{output.getvalue()}\nthe tests cannot be collected; correct the above first\n")
        return None
    return collector.marks


def assign(rows: Mapping[str, Row], marks: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Note each marked test at its row; return the pairs whose row is unknown."""
    unknown = []
    for row_id, test in marks:
        if row_id in rows:
            rows[row_id].tests.append(test)
        else:
            unknown.append((row_id, test))
    return unknown


def as_json(rows: Iterable[Row]) -> str:
    """Return ``rows`` as a JSON list."""
    facts = [{"id": r.id, "area": r.area, "component": r.component, "tests": r.tests} for r in rows]
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def as_text(shown: Sequence[Row], rows: Iterable[Row]) -> str:
    """Return a paragraph per area: how many of all its rows have tests, then each row of ``shown``."""
    areas: dict[str, list[Row]] = {}
    for row in rows:
        areas.setdefault(row.area, []).append(row)
    lines = []
    for area, members in areas.items():
        lines.append(f"{area}: {_tested(members)} of {len(members)}")
        lines += [_line(row) for row in members if row in shown]
    everything = [row for members in areas.values() for row in members]
    return "\n".join([*lines, f"All: {_tested(everything)} of {len(everything)} rows have tests", ""])


def _tested(rows: Iterable[Row]) -> int:
    return sum(bool(row.tests) for row in rows)


def _line(row: Row) -> str:
    if not row.tests:
        return f"  {row.id}  -  {row.component}"
    return "\n".join([f"  {row.id}  {row.component}", *(f"        {test}" for test in row.tests)])


if __name__ == "__main__":
    sys.exit(main())
