"""From example values to locators: where the fields of a page are, without a model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.types import JSONValue
from agentic.core.wrappers.building.expressions import expression_of, is_amount_text, is_label, label_in
from agentic.core.wrappers.building.matching import (
    ExampleMatch,
    Reading,
    amounts_in,
    fits,
    matches,
    read_as,
    reading_of,
)
from agentic.core.wrappers.building.naming import PRICE_WORDS, is_price, named_share
from agentic.core.wrappers.building.pieces import FoundTexts, OwnTexts, find_pieces, xpath_of
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
from agentic.core.wrappers.selecting import Selection, SelectorIndex, cost_of, is_specific
from agentic.core.wrappers.tree import LABEL_CHARS, PageTree
from agentic.core.wrappers.values import Kind, shape_of
from agentic.core.wrappers.words import plain, text_words, words_of
from agentic.core.wrappers.wrapper import Wrapper

_TRIED = 10
NO_NAME = 20.0
"""Cost of a way that no name in the markup supports: by the text before the elements, or by counting."""

TERM = 3.0
"""The same, where the text before them is a term of a list, the head of a row, or the name of the field."""

SURE = 10.0
"""A way with a lower cost is taken without a look at other elements."""

LABEL = 11.0
"""Cost of a text with a colon before the elements, but without a word of the field; the least in menus."""

OF_MANY = 12.0
"""More for a selector that gives other elements, too: a page that lacks the first one gives the next."""

HEADING = 2.0
"""More for the first heading of a page, which names its record; a path to the page may cut its name."""

_LEVELS = 2
_ASIDE = frozenset({"nav", "aside", "footer"})
_CARD = "twitter:data"
_STRUCK = frozenset({"del", "s", "strike"})
_BESIDE = "-sibling::"
_COUNTED = ":nth-of-type("
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
    def own_texts(self) -> OwnTexts:
        return OwnTexts(self.index)

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
    is_named = best is not None and _is_named(best, pages[shown[0]], name)
    if not wrapper.is_list and (best is None or not is_named or not _is_whole(best, shown)):
        pieces = find_pieces(
            [page.own_texts for page in pages], _examples_of(name, pages), words, _values(pages)
        )
        if pieces is not None and _is_better(pieces, best, shown, is_named=is_named):
            return _built_of_pieces(name, pieces, of_data)
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


def _is_whole(best: _Try, shown: Sequence[int]) -> bool:
    """Return whether a way gives all examples, each as the whole text of its element."""
    return (
        len(best.right) == len(shown) and not best.wrong and best.match.reading != "part" and not best.label
    )


def _is_named(best: _Try, page: _Page, name: str) -> bool:
    """Return whether words of a field are around its elements."""
    words, hits = frozenset(words_of(name)), best.hits
    return any(named_share(page.tree, there[0], words) > 0 for there in hits[:1] if there)


def _is_better(pieces: FoundTexts, best: _Try | None, shown: Sequence[int], *, is_named: bool) -> bool:
    """Return whether texts between elements are better places than an element that holds more."""
    is_enough = not pieces.wrong if len(shown) == 2 else 2 * len(pieces.right) > len(shown)
    if best is None or not is_enough:
        return is_enough
    gained = len(pieces.right) - len(pieces.wrong) - len(best.right) + len(best.wrong)
    is_exact = not pieces.is_part and (pieces.is_named or not _is_whole(best, shown))
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


def _examples_of(name: str, pages: Sequence[_Page]) -> list[str | None]:
    given = (page.row.get(name) for page in pages)
    return [example if isinstance(example, str) else None for example in given]


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
            if best is not None and match.reading == "part" and _is_whole(best[1], shown):
                continue
            least = LABEL if _is_aside(pages[place].tree, match.numbers[0]) else -NO_NAME
            known: dict[tuple[tuple[int, ...], ...], _Try] = {}  # most ways lead to the same elements
            for cost, hits, label in _ways(name, match, pages, place, words, is_list=wrapper.is_list):
                if hits not in known:
                    known[hits] = _judged(name, match, hits, pages, shown, is_list=wrapper.is_list)
                tried = known[hits]._replace(label=label)
                score = _rank_of(tried, pages, max(cost, least))
                if best is None or score > best[0]:
                    best = score, tried
            if best is not None and best[1].match is match and _is_sure(*best, shown):
                return best[1]
        if best is not None and _is_whole(best[1], shown):
            return best[1]
    return best[1] if best is not None and _is_enough(best[1], shown) else None


def _is_sure(score: tuple[float, ...], tried: _Try, shown: Sequence[int]) -> bool:
    _, is_told, is_clear, *_, level, _ = score
    is_named = bool(is_told and is_clear) and level == _LEVELS
    return len(tried.right) == len(shown) and not tried.wrong and all(tried.hits) and is_named


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
        tried.match.reading != "number"
        or not any(len(amounts_in(text)) > 1 for one in texts for text in one),
        sum(map(bool, tried.hits)),
        varies,
        (cost < NO_NAME) + (cost < SURE),
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
            + (HEADING if one.reading == "same" and page.tree.tags[one.numbers[0]] == "h1" else 0.0)
        )
        for one in found
    ]
    ordered = sorted(found, key=lambda one: (-one.score, one.numbers[0]))
    return _inner_first(page.index, ordered[:_TRIED])


def _is_aside(tree: PageTree, number: int) -> bool:
    return any(tree.tags[one] in _ASIDE for one in islice(tree.ancestors(number), 6))


def _inner_first(index: SelectorIndex, found: Sequence[ExampleMatch]) -> list[ExampleMatch]:
    """Return elements with those first that have the whole value and a name, of one within the other.

    On other pages the outer one may have more: `<div><h1>Amber</h1> <a>next</a></div>`. An amount with a unit
    stays whole because it may have more parts: `<span>1 h</span> <span>30 min</span>`.
    """
    ordered: list[ExampleMatch] = []
    for match in found:
        outer = match.numbers[0]
        texts = [one for one in found if one.reading == match.reading == "same" and not one.attr + match.attr]
        inner = [
            one
            for one in texts
            if outer < one.numbers[0] < index.tree.ends[outer] and not _has_unit(index.tree.text(outer))
            if any(is_specific(Selection(None, atom)) for atom in index.atoms(one.numbers[0]))
        ]
        ordered += [one for one in (*reversed(inner), match) if one not in ordered]
    return ordered


def _has_unit(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text)) and not is_price(text)


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
        cost = LABEL if words.isdisjoint(text_words(label)) else TERM
        yield cost, tuple(tuple(locator.find(one.tree)[:1]) for one in pages), label
    for selection in page.index.selections(match.numbers, words, is_list=is_list):
        found = [tuple(one.index.select(selection)) for one in pages]
        cost = cost_of(selection, words)
        if is_list:
            found[place] = match.numbers
        elif any(len(numbers) > 1 for numbers in found) and words.isdisjoint(words_of(selection.css)):
            cost += OF_MANY
        yield cost, tuple(numbers if is_list else numbers[:1] for numbers in found), ""
    there = Place(page.index, match.numbers)
    unnamed = (
        *(() if is_list else _by_label(there, words)),
        *unnamed_locators(there, is_list=is_list),
        *counted_from_body(there, is_list=is_list),
    )
    for locator in unnamed:
        if _is_by_value(locator, pages):
            continue
        given = [locator.find(one.tree) for one in pages]
        if given[place][: len(match.numbers)] == list(match.numbers):
            cost = _cost_of_label(locator, frozenset() if is_list else words)
            yield cost, tuple(tuple(there if is_list else there[:1]) for there in given), ""


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
    if not is_list and not match.attr:
        right = _readable(name, match, filled, pages, right)
    lacking = [place for place, page in enumerate(pages) if page.row.get(name) == ""]
    wrong = tuple(place for place in (*shown, *lacking) if place not in right and filled[place])
    return _Try(match, filled, right, wrong)


def _readable(
    name: str,
    match: ExampleMatch,
    hits: Sequence[tuple[int, ...]],
    pages: Sequence[_Page],
    right: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the pages whose example a rule can take out of the text at its place."""
    whole = tuple(at for at in right if _reading(name, pages[at], hits[at][0]) != "part")
    if len(whole) == len(right) or _expression(name, match, hits, pages, right):
        return right
    return whole if match.reading != "part" else ()


