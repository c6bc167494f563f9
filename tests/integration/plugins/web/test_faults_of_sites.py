"""The cases of ``python -m tests.bench.web``, which also runs them with Scrapy and Crawlee."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.bench.web.listing import CASES
from tests.bench.web.model import Row
from tests.bench.web.ours import run_ours
from tests.bench.web.serving import serving
from tests.bench.web.verdicts import Outcome, Verdict, judge

from agentic.mappers import Database

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "faults-of-sites.md"

NOT_RIGHT = {"coding-cut": Verdict.REPORTED, "date-ago": Verdict.REPORTED}
"""Cases whose rows a careful user does not get, but a warning."""


@pytest.mark.parametrize("name", CASES)
async def test_a_careful_user_gets_the_expected_rows(database: Database, name: str) -> None:
    with serving(CASES[name]) as served:
        outcome = await run_ours(CASES[name], served, database)
    expected = NOT_RIGHT.get(name, Verdict.RIGHT)
    assert judge(CASES[name], outcome, served.asked) == expected, (outcome, served.asked)


def test_the_page_has_a_row_with_our_verdict_for_every_case() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    shown = {row[1]: row[3] for row in rows if len(row) == 6}
    expected = {case.trouble: NOT_RIGHT.get(name, Verdict.RIGHT) for name, case in CASES.items()}
    assert {trouble: shown.get(trouble) for trouble in expected} == expected


LAMPS: Sequence[Row] = [{"title": "Desk lamp"}, {"title": "Lamps", "url": "http://127.0.0.1/"}]


@pytest.mark.parametrize(
    ("rows", "reports", "asked", "verdict"),
    [
        (LAMPS, [], ["/"], Verdict.RIGHT),
        (LAMPS, [], ["/", "/staff/rota"], Verdict.SILENT),
        ([*LAMPS, {"title": "Rota"}], ["a warning about /elsewhere"], ["/"], Verdict.SILENT),
        (LAMPS[:1], ["http://127.0.0.1/robots.txt cannot be read"], ["/"], Verdict.REPORTED),
        ([{"title": "Desk lamp"}, {"title": None}], [], ["/"], Verdict.SILENT),
    ],
)
def test_only_the_expected_rows_and_requests_are_right(
    rows: Sequence[Row], reports: Sequence[str], asked: Sequence[str], verdict: Verdict
) -> None:
    assert judge(CASES["robots-mark"], Outcome(rows, reports), asked) == verdict


def test_right_rows_without_the_report_that_belongs_to_them_are_not_right() -> None:
    rows: Sequence[Row] = [{"title": f"Room {number}"} for number in range(5)]
    assert judge(CASES["limit-pages"], Outcome(rows, []), []) == Verdict.SILENT
    assert judge(CASES["limit-pages"], Outcome(rows, ["left because of max_pages"]), []) == Verdict.RIGHT


def test_a_program_that_ended_early_has_crashed() -> None:
    assert judge(CASES["robots-mark"], Outcome(LAMPS, [], "Traceback"), []) == Verdict.CRASHED
