"""Finds rows by prefix, and pages of ordered rows, through an index on any database."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    JSON,
    ColumnClause,
    ColumnElement,
    FromClause,
    Select,
    SQLColumnExpression,
    Text,
    and_,
    any_,
    column,
    false,
    func,
    literal,
    or_,
    select,
)

TimeT = TypeVar("TimeT")

_FOLLOWING = {**{str(digit): str(digit + 1) for digit in range(9)}, "9": "a"} | {
    chr(first + number): chr(first + number + 1) for first in map(ord, "aA") for number in range(25)
}
"""The next character in the order of bytes and of every database collation."""


def range_of(prefix: str) -> tuple[str, str] | None:
    """Return the range of texts with this prefix; None if they may be anywhere.

    The end is exclusive, and the range may contain other texts: if a prefix ends in a character that
    languages sort differently, only the part before it counts.
    """
    known = prefix
    while known and known[-1] not in _FOLLOWING:
        known = known[:-1]
    return (known, known[:-1] + _FOLLOWING[known[-1]]) if known else None


def begins_with(text: SQLColumnExpression[str], prefix: str) -> ColumnElement[bool]:
    """Return the condition that a text begins with ``prefix``; nothing begins with an empty one.

    All texts begin with an empty prefix, and commands cancel and remove the matches: most likely a variable
    of a script was empty.

    ``LIKE`` alone reads a whole table: on SQLite it ignores case, and on PostgreSQL the index may be in
    language order. The range is never too small; ``LIKE`` then selects exactly.
    """
    if not prefix:
        return false()
    exactly = text.startswith(prefix, autoescape=True)
    found = range_of(prefix)
    return exactly if found is None else and_(text >= found[0], text < found[1], exactly)


def is_within(text: SQLColumnExpression[str], run_id: str) -> ColumnElement[bool]:
    """Return the condition that a run is within another: its id begins with that id and a slash."""
    return begins_with(text, f"{run_id}/")


def follows(
    time: SQLColumnExpression[TimeT], last_time: TimeT, name: SQLColumnExpression[str], last_name: str
) -> ColumnElement[bool]:
    """Return the condition that a row follows the last one of a page: newest first, equal times by name.

    ``time <= ...`` stands apart, because no database finds a range inside an ``OR``.
    """
    return and_(time <= last_time, or_(time < last_time, name > last_name))


def as_pairs(given: ColumnElement[str], first: str, second: str, *, is_sqlite: bool) -> FromClause:
    """Return the names and texts of a JSON object as a table of two columns, to read or join."""
    function = func.json_each if is_sqlite else func.json_each_text
    pairs = function(given if is_sqlite else given.cast(JSON)).table_valued(
        column("key", Text), column("value", Text), name="given"
    )
    return select(pairs.c.key.label(first), pairs.c.value.label(second)).subquery("pairs")


def as_table(columns: Sequence[ColumnClause[Any]], rows: Sequence[Mapping[str, object]]) -> FromClause:
    """Return rows with these columns as a PostgreSQL table: one value for any number of rows.

    The driver takes three times as long for single rows, and five times as long for arrays of texts.
    """
    given = literal(json.dumps(rows), Text).cast(JSON(none_as_null=True))
    return func.json_to_recordset(given).table_valued(*columns, name="given").render_derived(with_types=True)


def is_among(text: ColumnElement[str], given: ColumnElement[str], *, is_sqlite: bool) -> ColumnElement[bool]:
    """Return the condition that a text is in a JSON list."""
    if is_sqlite:
        return text.in_(select(func.json_each(given).table_valued("value", name="texts").c.value))
    return is_any(text, select(func.json_array_elements_text(given.cast(JSON)).column_valued("texts")))


def is_any(value: ColumnElement[Any], query: Select[Any]) -> ColumnElement[bool]:
    """Return the condition that a value is in the result of a PostgreSQL query.

    As an array, the values are found in one walk through the index, from the least to the greatest. ``IN``
    would be a join with one walk per value and a sort of the rows afterwards: 26 ms instead of two.
    """
    return value == any_(func.array(query.scalar_subquery(), type_=ARRAY(value.type)))
