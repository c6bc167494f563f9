"""Lists that changed: the items of a list page, found by the rows that were read from it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

from agentic.core.pipeline.repairs.paths import PathChoice, choose_paths, is_empty
from agentic.core.pipeline.repairs.stored_rows import KnownRows, is_beside, links_of
from agentic.core.types import JSONValue
from agentic.core.wrappers import LocatorKind, PageTree, write_locators
from agentic.core.wrappers.addresses import ADDRESSES, SAME_FILE, kindred, same_address, value_at, value_of
from agentic.core.wrappers.locators import Place
from agentic.core.wrappers.selecting import SelectorIndex, is_machine_made
from agentic.core.wrappers.tree import HEADINGS

MIN_ITEMS = 2
SMALL = 6
"""A smaller block is taken for a list only if fewer rows are stored: ads and "recently viewed" are small."""

RIVAL = 0.6
"""Another block with this share of the rows, and rows that the best one lacks, makes the best one unsure."""

BIGGER = 2
"""Another block with this many times the items makes the best one unsure."""

RICH = 0.5
"""Another block with as many items makes it unsure, too, if they have this share of its text."""

MAX_INNER = 80
"""Elements of an item that are looked at."""

_WORDS = frozenset({"item", "product", "result", "list", "card", "entry", "row"})


@dataclass(frozen=True, slots=True)
class ListMatch:
    """The items of a list on a page.

    Attributes:
        items: Their elements, those without a stored row included.
        rows: Element of an item -> number of its stored row.
        links: Element of an item with a stored row -> the link that leads to the row, or the first one.
        known: How many rows could have been found.
        rival: How many other rows the best other block has.
    """

    items: tuple[int, ...]
    rows: Mapping[int, int]
    links: Mapping[int, int]
    known: int
    rival: int

    @property
    def score(self) -> float:
        """Share of the rows, or of the items if these are fewer."""
        return len(self.rows) / max(1, min(self.known, len(self.items)))

    @property
    def runner_up(self) -> float:
        """The same for the best other block."""
        return min(1.0, self.rival / max(1, min(self.known, len(self.items))))


@dataclass(frozen=True, slots=True)
class ListPlaces:
    """Selectors of a list that hold on all pages given.

    Attributes:
        item_selector: Of the items.
        link_selector: Of the link within an item.
    """

    item_selector: str
    link_selector: str


def find_list(tree: PageTree, rows: KnownRows) -> ListMatch | str:
    """Return the list on a page that shows stored rows, or the reason why none can be named.

    Blocks beside the main part do not count: navigation, ads, "recently viewed". A block must have
    enough of the rows, each in an item of its own, and must be clearly ahead of other blocks.
    """
    hits = rows.found_on(tree)
    links = dict(links_of(tree))
    blocks = sorted(_blocks(tree, hits), key=lambda one: (-len(one.rows), one.items[0]))
    main = [block for block in blocks if not is_beside(tree, block.items[0])]
    if not main:
        return "no block of the page has a stored row in it"
    wanted = set(main[0].rows.values())
    best = _larger(tree, main[0], [one for one in main if set(one.rows.values()) == wanted])
    if len(wanted) < max(MIN_ITEMS, rows.least):
        return (
            f"the best block has {len(wanted)} of {len(rows.rows)} stored rows, and {rows.least} are needed"
        )
    if len(best.items) < min(SMALL, len(rows.rows)):
        return f"the block with stored rows has just {len(best.items)} items, fewer than rows are stored"
    rival = max((len(set(one.rows.values()) - wanted) for one in main[1:]), default=0)
    if rival > RIVAL * len(wanted):
        return f"two blocks have stored rows, one {len(wanted)} and one {rival} others"
    if count := _largest_other(tree, hits, links, best):
        return (
            f"a block of {len(best.items)} items has stored rows, and a block of {count} may be the list: "
            "the first may be ads or pages seen before"
        )
    link_of = {item: _link_in(tree, links, item, rows, row) for item, row in best.rows.items()}
    found = {item: link for item, link in link_of.items() if link is not None}
    return ListMatch(best.items, best.rows, found, len(rows.rows), rival)


def write_places(tree: PageTree, match: ListMatch, others: Sequence[PageTree] = ()) -> ListPlaces | None:
    """Return selectors of a list that hold on its page, and give two items or more on each other page.

    Args:
        tree: The page.
        match: Its list.
        others: Further pages of the list.
    """
    index = SelectorIndex(tree)
    indices = [SelectorIndex(other) for other in others]
    for selection in index.selections(match.items, _WORDS, is_list=True):
        there = [tuple(one.select(selection)) for one in indices]
        if any(len(hits) < MIN_ITEMS for hits in there):
            continue
        places = [Place(index, match.items), *map(Place, indices, there)]
        for locator in write_locators(places, _WORDS, is_list=True):
            if locator.kind is LocatorKind.CSS and ":nth" not in locator.path:
                link = _link_selector(tree, match)
                return None if link is None else ListPlaces(locator.path, link)
    return None


def items_by(tree: PageTree, item_selector: str) -> list[int]:
    """Return the elements that a selector gives."""
    numbers = tree.numbers
    return [numbers[one] for one in tree.document.select(item_selector) if one in numbers]


def list_of(tree: PageTree, items: Sequence[int], rows: KnownRows) -> ListMatch:
    """Return the list with these items, and the stored rows that they show."""
    hits = rows.found_on(tree)
    found: dict[int, int] = {}
    for item in items:
        inner = {hits[number] for number in range(item, tree.ends[item]) if number in hits}
        if len(inner) == 1:
            found[item] = inner.pop()
    return ListMatch(tuple(items), _each_once(found), {}, len(rows.rows), 0)


def broken_selectors(
    tree: PageTree,
    match: ListMatch,
    rows: KnownRows,
    selectors: Mapping[str, str],
    attrs: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the fields whose selectors give nothing in most items that had a value.

    Args:
        tree: The page.
        match: Its list.
        rows: Stored rows.
        selectors: Field -> selector within an item.
        attrs: Field -> the attribute that is read, where it is not the text.
    """
    broken = []
    for name, selector in selectors.items():
        had = [item for item, row in match.rows.items() if not is_empty(rows.rows[row].get(name))]
        given = sum(_gives(tree, item, selector, attrs.get(name, "")) for item in had or match.items)
        if not given or (had and 2 * given < len(had)):
            broken.append(name)
    return broken


