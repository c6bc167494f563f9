"""From example values to locators: where the fields of a page are, without a model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.types import JSONValue
from agentic.core.wrappers.building.expressions import expression_of, is_amount_text, label_in
from agentic.core.wrappers.building.matching import ExampleMatch, fits, matches, reading_of
from agentic.core.wrappers.building.naming import named_share
from agentic.core.wrappers.candidates import MAX_ELEMENTS, MAX_TEXT_CHARS
from agentic.core.wrappers.data import DataValue, read_data_values
from agentic.core.wrappers.fingerprints import Fingerprint
from agentic.core.wrappers.locators import (
    ENOUGH,
    MAX_LOCATORS,
    Locator,
    LocatorKind,
    Place,
    counted_from_body,
    unnamed_locators,
    write_locators,
)
from agentic.core.wrappers.ranking import PageFacts, aims_of, rank
from agentic.core.wrappers.selecting import SelectorIndex, cost_of
from agentic.core.wrappers.tree import LABEL_CHARS, PageTree
from agentic.core.wrappers.values import Kind, shape_of
from agentic.core.wrappers.words import plain, words_of
from agentic.core.wrappers.wrapper import Wrapper

_TRIED = 10
NO_NAME = 20.0
"""Cost of a way that no name in the markup supports: by the text before the elements, or by counting."""

TERM = 3.0
"""The same, where the text before them is a term of a list or the head of a row."""

_DATA_LOCATORS = 2
_HALF = 2
"""Places of each of two layouts."""

Example = str | Sequence[str]
Row = Mapping[str, Example]


@dataclass(frozen=True, slots=True)
class BuiltField:
    """A field that was found by its examples.

    Attributes:
        name: Of the field.
        is_list: Whether several values were given for it.
        locators: Its places, of different kinds, the best first.
        texts: Its texts on each page, in their order; none where a page lacks it.
        label: The text that names it on the first page; may be empty.
        attr: Attribute that holds the value; empty for the text.
        type: Type of a rule that reads the texts as in the examples.
        regex: Takes the value out of a longer text; empty if the whole text is the value.
        wrong: Pages on which it gives something else than their example.
    """

    name: str
    is_list: bool
    locators: tuple[Locator, ...]
    texts: tuple[tuple[str, ...], ...]
    label: str
    attr: str = ""
    type: str = "string"
    regex: str = ""
    wrong: tuple[int, ...] = ()

    @property
    def held(self) -> int:
        """On how many pages it was found."""
        return sum(map(bool, self.texts)) - len(self.wrong)


def find_examples(pages: Sequence[PageTree], rows: Sequence[Row]) -> dict[str, BuiltField | None]:
    """Return where the values of examples are; None for those that no place gives on most of their pages.

    Args:
        pages: The pages of the examples first, then others of their kind.
        rows: Field -> its value on the page of the same place; several values for a list, and an empty text
            where the page lacks it.
    """
    names = dict.fromkeys(name for row in rows for name, value in row.items() if value)
    facts = [_Page(page, dict(row)) for page, row in zip(pages, _padded(rows, len(pages)), strict=True)]
    wrappers = {
        name: _wrapper(name, [row[name] for row in _plain_rows(rows) if row.get(name)]) for name in names
    }
    return {name: _built(name, wrappers, facts) for name in names}


def wrapper_of_values(
    name: str, values: Sequence[JSONValue], *, kind: Kind = Kind.TEXT, locators: Sequence[Locator] = ()
) -> Wrapper:
    """Return what values alone say of a field: its words, and their shape.

    Args:
        name: Of the field.
        values: One for each row; lists for a field with many values on a page.
        kind: What its texts mean.
        locators: Where it was.
    """
    lists = [value for value in values if isinstance(value, list)]
    texts = [str(one) for value in values for one in (value if isinstance(value, list) else [value])] or [""]
    count = sum(map(len, lists)) / len(lists) if lists else 1
    shape = Fingerprint(
        samples=1,
        shape=shape_of(texts),
        length=math.log1p(sum(map(len, texts)) / len(texts)),
        count=math.log1p(count),
        in_title=0.5,
    )
    return Wrapper(name, kind, bool(lists), locators=tuple(locators), fingerprint=shape)


def is_shown(page: PageTree, value: str) -> bool:
    """Return whether a page has a value: in a text, an attribute, its JSON-LD, `<meta>` or JSON."""
    wanted = plain(value)
    in_data = (text for one in read_data_values(page.document, page.url) for text in one.values)
    return any(True for _ in matches(page, value)) or any(plain(text) == wanted for text in in_data)


class _Page:
    """A page, and the examples of its record."""

    def __init__(self, tree: PageTree, row: Row) -> None:
        self.tree = tree
        self.row = row
        known: dict[str, JSONValue] = {
            name: value if isinstance(value, str) else list(value) for name, value in row.items() if value
        }
        self.facts = PageFacts(tree, known)

    @property
    def index(self) -> SelectorIndex:
        return self.facts.index

    @cached_property
    def data(self) -> Sequence[DataValue]:
        return read_data_values(self.tree.document, self.tree.url)


class _Try(NamedTuple):
    """A way to the elements of a field, and the elements it gives on each page."""

    match: ExampleMatch
    hits: tuple[tuple[int, ...], ...]
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    label: str = ""


def _padded(rows: Sequence[Row], count: int) -> list[Row]:
    return [*rows, *({} for _ in range(count - len(rows)))][:count]


def _wrapper(name: str, values: Sequence[JSONValue]) -> Wrapper:
    is_amount = all(isinstance(value, str) and is_amount_text(value) for value in values)
    return wrapper_of_values(name, values, kind=Kind.NUMBER if is_amount else Kind.TEXT)


def _plain_rows(rows: Sequence[Row]) -> list[dict[str, JSONValue]]:
    return [
        {name: value if isinstance(value, str) else list(value) for name, value in row.items()}
        for row in rows
    ]


def _built(name: str, wrappers: Mapping[str, Wrapper], pages: Sequence[_Page]) -> BuiltField | None:
    wrapper = wrappers[name]
    words = aims_of(wrappers)[name].words
    shown = [place for place, page in enumerate(pages) if page.row.get(name)]
    of_data = _of_data(name, pages, shown, is_list=wrapper.is_list)
    best = _best(name, wrappers, pages, shown, words)
    if best is None:
        return _built_of_data(name, of_data, pages)
    tree = pages[shown[0]].tree
    places = [Place(page.index, hits) for page, hits in zip(pages, best.hits, strict=True) if hits]
    attr = best.match.attr
    texts = tuple(
        tuple(_value(page.tree, hit, attr) for hit in (hits if wrapper.is_list else hits[:1]))
        for page, hits in zip(pages, best.hits, strict=True)
    )
    locators = _locators(best, pages, places, words, is_list=wrapper.is_list)
    if not locators:
        return _built_of_data(name, of_data, pages)
    other = _for_other_pages(name, wrappers, pages, best, shown)
    if other is not None:
        there = [Place(page.index, hits) for page, hits in zip(pages, other.hits, strict=True) if hits]
        more = _locators(other, pages, there, words, is_list=wrapper.is_list)
        locators = [*locators[:_HALF], *more[:_HALF]]
        texts = tuple(
            shown_texts or tuple(_value(page.tree, hit, attr) for hit in hits)
            for shown_texts, page, hits in zip(texts, pages, other.hits, strict=True)
        )
    data = [] if attr else of_data[:_DATA_LOCATORS]
    kept = (*locators[: MAX_LOCATORS - len(data)], *(one.locator for one in data))
    examples = [pages[place].row[name] for place in best.right]
    kind, regex = reading_of(
        best.match, examples, [texts[place] for place in best.right], texts, label=best.label
    )
    if best.label:
        kept = (*kept, *_by_expression(places, regex))[:MAX_LOCATORS]
    label = tree.label(best.hits[shown[0]][0]) if best.hits[shown[0]] else ""
    return BuiltField(name, wrapper.is_list, kept, texts, label, attr, kind, regex, best.wrong)


def _for_other_pages(
    name: str, wrappers: Mapping[str, Wrapper], pages: Sequence[_Page], best: _Try, shown: Sequence[int]
) -> _Try | None:
    """Return a way for the examples that the best one finds nothing for, as sites have more than one layout.

    It is tried where the best one finds nothing, and gives nothing else on the pages of that one.
    """
    left = [place for place in shown if not best.hits[place]]
    if not left or best.wrong:
        return None
    is_list = wrappers[name].is_list
    other = _best(name, wrappers, pages, left, aims_of(wrappers)[name].words)
    if other is None or (other.match.attr, other.match.reading) != (best.match.attr, best.match.reading):
        return None
    fitting = all(
        not other.hits[place]
        or fits(other.match, pages[place].tree, other.hits[place], pages[place].row[name], is_list=is_list)
        for place in best.right
    )
    return other if fitting else None


def _value(tree: PageTree, number: int, attr: str) -> str:
    from agentic.core.wrappers.addresses import value_at

    return value_at(tree, number, attr)


def _best(
    name: str,
    wrappers: Mapping[str, Wrapper],
    pages: Sequence[_Page],
    shown: Sequence[int],
    words: frozenset[str],
) -> _Try | None:
    """Return the way that gives the examples of most pages, and something on most of the others."""
    wrapper = wrappers[name]
    best: tuple[tuple[float, ...], _Try] | None = None
    for place in shown[:3]:
        for match in _matches(name, wrappers, pages[place]):
            for cost, hits, label in _ways(name, match, pages, place, words, is_list=wrapper.is_list):
                tried = _judged(name, match, hits, pages, shown, is_list=wrapper.is_list)._replace(
                    label=label
                )
                score = _rank_of(tried, pages, cost)
                if best is None or score > best[0]:
                    best = score, tried
            if best is not None and best[1].match is match and _is_sure(*best, shown):
                return best[1]
    return best[1] if best is not None and _is_enough(best[1], shown) else None


def _is_sure(score: tuple[float, ...], tried: _Try, shown: Sequence[int]) -> bool:
    *_, is_named, _ = score
    return len(tried.right) == len(shown) and not tried.wrong and all(tried.hits) and bool(is_named)


def _is_enough(tried: _Try, shown: Sequence[int]) -> bool:
    """Return whether a way gives the examples of most pages, or of one of two and nothing on the other."""
    if len(shown) == 2:
        return bool(tried.right) and not tried.wrong
    return 2 * len(tried.right) > len(shown)


def _rank_of(tried: _Try, pages: Sequence[_Page], cost: float) -> tuple[float, ...]:
    texts = [
        tuple(page.tree.text(hit) for hit in hits)
        for page, hits in zip(pages, tried.hits, strict=True)
        if hits
    ]
    varies = len(set(texts)) > 1 or len(texts) < 2
    return (
        len(tried.right) - len(tried.wrong),
        tried.match.reading != "part" or bool(tried.label),  # a part of a longer text is the last choice
        sum(map(bool, tried.hits)),
        varies,
        cost < NO_NAME,
        tried.match.score - 0.2 * cost,
    )


def _matches(name: str, wrappers: Mapping[str, Wrapper], page: _Page) -> list[ExampleMatch]:
    """Return the elements of a page that may be the example, the likeliest first."""
    example = page.row[name]
    if not isinstance(example, str):
        aim = aims_of(wrappers)[name]
        wanted = [plain(one) for one in example]
        ranked = rank(page.facts, name, aim, wrappers, {})
        holding = [one for one in ranked if set(wanted) <= set(map(plain, one.candidate.texts))]
        grouped = [ExampleMatch(one.candidate.numbers, "", "same", one.score) for one in holding[:_TRIED]]
        return grouped or list(_scattered(page.tree, set(wanted)))
    found = list(islice(matches(page.tree, example), 400))
    if not found:
        return []
    aim = aims_of(wrappers)[name]
    scores = {one.candidate.numbers[0]: one.score for one in rank(page.facts, name, aim, wrappers, {})}
    least = min(scores.values(), default=0.0)
    words = frozenset(words_of(name))
    found = [
        one._replace(
            score=one.score
            + scores.get(one.numbers[0], least)
            + named_share(page.tree, one.numbers[0], words)
        )
        for one in found
    ]
    ordered = sorted(found, key=lambda one: (-one.score, one.numbers[0]))
    return ordered[:_TRIED]


def _scattered(tree: PageTree, wanted: set[str]) -> Iterator[ExampleMatch]:
    """Yield lists whose items are in several parts of a page: elements of one name, class and parent."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number in range(min(len(tree), MAX_ELEMENTS)):
        if 0 < tree.length(number) <= MAX_TEXT_CHARS:
            parent = tree.tags[tree.parents[number]] if tree.parents[number] >= 0 else ""
            alike.setdefault((tree.tags[number], parent, *_classes(tree, number)[:1]), []).append(number)
    for numbers in alike.values():
        first = [number for number in numbers if tree.plain(number) in wanted]
        if len({tree.plain(number) for number in first}) < len(wanted):
            continue
        home = next(one for one in tree.ancestors(first[0]) if tree.is_within(first[-1], one))
        there = tuple(number for number in numbers if tree.is_within(number, home) and tree.text(number))
        yield ExampleMatch(there, "", "same", 0.0)


