"""The cases of an evaluation: from files, rows and Python."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agentic.core.evals.errors import CasesError
from agentic.core.reading.data_text import DataTextError, read_data, read_json
from agentic.core.types import JSONValue

MAX_CASES = 10_000
"""Cases times repeats of an evaluation: all are one list in the graph."""

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A run stores all inputs in its graph: as a list, one by one, and with the results."""

MAX_ID_CHARS = 200

FIELDS = ("id", "input", "expected", "metadata")
CASE_ENDINGS = (".jsonl", ".json", ".yaml", ".yml", ".csv")


class EvalCase(BaseModel):
    """A case: an input of the task, and the answer that is expected."""

    __wire_name__ = "agentic.evals.EvalCase"

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(default="", max_length=MAX_ID_CHARS, description="Unique; ``1``, ``2``, ... if omitted.")
    input: JSONValue = Field(description="A text, or anything else that the task takes.")
    expected: JSONValue = Field(default=None, description="For evaluators that compare.")
    metadata: dict[str, JSONValue] = Field(default_factory=dict, description="For your own use.")

    @field_validator("id", mode="before")
    @classmethod
    def _as_text(cls, given: object) -> object:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given

    @field_validator("id")
    @classmethod
    def _is_printable(cls, given: str) -> str:
        if not given.isprintable():
            raise ValueError("an id has no line breaks and no control characters")
        return given


class EvalTry(BaseModel):
    """One of the tries of a case."""

    __wire_name__ = "agentic.evals.EvalTry"

    model_config = ConfigDict(extra="forbid", frozen=True)

    case: EvalCase
    repeat: int = 1


class CaseColumns(BaseModel):
    """The columns of a file or a table that become the parts of cases."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str | None = None
    input: str | tuple[str, ...] | None = Field(
        default=None, description="One column; a list of columns becomes a mapping."
    )
    expected: str | tuple[str, ...] | None = Field(default=None, description="As ``input``.")
    metadata: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether a column is named."""
        return self != CaseColumns()