def find_item_fields(
    tree: PageTree,
    match: ListMatch,
    rows: KnownRows,
    selectors: Mapping[str, str],
    others: Sequence[tuple[PageTree, Sequence[int]]] = (),
    *,
    attrs: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, PathChoice | str]:
    """Return new selectors within an item for the fields whose selectors give nothing.

    Args:
        tree: The page.
        match: Its list.
        rows: Stored rows.
        selectors: Field -> selector within an item, of the broken fields.
        others: Further pages of the list with their items; a selector must give something on them, too.
        attrs: Field -> the attribute that is read, where it is not the text.
    """
    pairs = [(match.items.index(item), rows.rows[row]) for item, row in match.rows.items()]
    found: dict[str, PathChoice | str] = {}
    left = dict(selectors)
    for attr in dict.fromkeys(attrs.get(name, "") for name in selectors):
        for key in kindred(attr):
            wanted = {name: left[name] for name in left if attrs.get(name, "") == attr}
            for name, one in _chosen(_inner_values(tree, match, others, key), pairs, wanted, attr).items():
                found.setdefault(name, one)
                if isinstance(one, PathChoice):
                    found[name] = replace(one, attr=key)
                    del left[name]
    return found


@dataclass(frozen=True, slots=True)
class _InnerValues:
    """The values within the items of a list and of further pages, and the elements that have them."""

    here: Sequence[dict[str, JSONValue]]
    there: Sequence[Sequence[dict[str, JSONValue]]]
    same_place: Sequence[dict[str, int]]


def _inner_values(
    tree: PageTree, match: ListMatch, others: Sequence[tuple[PageTree, Sequence[int]]], attr: str
) -> _InnerValues:
    """Return the texts within items, or the values of an attribute."""
    return _InnerValues(
        [_values_in(tree, item, attr) for item in match.items],
        [[_values_in(other, item, attr) for item in items] for other, items in others],
        [
            {
                path: number if attr else _widest(tree, item, number)
                for path, number in _places_in(tree, item, attr).items()
            }
            for item in match.items
        ],
    )


def _chosen(
    inner: _InnerValues,
    pairs: Sequence[tuple[int, Mapping[str, JSONValue]]],
    wanted: Mapping[str, str],
    attr: str,
) -> dict[str, PathChoice | str]:
    """Return new selectors of fields by their stored values, or by addresses that lead to the same."""
    found = choose_paths(inner.here, pairs, wanted, inner.there, inner.same_place)
    for name in [name for name, one in found.items() if isinstance(one, str) and attr in ADDRESSES]:
        here = _as_stored(inner.here, pairs, name)
        one = choose_paths(here, pairs, {name: wanted[name]}, inner.there, inner.same_place)[name]
        if isinstance(one, PathChoice):
            seen = tuple((at, stored, inner.here[at].get(one.path)) for at, stored, _ in one.seen)
            found[name] = replace(one, seen=seen)
    return found


