"""From example values to locators: where the fields of a page are, without a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.core.linear import compile_linear
from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import value_at
from agentic.core.wrappers.building.expressions import is_amount_text
from agentic.core.wrappers.building.field_tries import (
    ExamplePage,
    FieldTry,
    best_try,
    is_by_value,
    is_whole,
    values_of,
)
from agentic.core.wrappers.building.labels import BESIDE, NO_NAME, by_label, cost_of_label, starting_with
from agentic.core.wrappers.building.matching import Row, fits, matches, reading_of
from agentic.core.wrappers.building.naming import PRICE_WORDS, is_price, named_share
from agentic.core.wrappers.building.pieces import FoundTexts, find_pieces
from agentic.core.wrappers.data import DataValue, read_data_values
from agentic.core.wrappers.fingerprints import Fingerprint
from agentic.core.wrappers.locators import (
    ENOUGH,
    MAX_LOCATORS,
    Locator,
    LocatorKind,
    Place,
    counted_from_body,
    write_locators,
)
from agentic.core.wrappers.ranking import aims_of
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind, shape_of
from agentic.core.wrappers.words import plain, words_of
from agentic.core.wrappers.wrapper import Wrapper

_CARD = "twitter:data"
_STRUCK = frozenset({"del", "s", "strike"})
_COUNTED = ":nth-of-type("
_DATA_LOCATORS = 2
_HALF = 2
"""Places of each of two layouts."""


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
    facts = [ExamplePage(page, dict(row)) for page, row in zip(pages, _padded(rows, len(pages)), strict=True)]
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


def _built(name: str, wrappers: Mapping[str, Wrapper], pages: Sequence[ExamplePage]) -> BuiltField | None:
    wrapper = wrappers[name]
    words = aims_of(wrappers)[name].words
    shown = [place for place, page in enumerate(pages) if page.row.get(name)]
    of_data = _of_data(name, pages, shown, is_list=wrapper.is_list)
    best = best_try(name, wrappers, pages, shown, words)
    is_named = best is not None and _is_named(best, pages[shown[0]], name)
    if not wrapper.is_list and (best is None or not is_named or not is_whole(best, shown)):
        pieces = find_pieces(
            [page.own_texts for page in pages], _examples_of(name, pages), words, values_of(pages)
        )
        if pieces is not None and _is_better(pieces, best, shown, is_named=is_named):
            return _built_of_pieces(name, pieces, of_data)
    if best is None:
        return _built_of_data(name, of_data, pages)
    tree = pages[shown[0]].tree
    places = [Place(page.index, hits) for page, hits in zip(pages, best.hits, strict=True) if hits]
    attr = best.match.attr
    texts = tuple(
        tuple(value_at(page.tree, hit, attr) for hit in (hits if wrapper.is_list else hits[:1]))
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
            shown_texts or tuple(value_at(page.tree, hit, attr) for hit in hits)
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


def _is_named(best: FieldTry, page: ExamplePage, name: str) -> bool:
    """Return whether words of a field are around its elements."""
    words, hits = frozenset(words_of(name)), best.hits
    return any(named_share(page.tree, there[0], words) > 0 for there in hits[:1] if there)


def _is_better(pieces: FoundTexts, best: FieldTry | None, shown: Sequence[int], *, is_named: bool) -> bool:
    """Return whether texts between elements are better places than an element that holds more."""
    is_enough = not pieces.wrong if len(shown) == 2 else 2 * len(pieces.right) > len(shown)
    if best is None or not is_enough:
        return is_enough
    gained = len(pieces.right) - len(pieces.wrong) - len(best.right) + len(best.wrong)
    is_exact = not pieces.is_part and (pieces.is_named or not is_whole(best, shown))
    return gained > 0 or (gained == 0 and is_exact and (pieces.is_named or not is_named))


def _built_of_pieces(name: str, pieces: FoundTexts, of_data: Sequence[DataValue]) -> BuiltField:
    data = (one.locator for one in of_data[:_DATA_LOCATORS])
    texts = tuple((text,) if text else () for text in pieces.texts)
    return BuiltField(
        name,
        False,
        (*pieces.locators, *data),
        texts,
        pieces.label,
        type=pieces.type,
        regex=pieces.regex,
        wrong=pieces.wrong,
    )


def _examples_of(name: str, pages: Sequence[ExamplePage]) -> list[str | None]:
    given = (page.row.get(name) for page in pages)
    return [example if isinstance(example, str) else None for example in given]


def _for_other_pages(
    name: str,
    wrappers: Mapping[str, Wrapper],
    pages: Sequence[ExamplePage],
    best: FieldTry,
    shown: Sequence[int],
) -> FieldTry | None:
    """Return a way for the examples that the best one finds nothing for, as sites have more than one layout.

    It is tried where the best one finds nothing, and gives nothing else on the pages of that one.
    """
    left = [place for place in shown if not best.hits[place]]
    if not left or best.wrong:
        return None
    is_list = wrappers[name].is_list
    other = best_try(name, wrappers, pages, left, aims_of(wrappers)[name].words)
    if other is None or (other.match.attr, other.match.reading) != (best.match.attr, best.match.reading):
        return None
    fitting = all(
        not other.hits[place]
        or fits(other.match, pages[place].tree, other.hits[place], pages[place].row[name], is_list=is_list)
        for place in best.right
    )
    return other if fitting else None


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


def _locators(
    best: FieldTry,
    pages: Sequence[ExamplePage],
    places: Sequence[Place],
    words: frozenset[str],
    *,
    is_list: bool,
) -> list[Locator]:
    """Return locators that give these elements, and nothing else on pages without them."""
    lacking = [page for page, hits in zip(pages, best.hits, strict=True) if not hits]
    found = [one for one in write_locators(places, words, is_list=is_list) if not is_by_value(one, pages)]
    if lacking:
        found = [one for one in found if not any(one.find(page.tree) for page in lacking)] or found[:1]
    if best.match.attr:
        found = [one for one in found if one.kind is LocatorKind.CSS]
    if not is_list and not best.match.attr:
        beside = (one for one in by_label(places[0], words) if not is_by_value(one, pages))
        found += [one for one in beside if one not in found and _gives(one, pages, best.hits)]
        found = _ordered(found, pages, words)
    if best.label:  # a selector that counts would take another element of a page without this one
        found = [starting_with(places[0].index.tree, places[0].numbers[0], best.label)]
        return [one for one in found if _gives(one, pages, best.hits)]
    if not is_list and not best.match.attr and _is_price_field(best, pages, words):
        found = [_without_struck(one, pages, best.hits) for one in found]
    if len(found) < ENOUGH:
        last = (one for one in counted_from_body(places[0], is_list=is_list) if one not in found)
        found += [one for one in last if _gives(one, pages, best.hits, is_list=is_list)]
    return found


def _is_price_field(best: FieldTry, pages: Sequence[ExamplePage], words: frozenset[str]) -> bool:
    """Return whether the texts of a field are prices, on a page with struck texts: of reduced prices."""
    texts = [page.tree.text(there[0]) for page, there in zip(pages, best.hits, strict=True) if there]
    is_money = not PRICE_WORDS.isdisjoint(words) or all(map(is_price, texts))
    return is_money and any(not _STRUCK.isdisjoint(page.tree.tags) for page in pages)


def _without_struck(
    locator: Locator, pages: Sequence[ExamplePage], hits: Sequence[tuple[int, ...]]
) -> Locator:
    """Return a selector that passes over struck elements: the price of before is the first one."""
    if locator.kind is not LocatorKind.CSS or _COUNTED in locator.path:
        return locator
    other = replace(locator, path=f"{locator.path}:not({', '.join(f'{tag} *' for tag in sorted(_STRUCK))})")
    return other if _gives(other, pages, hits) else locator


def _ordered(found: Sequence[Locator], pages: Sequence[ExamplePage], words: frozenset[str]) -> list[Locator]:
    """Return places that a page without the value lacks, too, and of the others as few as possible.

    The first of several elements, the next one behind a label, and a counted one are there on such a page,
    but have another value.
    """
    named = [one for one in found if BESIDE in one.path and cost_of_label(one, words) < NO_NAME]
    if not named:
        return list(found)
    sure = [one for one in found if one.kind is LocatorKind.CSS and _is_alone(one, pages, words)]
    others = [one for one in found if one not in named and one not in sure]
    return [*sure, *named, *others[: max(0, ENOUGH - len(sure) - len(named))]]


def _is_alone(locator: Locator, pages: Sequence[ExamplePage], words: frozenset[str]) -> bool:
    """Return whether a selector has the name of the field, or gives one element without counting."""
    if _COUNTED in locator.path:
        return False
    return not words.isdisjoint(words_of(locator.path)) or all(
        len(locator.find(page.tree)) <= 1 for page in pages
    )


def _gives(
    locator: Locator, pages: Sequence[ExamplePage], hits: Sequence[tuple[int, ...]], *, is_list: bool = False
) -> bool:
    end = None if is_list else 1
    return all(
        tuple(locator.find(page.tree)[:end]) == there[:end] for page, there in zip(pages, hits, strict=True)
    )


def _of_data(
    name: str, pages: Sequence[ExamplePage], shown: Sequence[int], *, is_list: bool
) -> list[DataValue]:
    """Return the places in data that hold the examples of all their pages, and something on the others."""
    if is_list:
        return []
    others = [{one.locator: one.values for one in page.data} for page in pages]
    found = []
    for one in pages[shown[0]].data:
        if one.locator.path.startswith(_CARD):  # its label says what it is, and pages differ in it
            continue
        there = [page.get(one.locator, ()) for page in others]
        wanted = [plain(str(pages[place].row[name])) for place in shown]
        if all(there) and [plain(there[place][0]) for place in shown] == wanted:
            found.append(one)
    return found


def _built_of_data(
    name: str, of_data: Sequence[DataValue], pages: Sequence[ExamplePage]
) -> BuiltField | None:
    if not of_data:
        return None
    locators = tuple(one.locator for one in of_data[:MAX_LOCATORS])
    texts = tuple(
        next((one.values[:1] for one in page.data if one.locator == locators[0]), ()) for page in pages
    )
    return BuiltField(name, False, locators, texts, "")
