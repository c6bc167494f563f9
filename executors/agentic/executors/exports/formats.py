"""Records as text: JSON lines, which lose nothing, and JSON or CSV, for programs that need it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from agentic.executors.exports.rows import Record

BYTE_ORDER_MARK = "\ufeff"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class TextSink(Protocol):
    """Receives text."""

    def write(self, text: str, /) -> object:
        """Write ``text``."""
        ...


class ExportFormat(StrEnum):
    """A format of records."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"

    @property
    def is_text(self) -> bool:
        """Whether it is text, which gzip may compress and which standard output may take."""
        return self in (ExportFormat.JSONL, ExportFormat.JSON, ExportFormat.CSV)


def write_jsonl(file: TextSink, records: Iterable[Record]) -> int:
    """Write one JSON object per line; return how many."""
    count = 0
    for record in records:
        file.write(_json(record) + "\n")
        count += 1
    return count


def write_json_array(file: TextSink, records: Iterable[Record]) -> int:
    """Write one JSON array of objects, an object per line; return how many."""
    count = 0
    file.write("[")
    for record in records:
        file.write(f"{',' if count else ''}\n{_json(record)}")
        count += 1
    file.write("\n]\n")
    return count


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def write_csv(
    file: TextSink, fields: Sequence[str], records: Iterable[Record], *, excel_safe: bool = False
) -> int:
    """Write a header line and one line per record (RFC 4180); return the number of records.

    None is an empty cell, lists and mappings are JSON text.

    Args:
        file: Must not change line endings.
        fields: The columns; a record's other fields are omitted.
        records: The rows.
        excel_safe: For spreadsheets: begin with a byte order mark, without which Excel does not recognize
            UTF-8, and put an apostrophe before text that a spreadsheet would run as a formula.
    """
    if excel_safe:
        file.write(BYTE_ORDER_MARK)
    writer = csv.writer(file)
    writer.writerow([_cell(field, excel_safe=excel_safe) for field in fields])
    count = 0
    for record in records:
        writer.writerow([_cell(record.get(field), excel_safe=excel_safe) for field in fields])
        count += 1
    return count


def _cell(value: object, *, excel_safe: bool) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return value
        case str():
            text = value
        case _:
            text = _json(value)
    return f"'{text}" if excel_safe and text.startswith(_FORMULA) else text