def _reading(name: str, page: _Page, number: int) -> Reading | None:
    return read_as(page.tree.text(number), str(page.row[name]))


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
    if not is_list and not best.match.attr:
        beside = (one for one in _by_label(places[0], words) if not _is_by_value(one, pages))
        found += [one for one in beside if one not in found and _gives(one, pages, best.hits)]
        found = _ordered(found, pages, words)
    if best.label:  # a selector that counts would take another element of a page without this one
        found = [_starting_with(places[0].index.tree, places[0].numbers[0], best.label)]
        return [one for one in found if _gives(one, pages, best.hits)]
    if not is_list and not best.match.attr and _is_price_field(best, pages, words):
        found = [_without_struck(one, pages, best.hits) for one in found]
    if len(found) < ENOUGH:
        last = (one for one in counted_from_body(places[0], is_list=is_list) if one not in found)
        found += [one for one in last if _gives(one, pages, best.hits, is_list=is_list)]
    return found


def _is_price_field(best: _Try, pages: Sequence[_Page], words: frozenset[str]) -> bool:
    """Return whether the texts of a field are prices, on a page with struck texts: of reduced prices."""
    texts = [page.tree.text(there[0]) for page, there in zip(pages, best.hits, strict=True) if there]
    is_money = not PRICE_WORDS.isdisjoint(words) or all(map(is_price, texts))
    return is_money and any(not _STRUCK.isdisjoint(page.tree.tags) for page in pages)


