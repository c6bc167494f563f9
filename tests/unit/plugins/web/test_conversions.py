"""The types of fields."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agentic.core.types import JSONValue
from agentic.plugins.web.reading.conversions import FieldType, Spelling, convert
from agentic.plugins.web.reading.fields import FieldRule

BASE = "http://shop.example/"


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        (5, "string", "5"),
        (True, "string", "true"),
        (5.0, "integer", 5),
        (5.5, "integer", None),
        (1.299, "number", 1.299),
        (1.299, "price", {"amount": 1.299, "currency": None}),
        (True, "number", None),
        (float("inf"), "integer", None),
        ({"a": 1}, "string", None),
        ({"a": 1}, "json", {"a": 1}),
        (False, "boolean", False),
        (0, "boolean", False),
        ("false", "boolean", False),
        ("https://schema.org/False", "boolean", False),
        ("https://schema.org/InStock", "boolean", True),
        ({"a": 1}, "boolean", True),
        ("../a", "url", "http://shop.example/a"),
        ("31.10.2026", "datetime", "2026-10-31T00:00:00"),
        ("31 Oct 2026 10:00", "date", "2026-10-31"),
        ("31 Oct 2026 23:00 IST", "date", "2026-10-31"),
        (1762165800, "datetime", None),
    ],
)
def test_what_json_ld_has_becomes_the_type_that_is_asked_for(
    value: JSONValue, kind: FieldType, converted: JSONValue
) -> None:
    assert convert(value, kind, BASE) == converted


def test_a_number_is_a_moment_where_the_format_says_so() -> None:
    assert convert(1762165800, "datetime", BASE, Spelling(date_format="epoch")) == "2025-11-03T10:30:00+00:00"
    assert convert("1762165800123", "date", BASE, Spelling(date_format="epoch_ms")) == "2025-11-03"


def test_the_order_of_a_date_can_be_given() -> None:
    assert convert("03/04/2025", "date", BASE, Spelling(date_order="dmy")) == "2025-04-03"
    assert convert("03/04/2025", "date", BASE, Spelling(date_order="mdy")) == "2025-03-04"


@pytest.mark.parametrize("pattern", ["%d %B", "%B %Y", "%H:%M", "the day"])
def test_a_date_format_without_a_whole_day_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="year, month and day"):
        FieldRule(selector="p", type="date", date_format=pattern)


@pytest.mark.parametrize("pattern", ["%d/%m/%Y", "%y%m%d", "%A, %d. %B %Y %H:%M", "%Y-%j", "epoch"])
def test_a_date_format_with_a_whole_day_is_taken(pattern: str) -> None:
    assert FieldRule(selector="p", type="date", date_format=pattern).date_format == pattern
