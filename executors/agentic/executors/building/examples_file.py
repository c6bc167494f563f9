"""Example rows: from options of a command, and from a CSV file."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentic.executors.commands.shared.options import OptionError

URL = "url"
MAX_ROWS = 20
"""Rows of a file that are used; three are enough for most sites."""

Value = str | list[str]


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """Values of one record, as a person sees them.

    Attributes:
        url: The page that shows them; empty for the page that is built from.
        values: Field -> its text, or its texts for a list; an empty text where the page lacks it.
    """

    url: str
    values: Mapping[str, Value]


def read_examples_file(path: Path) -> list[ExampleRow]:
    """Return the rows of a CSV file with a column ``url``; an empty cell says that the page lacks the field.

    A cell that is a JSON list of texts is a list.

    Raises:
        OptionError: The file cannot be read, or a row lacks its url.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = list(islice(csv.DictReader(text.splitlines(keepends=True)), MAX_ROWS))
    except OSError as exc:
        raise OptionError(f"--examples: {path} cannot be read ({exc.strerror}); check the path") from None
    except (UnicodeDecodeError, csv.Error) as exc:
        raise OptionError(f"--examples: {path} cannot be read as CSV in UTF-8: {exc}") from None
    found = [_row(path, number, row) for number, row in enumerate(rows, 2)]
    if not any(any(row.values.values()) for row in found):
        raise OptionError(
            f"--examples: {path} has no example; it needs a head with url and the fields, and a row of values"
        )
    return [row for row in found if any(row.values.values())]


def _row(path: Path, number: int, row: Mapping[str | None, object]) -> ExampleRow:
    if None in row:
        raise OptionError(f"--examples: line {number} of {path} has more cells than the head")
    cells = {str(name).strip(): str(value or "").strip() for name, value in row.items()}
    url = cells.pop(URL, "")
    if not url.startswith(("http://", "https://")):
        raise OptionError(f"--examples: line {number} of {path} has no url; add a column url with the page")
    return ExampleRow(url, {name: _cell(text) for name, text in cells.items() if name})


def _cell(text: str) -> Value:
    if text.startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            return text
        if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
            return found
    return text


def read_examples(given: Sequence[str]) -> list[ExampleRow]:
    """Return the rows that options ``NAME=VALUE`` give: one, or several if all fields have several values.

    Raises:
        OptionError: One of them is not ``NAME=VALUE``.
    """
    values: dict[str, list[str]] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not (mark and name.strip() and value.strip()):
            raise OptionError(f"--example takes NAME=VALUE, such as price=12.50; {one!r} is not")
        values.setdefault(name.strip(), []).append(value.strip())
    if not values:
        return []
    return [ExampleRow("", {name: found[0] if len(found) == 1 else found for name, found in values.items()})]


def as_rows(row: ExampleRow) -> list[ExampleRow]:
    """Return a row of lists as rows of single values, if each field has equally many; else nothing."""
    counts = {len(value) if isinstance(value, list) else 1 for value in row.values.values()}
    if len(row.values) < 2 or len(counts) > 1 or counts == {1}:
        return []
    columns = {name: value for name, value in row.values.items() if isinstance(value, list)}
    return [
        ExampleRow(row.url, {name: values[place] for name, values in columns.items()})
        for place in range(counts.pop())
    ]
