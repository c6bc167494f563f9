from __future__ import annotations

import csv
import io
import json

import pytest

from agentic.executors.exports.formats import BYTE_ORDER_MARK, write_csv, write_json_array, write_jsonl


def csv_rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def as_csv(record: dict[str, object], *, excel_safe: bool = False) -> str:
    file = io.StringIO(newline="")
    write_csv(file, list(record), [record], excel_safe=excel_safe)
    return file.getvalue()


def test_json_lines_lose_nothing() -> None:
    records = [{"title": "Łódź\n\u2028", "tags": ["a", {"b": None}], "price": 1.5, "sold": True}, {}]
    file = io.StringIO()
    assert write_jsonl(file, records) == 2
    assert [json.loads(line) for line in file.getvalue().split("\n")[:-1]] == records


@pytest.mark.parametrize("records", [[], [{"a": "Łódź\n"}], [{"a": 1}, {"b": [None]}]])
def test_a_json_array_is_whole_however_many_records_it_has(records: list[dict[str, object]]) -> None:
    file = io.StringIO()
    assert write_json_array(file, records) == len(records)
    assert json.loads(file.getvalue()) == records


def test_a_csv_has_a_column_for_each_field_and_empty_cells_where_a_record_has_none() -> None:
    file = io.StringIO(newline="")
    assert write_csv(file, ["a", "b"], [{"a": 1}, {"b": "x"}]) == 2
    assert csv_rows(file.getvalue()) == [["a", "b"], ["1", ""], ["", "x"]]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "true"),
        (-1.5, "-1.5"),
        (["a", {"b": 1}], '["a",{"b":1}]'),
        ('"quoted", split\nin two', '"quoted", split\nin two'),
    ],
)
def test_values_become_cells(value: object, cell: str) -> None:
    assert csv_rows(as_csv({"field": value}))[1] == [cell]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_a_spreadsheet_would_run_is_marked_as_text_when_asked_for(text: str) -> None:
    assert csv_rows(as_csv({"field": text}))[1] == [text]
    assert csv_rows(as_csv({"field": text}, excel_safe=True))[1] == [f"'{text}"]


def test_names_of_fields_are_marked_too() -> None:
    assert csv_rows(as_csv({"=cmd": 1}, excel_safe=True).removeprefix(BYTE_ORDER_MARK))[0] == ["'=cmd"]


def test_negative_numbers_stay_numbers_for_spreadsheets() -> None:
    assert csv_rows(as_csv({"field": -3}, excel_safe=True))[1] == ["-3"]


def test_a_csv_for_spreadsheets_begins_with_a_byte_order_mark() -> None:
    assert as_csv({"field": "ä"}, excel_safe=True).startswith(BYTE_ORDER_MARK)
    assert not as_csv({"field": "ä"}).startswith(BYTE_ORDER_MARK)