def _classes(tree: PageTree, number: int) -> Sequence[str]:
    given = tree.elements[number].attrs.get("class")
    return given.split() if isinstance(given, str) else tuple(given or ())


def _ways(
    name: str,
    match: ExampleMatch,
    pages: Sequence[_Page],
    place: int,
    words: frozenset[str],
    *,
    is_list: bool,
) -> Iterator[tuple[float, tuple[tuple[int, ...], ...], str]]:
    """Yield how soon each way to the elements of a page may break, its elements on all pages, its label."""
    page = pages[place]
    if label := _own_label(name, match, page):
        locator = _starting_with(page.tree, match.numbers[0], label)
        yield TERM, tuple(tuple(locator.find(one.tree)[:1]) for one in pages), label
    for selection in page.index.selections(match.numbers, words, is_list=is_list):
        yield (
            cost_of(selection, words),
            tuple(
                match.numbers if one is page else tuple(one.index.select(selection)[: None if is_list else 1])
                for one in pages
            ),
            "",
        )
    there = Place(page.index, match.numbers)
    unnamed = unnamed_locators(there, is_list=is_list)
    for locator in (*unnamed, *counted_from_body(there, is_list=is_list)):
        if _is_by_value(locator, pages):
            continue
        hits = [locator.find(one.tree) for one in pages]
        if hits[place][: len(match.numbers)] == list(match.numbers):
            cost = TERM if locator.path.startswith(("//dt[", "//th[")) else NO_NAME
            yield cost, tuple(tuple(there if is_list else there[:1]) for there in hits), ""


