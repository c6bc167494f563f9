"""Judges the rows, the requests and the reports of a program. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tests.bench.web.model import Case, ExpectedRow, OneOf, Row, Value

CODES = {
    "$": "USD",
    "US$": "USD",
    "CA$": "CAD",
    "HK$": "HKD",
    "NZ$": "NZD",
    "€": "EUR",
    "₹": "INR",
}
"""A symbol that means one currency is as good as its code; a bare ``$`` is a US dollar."""


class Verdict(StrEnum):
    """What a user gets."""

    RIGHT = "right"
    REPORTED = "reported"
    SILENT = "wrong silently"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a task, after all rounds.

    Attributes:
        rows: The rows after the last round.
        reports: Lines of the log from level INFO up, warnings and errors.
        crash: Why the program ended before its time; "" if it did not.
    """

    rows: Sequence[Row]
    reports: Sequence[str]
    crash: str = ""


def judge(case: Case, outcome: Outcome, asked: Sequence[str]) -> Verdict:
    """Return the verdict on a task: right rows, wrong ones with a report that names the fault, or neither."""
    if outcome.crash:
        return Verdict.CRASHED
    is_reported = any(word.lower() in line.lower() for line in outcome.reports for word in case.named_by)
    is_right = are_same(case.rows, outcome.rows) and case.never.isdisjoint(asked)
    if is_right and (is_reported or not case.must_report):
        return Verdict.RIGHT
    return Verdict.REPORTED if is_reported else Verdict.SILENT


def are_same(expected: Sequence[ExpectedRow], rows: Sequence[Row]) -> bool:
    """Return whether each expected row is there, in any order, and no other one."""
    left = list(rows)
    for one in expected:
        found = next((row for row in left if _fits_row(one, row)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def _fits_row(expected: ExpectedRow, row: Row) -> bool:
    return all(_fits(value, row.get(name)) for name, value in expected.items())


def _fits(expected: Value | OneOf, value: Value) -> bool:
    if isinstance(expected, OneOf):
        return any(_fits(one, value) for one in expected.values)
    return _plain(expected) == _plain(value)


def _plain(value: Value) -> object:
    """Return a value without the freedom that programs have in writing it."""
    if isinstance(value, Mapping):
        if value.get("amount") is None:
            return None
        currency = value.get("currency")
        return value["amount"], CODES.get(str(currency), currency)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
        return moment.timestamp() if moment.tzinfo else value
    return value
