"""From example values of a few rows to the list that they are rows of."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.wrappers.building.columns import (
    LIKELY,
    RowColumn,
    attribute_column,
    columns_at,
    columns_of,
    likeness_of,
    ways_to_place,
    write_row_locators,
)
from agentic.core.wrappers.building.examples import Example, Row
from agentic.core.wrappers.building.expressions import form_of, label_in
from agentic.core.wrappers.building.matching import ExampleMatch, matches, reading_of
from agentic.core.wrappers.building.naming import is_price
from agentic.core.wrappers.building.offers import (
    MAX_OFFERED_ROWS,
    Offer,
    OfferedField,
    OfferKind,
    offer_of,
    write_item_selector,
)
from agentic.core.wrappers.building.rows import row_groups
from agentic.core.wrappers.building.spans import Spans, find_spans
from agentic.core.wrappers.locators import LocatorKind
from agentic.core.wrappers.selecting import SelectorIndex
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.words import plain, words_of

MAX_MATCHES = 200
_TRIED = 8
_ROWS = 3
_FIELDS = 2
_ENOUGH = 2
_BY_FORM = 0.85
_BY_LABEL = 1.1
"""Likeness of parts that are found by their form, or by the label that they begin with."""

Places = Mapping[str, Sequence[ExampleMatch]]


class FoundRows(NamedTuple):
    """The list that examples are rows of.

    Attributes:
        offer: The list, with the fields that were found in its rows.
        missing: Fields whose values are not in these rows.
        places: Which row of the list each example is.
    """

    offer: Offer
    missing: tuple[str, ...]
    places: tuple[int, ...]


class _Shown(NamedTuple):
    """An example of a field: the row that it is in, the elements that may hold it, and the value."""

    place: int
    matches: Sequence[ExampleMatch]
    value: Example


class _Try(NamedTuple):
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


class _Columns(NamedTuple):
    """The columns of rows, and the same with equal parts as lists."""

    plain: Sequence[RowColumn]
    lists: Sequence[RowColumn]


class _Group(NamedTuple):
    """Rows, which of them the examples are, and the fields that all of these have."""

    rows: tuple[int, ...]
    places: tuple[int, ...]
    located: tuple[str, ...]


def find_rows(index: SelectorIndex, examples: Sequence[Row]) -> FoundRows | None:
    """Return the list of a page whose rows hold the values of examples; None if the values are in no list.

    Args:
        index: The page.
        examples: Field -> value, for each row that is known.
    """
    best = _best(index, examples)
    if best is not None and not best.missing:
        return best
    for spans in find_spans(index.tree):
        found = _spanned(index, spans, examples)
        if found is not None and (best is None or len(found.missing) < len(best.missing)):
            best = found
    return best


def _spanned(index: SelectorIndex, spans: Spans, examples: Sequence[Row]) -> FoundRows | None:
    """Return rows that reach from one element to the next."""
    items = write_item_selector(index, spans.heads)
    known = [{name: _matches(spans.tree, value) for name, value in row.items()} for row in examples]
    group = _located(spans.tree, spans.rows, known)
    if items is None or group is None:
        return None
    found = _found(SelectorIndex(spans.tree), group, known, examples)
    if found is None:
        return None
    offer = replace(found.offer, items=items, rows=spans.heads, kind=OfferKind.LIST, reaches_next=True)
    return found._replace(offer=offer)


def _best(index: SelectorIndex, examples: Sequence[Row]) -> FoundRows | None:
    tree = index.tree
    known = [{name: _matches(tree, value) for name, value in row.items()} for row in examples]
    groups = [one for rows in row_groups(tree) if (one := _located(tree, rows, known)) is not None]
    groups.sort(key=lambda one: (-len(one.located), -len(one.rows), one.rows[0]))
    best: FoundRows | None = None
    for group in groups[:_TRIED]:
        found = _found(index, group, known, examples)
        if found is not None and (best is None or len(found.missing) < len(best.missing)):
            best = found
            if not found.missing:
                break
    return best


def are_rows(found: FoundRows, index: SelectorIndex, examples: Sequence[Row]) -> bool:
    """Return whether examples are rows of a list rather than fields of the page's own record.

    Two or more rows are a list. One row is, if it has two fields or more, its list has three rows or more,
    and not all of its values stand outside of the list, too; or if its other values are not on the page.
    """
    if len(examples) > 1:
        return True
    if found.missing and not any(_matches(index.tree, examples[0][name]) for name in found.missing):
        return bool(found.offer.link)  # the rest is on the page of the row
    is_short = found.offer.count < _ROWS or len(found.offer.fields) < _FIELDS
    if is_short or _are_labels(index.tree, found.offer.rows):
        return False
    inside = [name for name in examples[0] if any(one.name == name for one in found.offer.fields)]
    rows = found.offer.rows
    if found.offer.reaches_next:
        rows = (index.tree.parents[rows[0]],)
    lists = [rows, *_like(index.tree, rows, examples[0])]
    return not all(_is_elsewhere(index.tree, lists, examples[0][name]) for name in inside)


def _like(tree: PageTree, rows: Sequence[int], example: Row) -> Iterator[tuple[int, ...]]:
    """Yield the rows of other lists that show two values of an example in a row: promoted ones, as a rule."""
    known = [{name: _matches(tree, value) for name, value in example.items()}]
    for group in row_groups(tree):
        if tree.tags[group[0]] == tree.tags[rows[0]] and group[0] not in rows:
            there = _located(tree, group, known)
            if there is not None and len(there.located) >= _FIELDS:
                yield group


def _is_elsewhere(tree: PageTree, lists: Sequence[Sequence[int]], value: Example) -> bool:
    """Return whether a value stands outside of the rows of lists, too."""
    places = [match.numbers[0] for match in _matches(tree, value) if match.reading != "part"]
    return any(
        _is_leaf(tree, place) and all(_row_of(tree, rows, place) is None for rows in lists)
        for place in places
    )


def _is_leaf(tree: PageTree, number: int) -> bool:
    return tree.ends[number] - number <= 3


def _are_labels(tree: PageTree, rows: Sequence[int]) -> bool:
    """Return whether rows are names and values of one record, such as `th` and `td`."""
    pairs = [[tree.tags[child] for child in tree.children[row]] for row in rows]
    return all(len(pair) == 2 and pair[0] in ("th", "dt") for pair in pairs)


def _matches(tree: PageTree, value: Example) -> list[ExampleMatch]:
    values = [value] if isinstance(value, str) else list(value)
    return [match for one in values for match in islice(matches(tree, one), MAX_MATCHES)]


def _row_of(tree: PageTree, rows: Sequence[int], number: int) -> int | None:
    """Return the place of the row that an element is in."""
    place = bisect_right(rows, number) - 1
    return place if place >= 0 and number < tree.ends[rows[place]] else None


def _located(tree: PageTree, rows: tuple[int, ...], known: Sequence[Places]) -> _Group | None:
    """Return which rows of a group the examples are, with the fields that all of them have there."""
    taken: list[int] = []
    absent: set[str] = set()
    for fields in known:
        names: dict[int, set[str]] = {}
        for name, found in fields.items():
            for match in found:
                place = _row_of(tree, rows, match.numbers[0])
                if place is not None and place not in taken:
                    names.setdefault(place, set()).add(name)
        if not names:
            return None
        best = max(names, key=lambda place: _fullness(place, names, absent))
        taken.append(best)
        absent |= {name for name in fields if name not in names[best]}
    located = {name for fields in known for name in fields} - absent
    return _Group(rows, tuple(taken), tuple(sorted(located))) if located else None


def _fullness(place: int, names: Mapping[int, set[str]], absent: set[str]) -> tuple[float, ...]:
    """Return how sure a row is the one of an example: by the values in it; rare values say more."""
    here = names[place]
    spread = Counter(name for there in names.values() for name in there)
    return len(here - absent), len(here), sum(1 / spread[name] for name in here), -place


def _found(
    index: SelectorIndex, group: _Group, known: Sequence[Places], examples: Sequence[Row]
) -> FoundRows | None:
    rows = group.rows[: max(MAX_OFFERED_ROWS, *(place + 1 for place in group.places))]
    columns = _columns(index.tree, rows)
    names = dict.fromkeys(name for row in examples for name in row)
    fields: list[OfferedField] = []
    for name in names:
        shown = [
            _Shown(group.places[number], known[number][name], row[name])
            for number, row in enumerate(examples)
            if name in row
        ]
        is_list = any(not isinstance(one.value, str) for one in shown)
        if is_list:
            field = _field(index, rows, [_Try(one) for one in columns.lists if one.is_list], name, shown)
        else:
            field = _of_values(index, rows, columns, name, shown)
            field = field or _of_two_kinds(index, rows, columns, name, shown)
        if field is not None:
            fields.append(field)
    offer = offer_of(index, group.rows, columns.plain, fields) if fields else None
    if offer is None:
        return None
    known_names = {one.name for one in fields}
    return FoundRows(offer, tuple(name for name in names if name not in known_names), group.places)


def _columns(tree: PageTree, rows: Sequence[int]) -> _Columns:
    return _Columns(columns_of(tree, rows), columns_of(tree, rows, has_lists=True))


def _of_values(
    index: SelectorIndex,
    rows: Sequence[int],
    columns: _Columns,
    name: str,
    shown: Sequence[_Shown],
) -> OfferedField | None:
    several = [one for one in columns.lists if one.is_list]
    return _field(index, rows, _tries(index, rows, columns.plain, several, shown), name, shown)


def _of_two_kinds(
    index: SelectorIndex,
    rows: Sequence[int],
    columns: _Columns,
    name: str,
    shown: Sequence[_Shown],
) -> OfferedField | None:
    """Return a field that some rows have at another place, such as a price that is reduced."""
    for start in shown:
        first = _of_values(index, rows, columns, name, [start])
        if first is None:
            continue
        left = [at for at, row in enumerate(first.texts) if not (row and row[0])]
        here = [one for one in shown if one.place not in left]
        others = [one._replace(place=left.index(one.place)) for one in shown if one.place in left]
        some = [rows[at] for at in left]
        first = _of_values(index, rows, columns, name, here)
        if first is None or not others:
            continue
        second = _of_values(index, some, _columns(index.tree, some), name, others)
        if second is not None and (second.attr, second.type, second.regex) == (
            first.attr,
            first.type,
            first.regex,
        ):
            texts = list(first.texts)
            for at, row in zip(left, second.texts, strict=True):
                texts[at] = row
            places = (*first.locators[:_ENOUGH], *second.locators[:_ENOUGH])
            return replace(first, locators=places, texts=tuple(texts))
    return None


def _field(
    index: SelectorIndex, rows: Sequence[int], tries: Iterable[_Try], name: str, shown: Sequence[_Shown]
) -> OfferedField | None:
    """Return the column that holds the examples of a field."""
    best: tuple[tuple[float, ...], OfferedField] | None = None
    for order, tried in enumerate(tries):
        column = tried.column
        held = [match for one in shown if (match := _held(column, one)) is not None]
        if len(held) < len(shown):
            continue
        found = [column.texts[one.place] for one in shown]
        kind, regex = reading_of(
            held[0], [one.value for one in shown], found, column.texts, label=tried.label
        )
        if held[0].reading == "part" and not regex:
            continue  # the value stands somewhere in a longer text
        regex = regex or tried.form or _before_more(column, shown)
        among = tried.among if regex else None
        locators = write_row_locators(
            index, rows, column, frozenset(words_of(name)), among=among, regex=regex
        )
        if not locators:
            continue
        field = OfferedField(
            name, column.label, tuple(locators), column.texts, column.is_list, column.attr, kind, regex
        )
        count = sum(one.kind is LocatorKind.CSS for one in locators)
        is_likely = tried.likeness >= LIKELY
        score = (held[0].score, is_likely, column.filled, min(count, _ENOUGH), tried.likeness, count, -order)
        if best is None or score > best[0]:
            best = score, field
    return None if best is None else best[1]


def _tries(
    index: SelectorIndex,
    rows: Sequence[int],
    columns: Sequence[RowColumn],
    several: Sequence[RowColumn],
    shown: Sequence[_Shown],
) -> Iterator[_Try]:
    """Yield the columns that may hold the examples of a field with one value in a row."""
    among = {number for column in several for parts in column.parts for number in parts}
    known = set(among)
    for column in columns:
        numbers = {number for parts in column.parts for number in parts}
        known |= numbers
        if not numbers <= among:
            yield _Try(column)
    for column in _attributes(index, rows, shown):
        yield _Try(column)
    outer = [
        match.numbers[0]
        for match in shown[0].matches
        if not match.attr and match.reading != "part" and match.numbers[0] not in (*known, *rows)
        if _row_of(index.tree, rows, match.numbers[0]) == shown[0].place
    ]
    for column in (*several, *columns_at(index.tree, rows, outer)):
        yield from _variants(index.tree, column, shown[0])


def _variants(tree: PageTree, column: RowColumn, shown: _Shown) -> Iterator[_Try]:
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
            yield _Try(chosen, likeness=likeness_of(chosen.texts, column.parts))
        formed, form = _of_form(tree, column, match)
        if form:
            yield _Try(formed, column, form=form, likeness=_BY_FORM)
        if label := label_in(tree.text(match.numbers[0])):
            fitting = [
                [part for part in row if tree.text(part).startswith(label)][:1] for row in column.parts
            ]
            yield _Try(_chosen(column, fitting), column, label=label, likeness=_BY_LABEL)


def _before_more(column: RowColumn, shown: Sequence[_Shown]) -> str:
    """Return an expression for a price that a second one follows in some rows; empty if none does."""
    texts = [row[0] for row in column.texts if row]
    first = column.texts[shown[0].place][0] if column.texts[shown[0].place] else ""
    form = form_of(first) if is_price(first) and not (column.attr or column.is_list) else ""
    if not form:
        return ""
    whole, ahead = compile_linear(form), compile_linear(f"({form.removesuffix('$')})(?:\\s|$)")
    if all(map(whole.search, texts)) or not all(map(ahead.search, texts)):
        return ""
    return ahead.pattern


def _attributes(index: SelectorIndex, rows: Sequence[int], shown: Sequence[_Shown]) -> list[RowColumn]:
    """Return columns of the attributes that hold the first example."""
    tree, first = index.tree, shown[0]
    inside = (one for one in first.matches if one.attr and _row_of(tree, rows, one.numbers[0]) == first.place)
    wanted = dict.fromkeys((tree.tags[one.numbers[0]], one.attr) for one in inside)
    return [attribute_column(tree, rows, tag, attr) for tag, attr in wanted]


def _held(column: RowColumn, shown: _Shown) -> ExampleMatch | None:
    """Return the best match of an example among the parts of a column in its row."""
    parts = set(column.parts[shown.place])
    if not isinstance(shown.value, str):
        texts = set(map(plain, column.texts[shown.place]))
        if not all(plain(one) in texts for one in shown.value):
            return None
    fitting = [one for one in shown.matches if one.numbers[0] in parts and one.attr == column.attr]
    return max(fitting, key=lambda one: one.score, default=None)


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