def _own_label(name: str, match: ExampleMatch, page: _Page) -> str:
    """Return the label that stands before a value in the same element, such as ``Author:``; else nothing."""
    example = page.row[name]
    if match.attr or match.reading not in ("part", "number", "date") or not isinstance(example, str):
        return ""
    return label_in(page.tree.text(match.numbers[0]))


def _starting_with(tree: PageTree, number: int, label: str) -> Locator:
    return Locator(LocatorKind.XPATH, f'//{tree.tags[number]}[starts-with(normalize-space(), "{label}")]')


def _by_expression(places: Sequence[Place], regex: str) -> list[Locator]:
    """Return a selector of elements among which an expression with a label takes the right one."""
    tree, number = places[0].index.tree, places[0].numbers[0]
    parent = tree.parents[number]
    locator = Locator(LocatorKind.CSS, f"{tree.tags[parent]} > {tree.tags[number]}")
    fitting = compile_linear(regex)
    for place in places:
        texts = ((hit, place.index.tree.text(hit)) for hit in locator.find(place.index.tree))
        if next((hit for hit, text in texts if fitting.search(text)), None) != place.numbers[0]:
            return []
    return [locator]


def _judged(
    name: str,
    match: ExampleMatch,
    hits: Sequence[tuple[int, ...]],
    pages: Sequence[_Page],
    shown: Sequence[int],
    *,
    is_list: bool,
) -> _Try:
    filled = tuple(
        tuple(hit for hit in there if _value(page.tree, hit, match.attr))
        for page, there in zip(pages, hits, strict=True)
    )
    right = tuple(
        place
        for place in shown
        if fits(match, pages[place].tree, filled[place], pages[place].row[name], is_list=is_list)
    )
    if match.reading == "part" and not _expression(name, match, filled, pages, right):
        right = ()
    lacking = [place for place, page in enumerate(pages) if page.row.get(name) == ""]
    wrong = tuple(place for place in (*shown, *lacking) if place not in right and filled[place])
    return _Try(match, filled, right, wrong)