def _as_stored(
    here: Sequence[dict[str, JSONValue]], pairs: Sequence[tuple[int, Mapping[str, JSONValue]]], name: str
) -> list[dict[str, JSONValue]]:
    """Return the values within items with the stored address for each that leads to the same thing."""
    found = [dict(values) for values in here]
    for at, row in pairs:
        stored = row.get(name)
        for path, value in here[at].items():
            both = isinstance(stored, str) and isinstance(value, str)
            if both and same_address(str(value), str(stored)) >= SAME_FILE:
                found[at][path] = stored
    return found


def _gives(tree: PageTree, item: int, selector: str, attr: str) -> bool:
    """Return whether a selector gives something within an item."""
    if not attr:
        return tree.elements[item].select_one(selector) is not None
    return any(value_of(tree, one, attr) for one in tree.elements[item].select(selector))


def _blocks(tree: PageTree, hits: Mapping[int, int]) -> Iterator[ListMatch]:
    """Yield the blocks whose items hold one stored row each; equal neighbours are one grid."""
    below: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, row in hits.items():
        child = number
        for outer in tree.ancestors(number):
            below[outer][child].add(row)
            child = outer
    grids: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for outer, children in below.items():
        if any(len(found) == 1 for found in children.values()):
            grids[_likeness(tree, outer)].append(outer)
    for outers in grids.values():
        rows = {
            child: next(iter(found))
            for outer in outers
            for child, found in below[outer].items()
            if len(found) == 1
        }
        tags = [tree.tags[child] for child in rows]
        tag = max(sorted(set(tags)), key=tags.count)
        parents = _alike(tree, outers[0])
        items = tuple(
            child
            for outer in parents
            for child in tree.children[outer]
            if tree.tags[child] == tag and tree.text(child)
        )
        kept = {child: row for child, row in sorted(rows.items()) if tree.tags[child] == tag}
        if len(items) >= MIN_ITEMS:
            yield ListMatch(items, _each_once(kept), {}, 0, 0)


def _each_once(rows: Mapping[int, int]) -> dict[int, int]:
    """Return the first item of each row."""
    first: dict[int, int] = {}
    for item, row in rows.items():
        first.setdefault(row, item)
    return {item: row for row, item in first.items()}


def _likeness(tree: PageTree, number: int) -> tuple[object, ...]:
    """Return the parent, tag and classes of an element: equal for all rows of a grid."""
    if any(tree.tags[child] in HEADINGS for child in tree.children[number]):
        return (number,)
    return tree.parents[number], tree.tags[number], _classes(tree, number)


def _alike(tree: PageTree, number: int) -> list[int]:
    """Return an element and its neighbours that are rows of one grid with it: no heading is between them."""
    parent = tree.parents[number]
    if parent < 0:
        return [number]
    siblings, wanted = tree.children[parent], _likeness(tree, number)
    found: list[int] = []
    for one in siblings:
        if _likeness(tree, one) == wanted:
            found.append(one)
        elif _has_heading(tree, one):
            if number in found:
                return found
            found = []
    return found


def _has_heading(tree: PageTree, number: int) -> bool:
    return any(tag in HEADINGS for tag in tree.tags[number : tree.ends[number]])


def _classes(tree: PageTree, number: int) -> str:
    value = tree.elements[number].attrs.get("class")
    return value if isinstance(value, str) else " ".join(value or ())


def _larger(tree: PageTree, best: ListMatch, alike: Sequence[ListMatch]) -> ListMatch:
    """Return the largest of the blocks with the same rows that are apart from each other."""
    starts = sorted(best.items)
    apart = [one for one in alike if not any(_is_in_item(tree, starts, item) for item in one.items)]
    return max([best, *apart], key=lambda one: len(one.items))


