"""Ways to the elements that hold an example: each is tried on all pages, and the best one wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import value_at
from agentic.core.wrappers.building.expressions import expression_of, label_in
from agentic.core.wrappers.building.labels import (
    LABEL,
    NO_NAME,
    TERM,
    by_label,
    cost_of_label,
    starting_with,
)
from agentic.core.wrappers.building.matching import (
    ExampleMatch,
    Reading,
    Row,
    amounts_in,
    fits,
    matches,
    read_as,
)
from agentic.core.wrappers.building.naming import is_price, named_share
from agentic.core.wrappers.building.pieces import OwnTexts
from agentic.core.wrappers.candidates import MAX_ELEMENTS, MAX_TEXT_CHARS
from agentic.core.wrappers.data import DataValue, read_data_values
from agentic.core.wrappers.locators import Locator, LocatorKind, Place, counted_from_body, unnamed_locators
from agentic.core.wrappers.ranking import PageFacts, aims_of, rank
from agentic.core.wrappers.selecting import Selection, SelectorIndex, cost_of, is_specific
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.words import plain, text_words, words_of
from agentic.core.wrappers.wrapper import Wrapper

_TRIED = 10

SURE = 10.0
"""A way with a lower cost is taken without a look at other elements."""

OF_MANY = 12.0
"""More for a selector that gives other elements, too: a page that lacks the first one gives the next."""

HEADING = 2.0
"""More for the first heading of a page, which names its record; a path to the page may cut its name."""

_LEVELS = 2
_ASIDE = frozenset({"nav", "aside", "footer"})


class ExamplePage:
    """A page, and the examples of its record.

    Args:
        tree: The page.
        row: Field -> its value there; empty for a page that no example is of.
    """

    def __init__(self, tree: PageTree, row: Row) -> None:
        self.tree = tree
        self.row = row
        known: dict[str, JSONValue] = {
            name: value if isinstance(value, str) else list(value) for name, value in row.items() if value
        }
        self.facts = PageFacts(tree, known)

    @property
    def index(self) -> SelectorIndex:
        """What selectors may name on it."""
        return self.facts.index

    @cached_property
    def own_texts(self) -> OwnTexts:
        """Its texts that stand beside elements."""
        return OwnTexts(self.index)

    @cached_property
    def data(self) -> Sequence[DataValue]:
        """The values of its JSON-LD, `<meta>` and JSON."""
        return read_data_values(self.tree.document, self.tree.url)


class FieldTry(NamedTuple):
    """A way to the elements of a field, and the elements it gives on each page.

    Attributes:
        match: The example that it begins with.
        hits: The elements on each page, in the order of the pages.
        right: Places of the pages on which it gives the example.
        wrong: Places of the pages on which it gives something else.
        label: The beginning of the text of the element, if the way depends on it.
    """

    match: ExampleMatch
    hits: tuple[tuple[int, ...], ...]
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    label: str = ""


def best_try(
    name: str,
    wrappers: Mapping[str, Wrapper],
    pages: Sequence[ExamplePage],
    shown: Sequence[int],
    words: frozenset[str],
) -> FieldTry | None:
    """Return the way that gives the examples of most pages, and something on most of the others."""
    wrapper = wrappers[name]
    best: tuple[tuple[float, ...], FieldTry] | None = None
    for place in shown[:3]:
        for match in _matches(name, wrappers, pages[place]):
            if best is not None and match.reading == "part" and is_whole(best[1], shown):
                continue
            least = LABEL if _is_aside(pages[place].tree, match.numbers[0]) else -NO_NAME
            known: dict[tuple[tuple[int, ...], ...], FieldTry] = {}  # most ways lead to the same elements
            for cost, hits, label in _ways(name, match, pages, place, words, is_list=wrapper.is_list):
                if hits not in known:
                    known[hits] = _judged(name, match, hits, pages, shown, is_list=wrapper.is_list)
                tried = known[hits]._replace(label=label)
                score = _rank_of(tried, pages, max(cost, least))
                if best is None or score > best[0]:
                    best = score, tried
            if best is not None and best[1].match is match and _is_sure(*best, shown):
                return best[1]
        if best is not None and is_whole(best[1], shown):
            return best[1]
    return best[1] if best is not None and _is_enough(best[1], shown) else None


def is_whole(best: FieldTry, shown: Sequence[int]) -> bool:
    """Return whether a way gives all examples, each as the whole text of its element."""
    return (
        len(best.right) == len(shown) and not best.wrong and best.match.reading != "part" and not best.label
    )


def _is_sure(score: tuple[float, ...], tried: FieldTry, shown: Sequence[int]) -> bool:
    _, is_told, is_clear, *_, level, _ = score
    is_named = bool(is_told and is_clear) and level == _LEVELS
    return len(tried.right) == len(shown) and not tried.wrong and all(tried.hits) and is_named


def _is_enough(tried: FieldTry, shown: Sequence[int]) -> bool:
    """Return whether a way gives the examples of most pages, or of one of two and nothing on the other."""
    if len(shown) == 2:
        return bool(tried.right) and not tried.wrong
    return 2 * len(tried.right) > len(shown)


def _rank_of(tried: FieldTry, pages: Sequence[ExamplePage], cost: float) -> tuple[float, ...]:
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


def _matches(name: str, wrappers: Mapping[str, Wrapper], page: ExamplePage) -> list[ExampleMatch]:
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
    pages: Sequence[ExamplePage],
    place: int,
    words: frozenset[str],
    *,
    is_list: bool,
) -> Iterator[tuple[float, tuple[tuple[int, ...], ...], str]]:
    """Yield how soon each way to the elements of a page may break, its elements on all pages, its label."""
    page = pages[place]
    if label := _own_label(name, match, page):
        locator = starting_with(page.tree, match.numbers[0], label)
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
        *(() if is_list else by_label(there, words)),
        *unnamed_locators(there, is_list=is_list),
        *counted_from_body(there, is_list=is_list),
    )
    for locator in unnamed:
        if is_by_value(locator, pages):
            continue
        given = [locator.find(one.tree) for one in pages]
        if given[place][: len(match.numbers)] == list(match.numbers):
            cost = cost_of_label(locator, frozenset() if is_list else words)
            yield cost, tuple(tuple(there if is_list else there[:1]) for there in given), ""


def _own_label(name: str, match: ExampleMatch, page: ExamplePage) -> str:
    """Return the label that stands before a value in the same element, such as ``Author:``; else nothing."""
    example = page.row[name]
    if match.attr or match.reading not in ("part", "number", "date") or not isinstance(example, str):
        return ""
    return label_in(page.tree.text(match.numbers[0]))


def _judged(
    name: str,
    match: ExampleMatch,
    hits: Sequence[tuple[int, ...]],
    pages: Sequence[ExamplePage],
    shown: Sequence[int],
    *,
    is_list: bool,
) -> FieldTry:
    filled = tuple(
        tuple(hit for hit in there if value_at(page.tree, hit, match.attr))
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
    return FieldTry(match, filled, right, wrong)


def _readable(
    name: str,
    match: ExampleMatch,
    hits: Sequence[tuple[int, ...]],
    pages: Sequence[ExamplePage],
    right: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the pages whose example a rule can take out of the text at its place."""
    whole = tuple(at for at in right if _reading(name, pages[at], hits[at][0]) != "part")
    if len(whole) == len(right) or _expression(name, match, hits, pages, right):
        return right
    return whole if match.reading != "part" else ()


def _reading(name: str, page: ExamplePage, number: int) -> Reading | None:
    return read_as(page.tree.text(number), str(page.row[name]))


def _expression(
    name: str,
    match: ExampleMatch,
    hits: Sequence[tuple[int, ...]],
    pages: Sequence[ExamplePage],
    right: Sequence[int],
) -> str:
    """Return an expression for the examples in the longer texts of elements; empty if none fits."""
    texts = [
        value_at(page.tree, there[0], match.attr) for page, there in zip(pages, hits, strict=True) if there
    ]
    pairs = [(str(pages[at].row[name]), value_at(pages[at].tree, hits[at][0], match.attr)) for at in right]
    return expression_of(pairs, texts) if pairs else ""


def is_by_value(locator: Locator, pages: Sequence[ExamplePage]) -> bool:
    """Return whether a locator depends on a text that is the value of another field."""
    if locator.kind is not LocatorKind.XPATH:
        return False
    return any(f'="{value}"]' in locator.path for value in values_of(pages))


def values_of(pages: Sequence[ExamplePage]) -> frozenset[str]:
    """Return the examples of all fields."""
    given = (value for page in pages for value in page.row.values())
    return frozenset(value for value in given if isinstance(value, str) and value)
