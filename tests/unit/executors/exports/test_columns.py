"""Which columns records have."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.executors.exports.columns import MAX_PARTS, Column, ColumnType, columns_of

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.dates().map(str)
    | st.datetimes(timezones=st.none() | st.just(UTC)).map(datetime.isoformat)
)
RECORDS = st.lists(
    st.dictionaries(
        st.sampled_from("abcde"),
        st.recursive(
            SCALARS,
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
            ),
            max_leaves=5,
        ),
        max_size=5,
    ),
    max_size=6,
)


def types(*values: Any) -> list[tuple[str, ColumnType]]:
    return [(column.name, column.type) for column in columns_of([{"a": value} for value in values])]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, None], ColumnType.BOOLEAN),
        ([1, 2], ColumnType.INTEGER),
        ([1, 2.5], ColumnType.NUMBER),
        ([2**60, 2.5], ColumnType.TEXT),
        ([2**70], ColumnType.TEXT),
        ([True, 1], ColumnType.TEXT),
        (["2026-02-28", "2026-03-01"], ColumnType.DATE),
        (["2026-02-30"], ColumnType.TEXT),
        (["2026-02-28", "soon"], ColumnType.TEXT),
        (["2026-02-28T10:00:00"], ColumnType.DATETIME),
        (["2026-02-28T10:00:00Z", "2026-02-28T10:00:00.5+02:00"], ColumnType.UTC_DATETIME),
        (["2026-02-28T10:00:00Z", "2026-02-28T10:00:00"], ColumnType.TEXT),
        (["2026", "1"], ColumnType.TEXT),
        ([["x"]], ColumnType.TEXT),
        ([{"x": 1}, "y"], ColumnType.TEXT),
        ([None], ColumnType.TEXT),
        ([{}], ColumnType.TEXT),
    ],
)
def test_a_column_has_the_type_of_all_its_values(values: list[Any], kind: ColumnType) -> None:
    assert types(*values) == [("a", kind)]


def test_a_mapping_is_a_column_for_each_key() -> None:
    prices = [{"amount": 5, "currency": "EUR"}, None, {"amount": 2.5, "per": {"unit": "kg"}}]
    assert types(*prices) == [
        ("a_amount", ColumnType.NUMBER),
        ("a_currency", ColumnType.TEXT),
        ("a_per_unit", ColumnType.TEXT),
    ]


def test_names_are_unique_and_a_mapping_with_many_keys_is_text() -> None:
    found = columns_of([{"a": {"b": 1}, "a_b": 2}])
    assert [(column.name, column.path) for column in found] == [("a_b", ("a", "b")), ("a_b_", ("a_b",))]
    assert types({str(n): n for n in range(MAX_PARTS + 1)}) == [("a", ColumnType.TEXT)]


def test_cells_have_the_type_of_the_column() -> None:
    record = {"d": "2026-02-28", "m": "2026-02-28T10:00:00+02:00", "n": 1, "t": {"b": [1]}, "x": 5}
    cells = {
        kind: Column(name="c", path=path, type=kind).cell(record)
        for kind, path in {
            ColumnType.DATE: ("d",),
            ColumnType.UTC_DATETIME: ("m",),
            ColumnType.NUMBER: ("n",),
            ColumnType.TEXT: ("t", "b"),
        }.items()
    }
    assert cells == {
        ColumnType.DATE: date(2026, 2, 28),
        ColumnType.UTC_DATETIME: datetime(2026, 2, 28, 8, tzinfo=UTC),
        ColumnType.NUMBER: 1.0,
        ColumnType.TEXT: "[1]",
    }
    assert Column(name="c", path=("x", "y"), type=ColumnType.TEXT).cell(record) is None


@given(RECORDS)
def test_every_value_of_every_record_has_a_cell_of_its_columns_type(records: list[dict[str, Any]]) -> None:
    columns = columns_of(records)
    assert len({column.name for column in columns}) == len(columns)
    expected = {
        ColumnType.BOOLEAN: bool,
        ColumnType.INTEGER: int,
        ColumnType.NUMBER: float,
        ColumnType.DATE: date,
        ColumnType.DATETIME: datetime,
        ColumnType.UTC_DATETIME: datetime,
        ColumnType.TEXT: str,
    }
    for record in records:
        for column in columns:
            cell = column.cell(record)
            assert cell is None or type(cell) is expected[column.type]
        for name, value in record.items():
            cells = [column.cell(record) for column in columns if column.path[0] == name]
            assert cells
            if value not in (None, {}) and not isinstance(value, dict):
                assert any(cell is not None for cell in cells)