def _largest_other(tree: PageTree, hits: Mapping[int, int], links: Mapping[int, str], best: ListMatch) -> int:
    """Return how many items another block of the main part has that may be the list; 0 if none may.

    It has twice the items, or as many items with as much text. A second copy of the list does not count.
    """
    below: defaultdict[int, set[int]] = defaultdict(set)
    for number in links:
        child = number
        for outer in islice(tree.ancestors(number), 4):
            below[outer].add(child)
            child = outer
    groups: defaultdict[tuple[object, ...], set[int]] = defaultdict(set)
    for outer, found in below.items():
        groups[_likeness(tree, outer)] |= found
    inside, around = set(best.items), {outer for item in best.items for outer in tree.ancestors(item)}
    starts = sorted(best.items)
    length = RICH * sum(map(tree.length, best.items)) / len(best.items)
    large = [
        (len(children), min(children))
        for children in groups.values()
        if _is_as_large(tree, children, len(best.items), length)
        and inside.isdisjoint(children)
        and around.isdisjoint(children)
        and not any(_is_in_item(tree, starts, child) for child in children)
        and not (len(children) == len(inside) and _rows_in(tree, hits, children) == set(best.rows.values()))
    ]
    return next((count for count, first in sorted(large, reverse=True) if not is_beside(tree, first)), 0)


def _is_as_large(tree: PageTree, children: Collection[int], count: int, length: float) -> bool:
    if len(children) >= BIGGER * count:
        return True
    return len(children) >= count and sum(map(tree.length, children)) >= length * len(children)


def _rows_in(tree: PageTree, hits: Mapping[int, int], items: Collection[int]) -> set[int]:
    return {row for number, row in hits.items() if any(tree.is_within(number, item) for item in items)}


def _is_in_item(tree: PageTree, starts: Sequence[int], number: int) -> bool:
    place = bisect_right(starts, number) - 1
    return place >= 0 and number < tree.ends[starts[place]]


def _link_in(tree: PageTree, links: Mapping[int, str], item: int, rows: KnownRows, row: int) -> int | None:
    """Return the link of an item that leads to its row; else the first one."""
    inner = [number for number in range(item, tree.ends[item]) if number in links]
    leading = [number for number in inner if rows.by_url(links[number]) == row]
    named = [number for number in inner if rows.by_text(tree.text(number)) == row]
    return next(iter((*leading, *named, *inner)), None)


def _link_selector(tree: PageTree, match: ListMatch) -> str | None:
    """Return the selector of the link within an item that leads to the stored rows; None without one."""
    if not match.links:
        return None
    candidates = dict.fromkeys(
        ("a[href]", *(name for item, link in match.links.items() for name in _names(tree, item, link)))
    )
    for selector in candidates:
        if all(_first(tree, item, selector) == link for item, link in match.links.items()):
            return selector
    return None


def _first(tree: PageTree, item: int, selector: str) -> int | None:
    """Return the element that a selector gives within an item, as extract_list reads it."""
    element = tree.elements[item]
    if element.attr("href") is not None:
        return item
    found = element.select_one(selector)
    return tree.numbers.get(found) if found is not None else None


def _names(tree: PageTree, item: int, number: int) -> Iterator[str]:
    """Yield selectors of an element within an item, those that last longest first."""
    element, tag = tree.elements[number], tree.tags[number]
    for key in ("itemprop", "data-testid", "data-field", "rel"):
        value = element.attr(key)
        if value and value.replace("-", "").replace("_", "").isalnum():
            yield f'{tag}[{key}="{value}"]'
    names = [
        name for name in _classes(tree, number).split() if name.replace("-", "").replace("_", "").isalnum()
    ]
    names = [name for name in names if not name[0].isdigit()]
    for name in sorted(names, key=is_machine_made):
        yield f"{tag}.{name}"
    parent = tree.parents[number]
    if parent != item and parent >= 0 and tree.tags[parent] != "*":
        yield f"{tree.tags[parent]} > {tag}"
    yield tag


def _values_in(tree: PageTree, item: int, attr: str) -> dict[str, JSONValue]:
    """Return the values in an item by selectors within it: of the first element that each gives."""
    found: dict[str, JSONValue] = {}
    for path, number in _places_in(tree, item, attr).items():
        found[path] = value_at(tree, number, attr) or None
    return found


def _places_in(tree: PageTree, item: int, attr: str) -> dict[str, int]:
    """Return selectors within an item, and the first element with the attribute that each gives."""
    found: dict[str, int] = {}
    for number in range(item + 1, min(tree.ends[item], item + MAX_INNER)):
        if tree.tags[number] != "*" and (not attr or value_at(tree, number, attr)):
            for name in _names(tree, item, number):
                found.setdefault(name, number)
    return found


def _widest(tree: PageTree, item: int, number: int) -> int:
    """Return the outermost element within an item with exactly the text of an element."""
    while (outer := tree.parents[number]) > item and tree.text(outer) == tree.text(number):
        number = outer
    return number
