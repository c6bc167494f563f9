"""Records in Parquet and in spreadsheets, read again by others' programs."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet
import pytest

from agentic.core.remote_files import shown
from agentic.executors.exports import typed_files
from agentic.executors.exports.columns import columns_of
from agentic.executors.exports.errors import ExportError
from agentic.executors.exports.targets import ExportTarget
from agentic.executors.exports.typed_files import EXCEL_CHARACTERS, write_parquet, write_xlsx

ROWS: list[dict[str, Any]] = [
    {
        "title": "Lämp 日本",
        "count": 7,
        "price": {"amount": 9.5, "currency": "EUR"},
        "day": "2026-02-28",
        "seen": "2026-02-28T10:00:00+02:00",
        "new": True,
        "tags": ["a", "b"],
    },
    {"title": '=HYPERLINK("x")', "count": None, "price": None, "day": None, "new": False},
]
SEEN = datetime(2026, 2, 28, 8, tzinfo=UTC)


def test_parquet_has_types() -> None:
    file = io.BytesIO()
    assert write_parquet(file, columns_of(ROWS), ROWS) == 2
    table = pyarrow.parquet.read_table(io.BytesIO(file.getvalue()))
    assert {field.name: str(field.type) for field in table.schema} == {
        "title": "string",
        "count": "int64",
        "price_amount": "double",
        "price_currency": "string",
        "day": "date32[day]",
        "seen": "timestamp[us, tz=UTC]",
        "new": "bool",
        "tags": "string",
    }
    first, second = table.to_pylist()
    assert (first["title"], first["day"], first["tags"]) == ("Lämp 日本", date(2026, 2, 28), '["a", "b"]')
    assert first["seen"].astimezone(UTC) == SEEN
    assert second == {**dict.fromkeys(first), "title": '=HYPERLINK("x")', "new": False}


def test_parquet_is_written_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_files, "GROUP_ROWS", 10)
    taken = 0

    def records() -> Iterator[dict[str, int]]:
        nonlocal taken
        for number in range(25):
            taken += 1
            yield {"n": number}

    file = io.BytesIO()
    assert write_parquet(file, columns_of([{"n": 1}]), records()) == 25
    found = pyarrow.parquet.ParquetFile(io.BytesIO(file.getvalue()))
    assert found.num_row_groups == 3
    assert found.read().column("n").to_pylist() == list(range(taken))


def sheet(rows: list[dict[str, Any]]) -> tuple[Any, Any]:
    file = io.BytesIO()
    result = write_xlsx(file, columns_of(rows), rows, "items [a/b]")
    book = openpyxl.load_workbook(io.BytesIO(file.getvalue()))
    return result, book.worksheets[0]


def test_a_spreadsheet_has_types_and_runs_nothing() -> None:
    (count, warnings), page = sheet(ROWS)
    assert (count, warnings, page.title) == (2, (), "items _a_b_")
    header, first, second = ([cell.value for cell in row] for row in page.iter_rows())
    assert header == ["title", "count", "price_amount", "price_currency", "day", "seen", "new", "tags"]
    assert first[:4] == ["Lämp 日本", 7, 9.5, "EUR"]
    assert first[4:] == [datetime(2026, 2, 28), SEEN.replace(tzinfo=None), True, '["a", "b"]']  # noqa: DTZ001
    assert (second[0], page["A3"].data_type) == ('=HYPERLINK("x")', "s")
    assert page.freeze_panes == "A2"


def test_what_a_spreadsheet_would_change_is_text_there() -> None:
    rows = [{"id": 2**60, "day": "1850-01-01", "code": "007", "link": "https://a.example/"}]
    _, page = sheet(rows)
    assert [cell.value for cell in page[2]] == [str(2**60), "1850-01-01", "007", "https://a.example/"]
    assert page["D2"].hyperlink is None


def test_texts_beyond_the_limit_of_a_spreadsheet_are_cut_and_told() -> None:
    (_, warnings), page = sheet([{"text": "x" * 40_000}, {"text": "y"}])
    assert len(page["A2"].value) == EXCEL_CHARACTERS
    assert warnings == [
        "1 texts were cut to 32,767 characters, the limit of a spreadsheet; other formats keep them whole"
    ]


def test_more_rows_than_a_sheet_has_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(typed_files, "EXCEL_ROWS", 4)
    rows = [{"n": number} for number in range(4)]
    with (
        pytest.raises(ExportError, match="a sheet has 3 rows, and more are needed; use Parquet"),
        ExportTarget.parse(str(tmp_path / "x.xlsx")).raw() as file,
    ):
        write_xlsx(file, columns_of(rows), rows, "items")
    assert list(tmp_path.iterdir()) == []
    assert sheet(rows[:3])[0][0] == 3


@pytest.mark.parametrize(("name", "library"), [("x.parquet", "pyarrow"), ("x.xlsx", "xlsxwriter")])
def test_a_format_without_its_library_names_the_extra(
    name: str, library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ExportError, match=rf"{library} is not installed; run `pip install .*\[{name[2:]}\]"):
        ExportTarget.parse(str(tmp_path / name)).check()


@pytest.mark.parametrize("name", ["x.parquet.gz", "x.xlsx.gz", "/dev/stdout.gz"])
def test_what_is_compressed_already_is_not_compressed_again(name: str) -> None:
    with pytest.raises(ExportError, match=r"compressed already|no known format"):
        ExportTarget.parse(name)


def test_a_url_is_shown_without_its_secrets() -> None:
    assert shown("sftp://me:secret@host:22/a/b.csv?key=secret") == "sftp://host:22/a/b.csv"