def _expression(
    name: str,
    match: ExampleMatch,
    hits: Sequence[tuple[int, ...]],
    pages: Sequence[_Page],
    right: Sequence[int],
) -> str:
    """Return an expression for the examples in the longer texts of elements; empty if none fits."""
    texts = [
        _value(page.tree, there[0], match.attr) for page, there in zip(pages, hits, strict=True) if there
    ]
    pairs = [(str(pages[at].row[name]), _value(pages[at].tree, hits[at][0], match.attr)) for at in right]
    return expression_of(pairs, texts) if pairs else ""


def _locators(
    best: _Try, pages: Sequence[_Page], places: Sequence[Place], words: frozenset[str], *, is_list: bool
) -> list[Locator]:
    """Return locators that give these elements, and nothing else on pages without them."""
    lacking = [page for page, hits in zip(pages, best.hits, strict=True) if not hits]
    found = [one for one in write_locators(places, words, is_list=is_list) if not _is_by_value(one, pages)]
    if lacking:
        found = [one for one in found if not any(one.find(page.tree) for page in lacking)] or found[:1]
    if best.match.attr:
        found = [one for one in found if one.kind is LocatorKind.CSS]
    if best.label:  # a selector that counts would take another element of a page without this one
        found = [_starting_with(places[0].index.tree, places[0].numbers[0], best.label)]
        return [one for one in found if _gives(one, pages, best.hits)]
    if len(found) < ENOUGH and not is_list and not best.match.attr:
        labelled = (one for one in _by_label(places[0]) if not _is_by_value(one, pages))
        more = (one for one in labelled if one not in found)
        found += [one for one in more if _gives(one, pages, best.hits)][: ENOUGH - len(found)]
    if len(found) < ENOUGH:
        last = (one for one in counted_from_body(places[0], is_list=is_list) if one not in found)
        found += [one for one in last if _gives(one, pages, best.hits, is_list=is_list)]
    return found