def read_cases(path: Path, columns: CaseColumns | None = None) -> list[EvalCase]:
    """Read the cases of a JSONL, JSON, YAML or CSV file; blocks.

    Args:
        path: The file.
        columns: The columns of its rows; without them rows have ``id``, ``input``, ``expected`` and
            ``metadata``. Other columns of a CSV file become metadata then.

    Raises:
        CasesError: It cannot be read, or a row is not a case.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CasesError(f"{path} has more than {MAX_FILE_BYTES // 1024**2} MiB; split it")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text in UTF-8"
        raise CasesError(f"{path} cannot be read ({reason}); check the path") from None
    return cases_of_rows(_rows_of(text, path), str(path), columns)


def cases_of_rows(
    rows: Iterable[tuple[str, object]], source: str, columns: CaseColumns | None = None
) -> list[EvalCase]:
    """Return rows as cases with ids.

    Args:
        rows: Each with its place, such as ``line 3``.
        source: Names them in errors.
        columns: The columns to read.

    Raises:
        CasesError: A row is not a case, two cases have one id, or their number is 0 or too high.
    """
    found: list[EvalCase] = []
    for place, row in rows:
        if len(found) == MAX_CASES:
            raise CasesError(f"{source} has more than {MAX_CASES:,} cases; split it")
        found.append(_case(row, f"{source}, {place}", columns))
    return checked_cases(found, source)


def checked_cases(cases: Sequence[EvalCase], source: str) -> list[EvalCase]:
    """Return cases, numbered where they have no id.

    Raises:
        CasesError: Two cases have one id, or the list is empty.
    """
    if not cases:
        raise CasesError(f"{source} has no cases; add at least one")
    numbered = [
        case if case.id else case.model_copy(update={"id": str(number)})
        for number, case in enumerate(cases, 1)
    ]
    twice = [name for name, count in Counter(case.id for case in numbered).items() if count > 1]
    if twice:
        raise CasesError(f"{source}: two cases have the id {twice[0]!r}; ids are unique")
    return numbered


def tries_of(cases: Sequence[EvalCase], repeats: int) -> list[EvalTry]:
    """Return all tries, case by case.

    Raises:
        CasesError: There are too many.
    """
    if len(cases) * repeats > MAX_CASES:
        raise CasesError(
            f"{len(cases):,} cases with {repeats} repeats are more than {MAX_CASES:,}; lower repeats, or "
            "split the cases"
        )
    return [EvalTry(case=case, repeat=repeat) for case in cases for repeat in range(1, repeats + 1)]


def _rows_of(text: str, path: Path) -> Iterator[tuple[str, object]]:
    match path.suffix.lower():
        case ".jsonl":
            yield from _lines_of(text, path)
        case ".csv":
            yield from _csv_rows(text, path)
        case ".json" | ".yaml" | ".yml":
            yield from _list_of(text, path)
        case ending:
            known = ", ".join(CASE_ENDINGS)
            raise CasesError(f"{path}: cases are read from {known} files, not from {ending or 'this one'}")


def _lines_of(text: str, path: Path) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", read_json(line)
        except ValueError as exc:
            raise CasesError(f"{path}, line {number} is not JSON: {exc}") from None


def _csv_rows(text: str, path: Path) -> Iterator[tuple[str, object]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise CasesError(f"{path}, line {reader.line_num}: it has more or fewer cells than the head")
            yield f"line {reader.line_num}", dict(row)
    except csv.Error as exc:
        raise CasesError(f"{path}, line {reader.line_num} is not CSV: {exc}") from None


def _list_of(text: str, path: Path) -> Iterator[tuple[str, object]]:
    try:
        data = read_data(text).data
    except DataTextError as exc:
        raise CasesError(f"{path} cannot be read as YAML or JSON: {exc}") from None
    if isinstance(data, Mapping) and isinstance(data.get("cases"), list):
        data = data["cases"]
    if not isinstance(data, list):
        raise CasesError(f"{path} is not a list of cases; begin each with '- input: ...'")
    yield from ((f"case {number}", one) for number, one in enumerate(data, 1))


def _case(row: object, place: str, columns: CaseColumns | None) -> EvalCase:
    if not isinstance(row, Mapping):
        raise CasesError(f"{place} is a {type(row).__name__}; a case is a mapping with 'input'")
    try:
        # Through JSON: YAML has dates, and a database has decimals.
        plain = cast("dict[str, JSONValue]", json.loads(json.dumps(dict(row), default=str)))
        if columns is not None and columns.is_given:
            return EvalCase.model_validate(_chosen(plain, columns, place))
        return EvalCase.model_validate(_named(plain))
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"]))
        known = f" (a case has {', '.join(FIELDS)})" if fault["type"] == "extra_forbidden" else ""
        raise CasesError(f"{place}: {where}: {fault['msg']}{known}") from None


def _named(row: dict[str, JSONValue]) -> dict[str, JSONValue]:
    """Return a row with the columns of cases; texts of others become metadata, as CSV files have no maps."""
    others = {name: value for name, value in row.items() if name not in FIELDS}
    if not others or not all(isinstance(value, str) for value in row.values()):
        return row
    given = row.get("metadata")
    more: dict[str, JSONValue] = {"metadata": given} if given else {}
    return {**{name: row[name] for name in FIELDS if name in row}, "metadata": {**others, **more}}


def _chosen(row: dict[str, JSONValue], columns: CaseColumns, place: str) -> dict[str, JSONValue]:
    def at(name: str) -> JSONValue:
        if name not in row:
            raise CasesError(f"{place} has no column {name!r} (it has {', '.join(row) or 'none'})")
        return row[name]

    def part(names: str | tuple[str, ...]) -> JSONValue:
        return at(names) if isinstance(names, str) else {name: at(name) for name in names}

    used = {columns.id, columns.expected, *(columns.metadata)}
    rest = tuple(name for name in row if name not in used)
    found: dict[str, JSONValue] = {"input": part(rest if columns.input is None else columns.input)}
    if columns.id is not None:
        name = at(columns.id)
        found["id"] = name if isinstance(name, str) else json.dumps(name)
    if columns.expected is not None:
        found["expected"] = part(columns.expected)
    return {**found, "metadata": {name: at(name) for name in columns.metadata}}


class EvalDataset(BaseModel):
    """Cases in Python.

    Raises:
        CasesError: Two cases have one id, or the list is empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: tuple[EvalCase, ...]

    @field_validator("cases")
    @classmethod
    def _checked(cls, cases: tuple[EvalCase, ...]) -> tuple[EvalCase, ...]:
        return tuple(checked_cases(cases, "the dataset"))

    @classmethod
    def read(cls, path: str | Path, columns: CaseColumns | None = None) -> Self:
        """Read a file of YAML, JSON, JSONL or CSV; ``columns`` says what its columns mean."""
        return cls(cases=tuple(read_cases(Path(path), columns)))
