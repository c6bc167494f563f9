"""From example values of a few rows to the list that they are rows of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.wrappers.building.columns import (
    LIKELY,
    RowColumn,
    columns_of,
    write_row_locators,
)
from agentic.core.wrappers.building.expressions import digits_of, form_of
from agentic.core.wrappers.building.matching import Example, ExampleMatch, Row, matches, reading_of
from agentic.core.wrappers.building.naming import amount_in, day_of, is_price, named_share, type_of
from agentic.core.wrappers.building.offers import (
    MAX_OFFERED_ROWS,
    Offer,
    OfferedField,
    OfferKind,
    head_of,
    heads_of,
    is_side,
    offer_of,
    write_item_selector,
)
from agentic.core.wrappers.building.row_tries import ShownExample, Try, other_tries, row_of, tries_of
from agentic.core.wrappers.building.rows import row_groups
from agentic.core.wrappers.building.spans import Spans, find_spans
from agentic.core.wrappers.locators import LocatorKind
from agentic.core.wrappers.selecting import SelectorIndex
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.words import plain, words_of

MAX_MATCHES = 200
MAX_WHOLE_MATCHES = 4_000
_TRIED = 8
_ROWS = 3
_FIELDS = 2
_ENOUGH = 2
_GENERAL = frozenset({"link", "url", "text", "value"})
"""Words without a meaning of their own: most values of that kind have them around."""

_SURE = 3
"""First parts of a score: with these, places are equally good."""

_OF_FORM = 0.6
_OF_FORM_IN_CELLS = 0.3
"""Share of a column's texts that have the type of the examples from which it is taken whole."""

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
    best: FoundRows | None = None
    for is_far in (False, True):
        found = _best_of(index, row_groups(tree, is_far=is_far), known, examples)
        if best is None or (found is not None and len(found.missing) < len(best.missing)):
            best = found
        if best is not None and not best.missing:
            break
    return best


