"""Records as text: JSON lines, which lose nothing, and CSV, for programs that need it."""

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
    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"

    @property
    def is_text(self) -> bool:
        """Whether it is text, which gzip may compress and which standard output may take."""
        return self in (ExportFormat.JSONL, ExportFormat.CSV)


def write_jsonl(file: TextSink, records: Iterable[Record]) -> int:
    """Write one JSON object per line; return how many."""
    count = 0
    for record in records:
        file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=str) + "\n")
        count += 1
    return count


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
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return f"'{text}" if excel_safe and text.startswith(_FORMULA) else text
