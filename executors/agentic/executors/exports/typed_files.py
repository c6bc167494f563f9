"""Records as Parquet and as a spreadsheet (XLSX): files with typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import IO, Any

from agentic.executors.exports.columns import EXACT, Cell, Column, ColumnType
from agentic.executors.exports.errors import ExportError, load_for_export
from agentic.executors.exports.rows import Record, in_groups

GROUP_ROWS = 10_000
"""Rows that a Parquet file keeps together; as many are in memory."""

EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
EXCEL_CHARACTERS = 32_767
"""Limits of a spreadsheet."""


def write_parquet(file: IO[bytes], columns: Sequence[Column], records: Iterable[Record]) -> int:
    """Write a Parquet file, compressed with Zstandard; return the number of records.

    Raises:
        ExportError: pyarrow is not installed.
    """
    arrow = load_for_export("pyarrow", "parquet")
    parquet = load_for_export("pyarrow.parquet", "parquet")
    types = {
        ColumnType.BOOLEAN: arrow.bool_(),
        ColumnType.INTEGER: arrow.int64(),
        ColumnType.NUMBER: arrow.float64(),
        ColumnType.DATE: arrow.date32(),
        ColumnType.DATETIME: arrow.timestamp("us"),
        ColumnType.UTC_DATETIME: arrow.timestamp("us", tz="UTC"),
        ColumnType.TEXT: arrow.string(),
    }
    schema = arrow.schema([(column.name, types[column.type]) for column in columns])
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in in_groups(records, GROUP_ROWS):
            arrays = [
                arrow.array([column.cell(record) for record in group], type=types[column.type])
                for column in columns
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            count += len(group)
    return count


def write_xlsx(
    file: IO[bytes], columns: Sequence[Column], records: Iterable[Record], sheet: str
) -> tuple[int, Sequence[str]]:
    """Write a spreadsheet with one sheet: a header, then a row for each record.

    Text stays text: no formula, no link. Times with a zone are in UTC, because a spreadsheet has no zones.

    Returns:
        The number of records, and warnings about shortened texts.

    Raises:
        ExportError: XlsxWriter is not installed, or there are more rows or columns than a sheet has.
    """
    xlsxwriter = load_for_export("xlsxwriter", "xlsx")
    if len(columns) > EXCEL_COLUMNS:
        raise ExportError(
            f"{len(columns):,} columns do not fit into a sheet ({EXCEL_COLUMNS:,}); use Parquet"
        )
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(file, {"constant_memory": True, "remove_timezone": True, **plain})
    # The same rows make the same file.
    book.set_properties({"created": datetime(2000, 1, 1)})  # noqa: DTZ001 - a spreadsheet has no zones
    try:
        count, shortened = _fill(book, book.add_worksheet(_sheet_name(sheet)), columns, records)
    except BaseException:
        with suppress(Exception):
            book.close()  # its temporary files
        raise
    book.close()
    if not shortened:
        return count, ()
    longest = f"{EXCEL_CHARACTERS:,} characters, the limit of a spreadsheet"
    return count, [f"{shortened:,} texts were cut to {longest}; other formats keep them whole"]


def _fill(book: Any, page: Any, columns: Sequence[Column], records: Iterable[Record]) -> tuple[int, int]:  # noqa: ANN401 - of xlsxwriter
    """Write header and rows; return how many rows, and how many texts were cut."""
    bold = book.add_format({"bold": True})
    day, moment = (book.add_format({"num_format": form}) for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"))
    formats = {ColumnType.DATE: day, ColumnType.DATETIME: moment, ColumnType.UTC_DATETIME: moment}
    for place, column in enumerate(columns):
        page.write_string(0, place, column.name[:EXCEL_CHARACTERS], bold)
    page.freeze_panes(1, 0)
    count = shortened = 0
    for record in records:
        count += 1
        if count >= EXCEL_ROWS:
            raise ExportError(f"a sheet has {EXCEL_ROWS - 1:,} rows, and more are needed; use Parquet or CSV")
        for place, column in enumerate(columns):
            cell = column.cell(record)
            shortened += isinstance(cell, str) and len(cell) > EXCEL_CHARACTERS
            _write_cell(page, (count, place), cell, formats.get(column.type))
    if columns:
        page.autofilter(0, 0, count, len(columns) - 1)
    return count, shortened


def _write_cell(page: Any, place: tuple[int, int], cell: Cell, form: Any) -> None:  # noqa: ANN401 - of xlsxwriter
    if cell is None:
        return
    if isinstance(cell, bool):
        page.write_boolean(*place, cell)
    elif isinstance(cell, int) and abs(cell) > EXACT:  # it would be rounded
        page.write_string(*place, str(cell))
    elif isinstance(cell, int | float):
        page.write_number(*place, cell)
    elif isinstance(cell, str):
        page.write_string(*place, cell[:EXCEL_CHARACTERS])
    elif cell.year < 1900:  # before the calendar of spreadsheets
        page.write_string(*place, cell.isoformat())
    else:
        page.write_datetime(*place, cell, form)


def _sheet_name(name: str) -> str:
    return "".join("_" if character in "[]:*?/\\'" else character for character in name)[:31] or "rows"
