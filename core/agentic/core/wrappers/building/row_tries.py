"""The columns that may hold the examples of a field: by name, by attribute, by form or label, by counting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.wrappers.building.columns import (
    RowColumn,
    attribute_column,
    columns_at,
    counted_columns,
    likeness_of,
    ways_to_place,
)
from agentic.core.wrappers.building.expressions import form_of, label_in
from agentic.core.wrappers.building.matching import Example, ExampleMatch
from agentic.core.wrappers.building.naming import type_of
from agentic.core.wrappers.selecting import SelectorIndex
from agentic.core.wrappers.tree import PageTree

_TRIED = 8
_BY_FORM = 0.85
_BY_LABEL = 1.1
"""Likeness of parts that are found by their form, or by the label that they begin with."""


class ShownExample(NamedTuple):
    """An example of a field: the row that it is in, the elements that may hold it, and the value."""

    place: int
    matches: Sequence[ExampleMatch]
    value: Example


class Try(NamedTuple):
    """A column that may be a field.

    Attributes:
        column: Its parts.
        among: Equal parts that an expression picks these from.
        form: Expression for the texts of the parts that are picked.
        label: The beginning of these texts.
        likeness: How like the values of unusual rows are to the others, from 0 to 1; more with a label.
    """

    column: RowColumn
    among: RowColumn | None = None
    form: str = ""
    label: str = ""
    likeness: float = 1.0


def tries_of(
    index: SelectorIndex,
    rows: Sequence[int],
    columns: Sequence[RowColumn],
    several: Sequence[RowColumn],
    shown: Sequence[ShownExample],
) -> Iterator[Try]:
    """Yield the columns that may hold the examples of a field with one value in a row."""
    among = {number for column in several for parts in column.parts for number in parts}
    known = set(among)
    for column in columns:
        numbers = {number for parts in column.parts for number in parts}
        known |= numbers
        if not numbers <= among:
            yield Try(column)
    for column in _attributes(index, rows, shown):
        yield Try(column)
    outer = [number for number in _holding(index.tree, rows, shown[0]) if number not in known]
    for column in (*several, *columns_at(index.tree, rows, outer)):
        yield from _variants(index.tree, column, shown[0])


def other_tries(index: SelectorIndex, rows: Sequence[int], shown: Sequence[ShownExample]) -> Iterator[Try]:
    """Yield columns by the place of the first example alone, as rows have other markup at it."""
    here = _holding(index.tree, rows, shown[0])[:_TRIED]
    for column in columns_at(index.tree, rows, here):
        yield from _variants(index.tree, column, shown[0])
    for column in counted_columns(index.tree, rows, here):
        values = [column.texts[one.place][0] for one in shown if column.texts[one.place]]
        texts = [row[0] for row in column.texts if row]
        if type_of(values) == type_of(texts):
            yield Try(column)


def _holding(tree: PageTree, rows: Sequence[int], shown: ShownExample) -> list[int]:
    """Return the elements in the row of an example whose text is the value."""
    return [
        match.numbers[0]
        for match in shown.matches
        if not match.attr and match.reading != "part" and match.numbers[0] not in rows
        if row_of(tree, rows, match.numbers[0]) == shown.place
    ]


def _variants(tree: PageTree, column: RowColumn, shown: ShownExample) -> Iterator[Try]:
    """Yield columns that take one of several equal parts of each row, and have the value of an example.

    Rows may lack some of the parts: they are counted from the first, from the last, or have a form or label.
    """
    if column.attr:
        return
    parts = column.parts[shown.place]
    for match in shown.matches:
        if match.attr or match.numbers[0] not in parts:
            continue
        place = parts.index(match.numbers[0])
        for way in dict.fromkeys(ways_to_place(column.parts, place, len(parts))):
            chosen = _chosen(column, way)
            yield Try(chosen, likeness=likeness_of(chosen.texts, column.parts))
        formed, form = _of_form(tree, column, match)
        if form:
            yield Try(formed, column, form=form, likeness=_BY_FORM)
        label = label_in(tree.text(match.numbers[0])) if match.reading != "same" else ""
        if label:
            fitting = [
                [part for part in row if tree.text(part).startswith(label)][:1] for row in column.parts
            ]
            yield Try(_chosen(column, fitting), column, label=label, likeness=_BY_LABEL)


def row_of(tree: PageTree, rows: Sequence[int], number: int) -> int | None:
    """Return the place of the row that an element is in."""
    place = bisect_right(rows, number) - 1
    return place if place >= 0 and number < tree.ends[rows[place]] else None


def _attributes(index: SelectorIndex, rows: Sequence[int], shown: Sequence[ShownExample]) -> list[RowColumn]:
    """Return columns of the attributes that hold the first example."""
    tree, first = index.tree, shown[0]
    inside = (one for one in first.matches if one.attr and row_of(tree, rows, one.numbers[0]) == first.place)
    wanted = dict.fromkeys((tree.tags[one.numbers[0]], one.attr) for one in inside)
    return [attribute_column(tree, rows, tag, attr) for tag, attr in wanted]


def _of_form(tree: PageTree, column: RowColumn, match: ExampleMatch) -> tuple[RowColumn, str]:
    """Return the first part of each row whose text has the form of an example, and an expression for it.

    Rows have several equal parts, and not all of them: `<span>$5</span><span>2026-01-01</span>`.
    """
    form = form_of(tree.text(match.numbers[0]))
    if not form:
        return column, ""
    fitting = compile_linear(form)
    picked = [
        tuple(part for part, shown in zip(parts, texts, strict=True) if fitting.fullmatch(shown))[:1]
        for parts, texts in zip(column.parts, column.texts, strict=True)
    ]
    return _chosen(column, picked), form


def _chosen(column: RowColumn, picked: Sequence[Sequence[int]]) -> RowColumn:
    texts = [
        tuple(shown for part, shown in zip(parts, texts, strict=True) if part in there)
        for there, parts, texts in zip(picked, column.parts, column.texts, strict=True)
    ]
    return replace(column, parts=tuple(map(tuple, picked)), texts=tuple(texts), is_list=False)