def _by_label(place: Place) -> Iterator[Locator]:
    """Yield expressions for an element by the text before it that depend on no name of an element."""
    tree, number = place.index.tree, place.numbers[0]
    siblings = tree.children[tree.parents[number]] if tree.parents[number] >= 0 else ()
    ahead = [one for one in siblings if one < number][-1:]
    label = tree.text(ahead[0]) if ahead and tree.length(ahead[0]) <= 2 * LABEL_CHARS else ""
    if 1 < len(label) <= LABEL_CHARS and '"' not in label and not any(map(str.isdigit, label)):
        start = f'//*[normalize-space()="{label}"]'
        yield Locator(LocatorKind.XPATH, f"{start}/following-sibling::{tree.tags[number]}[1]")
        yield Locator(LocatorKind.XPATH, f"{start}/following-sibling::*[1]")


def _is_by_value(locator: Locator, pages: Sequence[_Page]) -> bool:
    """Return whether a locator depends on a text that is the value of another field."""
    if locator.kind is not LocatorKind.XPATH:
        return False
    values = {value for page in pages for value in page.row.values() if isinstance(value, str)}
    return any(f'="{value}"]' in locator.path for value in values if value)


def _gives(
    locator: Locator, pages: Sequence[_Page], hits: Sequence[tuple[int, ...]], *, is_list: bool = False
) -> bool:
    end = None if is_list else 1
    return all(
        tuple(locator.find(page.tree)[:end]) == there[:end] for page, there in zip(pages, hits, strict=True)
    )


def _of_data(name: str, pages: Sequence[_Page], shown: Sequence[int], *, is_list: bool) -> list[DataValue]:
    """Return the places in data that hold the examples of all their pages, and something on the others."""
    if is_list:
        return []
    others = [{one.locator: one.values for one in page.data} for page in pages]
    found = []
    for one in pages[shown[0]].data:
        there = [page.get(one.locator, ()) for page in others]
        wanted = [plain(str(pages[place].row[name])) for place in shown]
        if all(there) and [plain(there[place][0]) for place in shown] == wanted:
            found.append(one)
    return found


def _built_of_data(name: str, of_data: Sequence[DataValue], pages: Sequence[_Page]) -> BuiltField | None:
    if not of_data:
        return None
    locators = tuple(one.locator for one in of_data[:MAX_LOCATORS])
    texts = tuple(
        next((one.values[:1] for one in page.data if one.locator == locators[0]), ()) for page in pages
    )
    return BuiltField(name, False, locators, texts, "")