def _best_of(
    index: SelectorIndex, rows: Iterable[tuple[int, ...]], known: Sequence[Places], examples: Sequence[Row]
) -> FoundRows | None:
    tree = index.tree
    groups = [one for group in rows if (one := _located(tree, group, known)) is not None]
    groups.sort(key=lambda one: (-len(one.located), is_side(tree, one.rows[0]), -len(one.rows), one.rows[0]))
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

    Two or more rows are a list. One row is, if it has two fields or more, its list has three rows or more
    with these fields, and not all of its values stand outside of the list, too; or if its other values are
    not on the page.
    """
    if len(examples) > 1:
        return True
    elsewhere = [name for name in found.missing if _matches(index.tree, examples[0][name])]
    if found.missing and not elsewhere:
        return bool(found.offer.link)  # the rest is on the page of the row
    if len(elsewhere) == len(found.missing) >= len(found.offer.fields) or _is_alone(found):
        return False
    is_short = found.offer.count < _ROWS or len(found.offer.fields) < _FIELDS
    if is_short or _are_labels(index.tree, found.offer.rows):
        return False
    inside = [name for name in examples[0] if any(one.name == name for one in found.offer.fields)]
    rows = found.offer.rows
    if found.offer.reaches_next:
        rows = (index.tree.parents[rows[0]],)
    lists = [rows, *_like(index.tree, rows, examples[0])]
    return not all(_is_elsewhere(index.tree, lists, examples[0][name]) for name in inside)


def _is_alone(found: FoundRows) -> bool:
    """Return whether most fields are in no other row: parts of one record that look alike."""
    single = [one for one in found.offer.fields if sum(map(any, one.texts)) < _FIELDS]
    return 2 * len(single) > len(found.offer.fields)


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
        _is_leaf(tree, place) and all(row_of(tree, rows, place) is None for rows in lists) for place in places
    )


def _is_leaf(tree: PageTree, number: int) -> bool:
    return tree.ends[number] - number <= 3


def _are_labels(tree: PageTree, rows: Sequence[int]) -> bool:
    """Return whether rows are names and values of one record, such as `th` and `td`."""
    pairs = [[tree.tags[child] for child in tree.children[row]] for row in rows]
    return all(len(pair) == 2 and pair[0] in ("th", "dt") for pair in pairs)


def _matches(tree: PageTree, value: Example) -> list[ExampleMatch]:
    values = [value] if isinstance(value, str) else list(value)
    return [match for one in values for match in _likely(matches(tree, one))]


def _likely(found: Iterable[ExampleMatch]) -> Iterator[ExampleMatch]:
    """Yield matches, the first few of those that are a part of a longer text: a `2` is in many of them."""
    parts = 0
    for match in islice(found, MAX_WHOLE_MATCHES):
        parts += match.reading == "part"
        if match.reading != "part" or parts <= MAX_MATCHES:
            yield match


def _located(tree: PageTree, rows: tuple[int, ...], known: Sequence[Places]) -> _Group | None:
    """Return which rows of a group the examples are, with the fields that all of them have there."""
    taken: list[int] = []
    absent: set[str] = set()
    for fields in known:
        names: dict[int, set[str]] = {}
        for name, found in fields.items():
            for match in found:
                place = row_of(tree, rows, match.numbers[0])
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
            ShownExample(group.places[number], known[number][name], row[name])
            for number, row in enumerate(examples)
            if name in row
        ]
        is_list = any(not isinstance(one.value, str) for one in shown)
        if is_list:
            field = _field(index, rows, [Try(one) for one in columns.lists if one.is_list], name, shown)
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
    shown: Sequence[ShownExample],
) -> OfferedField | None:
    several = [one for one in columns.lists if one.is_list]
    found = _field(index, rows, tries_of(index, rows, columns.plain, several, shown), name, shown)
    return found or _field(index, rows, other_tries(index, rows, shown), name, shown)


def _of_two_kinds(
    index: SelectorIndex,
    rows: Sequence[int],
    columns: _Columns,
    name: str,
    shown: Sequence[ShownExample],
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
    index: SelectorIndex, rows: Sequence[int], tries: Iterable[Try], name: str, shown: Sequence[ShownExample]
) -> OfferedField | None:
    """Return the column that holds the examples of a field."""
    known: list[tuple[tuple[float, ...], OfferedField]] = []
    words, heads = frozenset(words_of(name)), heads_of(index.tree, rows)
    for order, tried in enumerate(tries):
        column = tried.column
        held = [match for one in shown if (match := _held(column, one)) is not None]
        if len(held) < len(shown):
            continue
        found = [column.texts[one.place] for one in shown]
        worst = min(held, key=lambda one: one.score)
        kind, regex = reading_of(worst, [one.value for one in shown], found, column.texts, label=tried.label)
        if worst.reading == "part" and not regex:
            continue  # the value stands somewhere in a longer text
        regex = regex or tried.form or _before_more(column, shown)
        among = tried.among if regex else None
        locators = write_row_locators(index, rows, column, words, among=among, regex=regex)
        if not locators:
            continue
        field = OfferedField(
            name, column.label, tuple(locators), column.texts, column.is_list, column.attr, kind, regex
        )
        count = sum(one.kind is LocatorKind.CSS for one in locators)
        by_form = _OF_FORM_IN_CELLS if index.tree.tags[rows[0]] == "tr" else _OF_FORM
        of_type = by_form if tried.form else 1.0 if regex else _share_of_type(column, shown)
        named = _named(index.tree, column, shown, words, rows, heads)
        score = (
            worst.score,
            tried.likeness >= LIKELY,
            named,
            min(count, _ENOUGH),
            of_type,
            column.filled,
            tried.likeness,
            count,
            -order,
        )
        known.append((score, field))
    if not known:
        return None
    best, chosen = max(known, key=itemgetter(0))
    rivals = (field for score, field in known if score[:_SURE] == best[:_SURE])
    return replace(chosen, is_unsure=any(_differ(chosen, field) for field in rivals))


def _differ(one: OfferedField, other: OfferedField) -> bool:
    """Return whether two fields have different values in rows that have both."""
    values = [[_read(field, row[0]) if row else "" for row in field.texts] for field in (one, other)]
    return any(a != b for a, b in zip(*values, strict=True) if a and b)


def _read(field: OfferedField, text: str) -> str:
    """Return the value of a field in a text, in a form that may be compared."""
    found = compile_linear(field.regex).search(text) if field.regex else None
    taken = found.groups[0] or "" if found is not None and found.groups else text
    if field.type in ("number", "integer"):
        return "/".join(digits_of(amount_in(taken)))
    return (day_of(taken) if field.type == "date" else None) or plain(taken)


def _share_of_type(column: RowColumn, shown: Sequence[ShownExample]) -> float:
    """Return the share of a column's texts that are an amount, a price or a date, as all examples are."""
    kind = type_of([text for one in shown for text in column.texts[one.place]])
    texts = [text for row in column.texts for text in row if text]
    return sum(type_of([text]) == kind for text in texts) / len(texts) if kind != "string" else 1.0


def _named(
    tree: PageTree,
    column: RowColumn,
    shown: Sequence[ShownExample],
    words: frozenset[str],
    rows: Sequence[int],
    heads: Mapping[int, str],
) -> float:
    """Return how far the names around the examples in a column speak for a field."""
    parts = [column.parts[one.place][0] for one in shown if column.parts[one.place]]
    words -= _GENERAL
    shares = [named_share(tree, part, words, head=head_of(tree, part, rows, heads)) for part in parts]
    return min(shares, default=0.0)


def _before_more(column: RowColumn, shown: Sequence[ShownExample]) -> str:
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


def _held(column: RowColumn, shown: ShownExample) -> ExampleMatch | None:
    """Return the best match of an example among the parts of a column in its row."""
    parts = set(column.parts[shown.place])
    if not isinstance(shown.value, str):
        texts = set(map(plain, column.texts[shown.place]))
        if not all(plain(one) in texts for one in shown.value):
            return None
    fitting = [one for one in shown.matches if one.numbers[0] in parts and one.attr == column.attr]
    return max(fitting, key=lambda one: one.score, default=None)