def _without_struck(locator: Locator, pages: Sequence[_Page], hits: Sequence[tuple[int, ...]]) -> Locator:
    """Return a selector that passes over struck elements: the price of before is the first one."""
    if locator.kind is not LocatorKind.CSS or _COUNTED in locator.path:
        return locator
    other = replace(locator, path=f"{locator.path}:not({', '.join(f'{tag} *' for tag in sorted(_STRUCK))})")
    return other if _gives(other, pages, hits) else locator


def _ordered(found: Sequence[Locator], pages: Sequence[_Page], words: frozenset[str]) -> list[Locator]:
    """Return places that a page without the value lacks, too, and of the others as few as possible.

    The first of several elements, the next one behind a label, and a counted one are there on such a page,
    but have another value.
    """
    named = [one for one in found if _BESIDE in one.path and _cost_of_label(one, words) < NO_NAME]
    if not named:
        return list(found)
    sure = [one for one in found if one.kind is LocatorKind.CSS and _is_alone(one, pages, words)]
    others = [one for one in found if one not in named and one not in sure]
    return [*sure, *named, *others[: max(0, ENOUGH - len(sure) - len(named))]]


def _is_alone(locator: Locator, pages: Sequence[_Page], words: frozenset[str]) -> bool:
    """Return whether a selector has the name of the field, or gives one element without counting."""
    if _COUNTED in locator.path:
        return False
    return not words.isdisjoint(words_of(locator.path)) or all(
        len(locator.find(page.tree)) <= 1 for page in pages
    )


def _cost_of_label(locator: Locator, words: frozenset[str]) -> float:
    """Return how soon a place by the text before it may break: the text may only happen to be there."""
    if locator.kind is not LocatorKind.XPATH:
        return NO_NAME
    label = locator.path.rpartition('normalize-space()="')[2].partition('"]')[0]
    if locator.path.startswith(("//dt[", "//th[")) or not words.isdisjoint(text_words(label)):
        return TERM
    return LABEL if f"following{_BESIDE}" in locator.path and label.endswith(":") else NO_NAME


def _by_label(place: Place, words: frozenset[str]) -> Iterator[Locator]:
    """Yield expressions for an element by the text before it, or behind it with a word of the field."""
    tree, number = place.index.tree, place.numbers[0]
    siblings = list(tree.children[tree.parents[number]]) if tree.parents[number] >= 0 else [number]
    at = siblings.index(number)
    ahead, behind = siblings[max(0, at - 1) : at], siblings[at + 1 : at + 2]
    for other, axis in ((ahead, "following"), (behind, "preceding")):
        label = tree.text(other[0]) if other and tree.length(other[0]) <= 2 * LABEL_CHARS else ""
        if not is_label(label) or (other is behind and words.isdisjoint(text_words(label))):
            continue
        step = f"{axis}{_BESIDE}{tree.tags[number]}[1]"
        own = (one for one in place.index.atoms(other[0]) if one.kind != "tag")
        conditions = (xpath_of(Selection(None, one)) for one in islice(own, 1))
        for condition in (tree.tags[other[0]], *filter(None, conditions), "*"):
            yield Locator(LocatorKind.XPATH, f'//{condition}[normalize-space()="{label}"]/{step}')
        same = tree.document.xpath(f'//*[normalize-space()="{label}"]')
        named = tree.elements[other[0]]
        if isinstance(same, list) and len(same) > 1 and named in same:  # a no-break space is no blank there
            count = same.index(named) + 1
            yield Locator(LocatorKind.XPATH, f'(//*[normalize-space()="{label}"])[{count}]/{step}')


def _is_by_value(locator: Locator, pages: Sequence[_Page]) -> bool:
    """Return whether a locator depends on a text that is the value of another field."""
    if locator.kind is not LocatorKind.XPATH:
        return False
    return any(f'="{value}"]' in locator.path for value in _values(pages))


def _values(pages: Sequence[_Page]) -> frozenset[str]:
    """Return the examples of all fields."""
    given = (value for page in pages for value in page.row.values())
    return frozenset(value for value in given if isinstance(value, str) and value)


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
        if one.locator.path.startswith(_CARD):  # its label says what it is, and pages differ in it
            continue
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
