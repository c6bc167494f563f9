"""The records that a page offers: lists of rows, tables, and the page's own record."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from urllib.parse import urlsplit

from agentic.core.wrappers.addresses import link_of
from agentic.core.wrappers.building.columns import RowColumn, columns_of, write_row_locators
from agentic.core.wrappers.building.expressions import escaped, label_in
from agentic.core.wrappers.building.naming import NO_NAME, as_name, name_of, type_of, unique
from agentic.core.wrappers.building.paging import Paging, find_paging
from agentic.core.wrappers.building.rows import row_groups
from agentic.core.wrappers.candidates import MAX_ELEMENTS
from agentic.core.wrappers.data import DataValue, read_data_values
from agentic.core.wrappers.locators import MAX_LOCATORS, Locator, LocatorKind, Place, write_locators
from agentic.core.wrappers.selecting import SelectorIndex, is_frail
from agentic.core.wrappers.tree import HEADINGS, LABEL_CHARS, PageTree
from agentic.core.wrappers.words import plain

MAX_LISTS = 5
MAX_OFFERED_ROWS = 200
MAX_PAGE_FIELDS = 24
MAX_TRIED = 40
MAX_TRIED_VALUES = 100
"""Values of a page that selectors are written for: the work for a page is bounded."""

_FEW = 3
_IN_LINE = 1.5
"""Records in a line of a grid; the last line may have one."""

_MOST = 0.9
_SHORT_CHARS = 80
MAX_VALUE_CHARS = 400
MAX_VALUE_ELEMENTS = 6
"""Of a value with a name, itself counted: larger elements hold several values."""

_SIDE = frozenset({"nav", "header", "footer", "aside", "form"})
_SIDE_NAMES = frozenset(
    [
        "nav",
        "navigation",
        "menu",
        "navbar",
        "footer",
        "header",
        "breadcrumb",
        "breadcrumbs",
        "pagination",
        "pager",
        "sidebar",
        "cookie",
        "social",
        "share",
        "tabs",
    ]
)
_WEIGHTS = {"price": 2.0, "date": 1.5, "number": 1.0, "integer": 1.0, "string": 1.0}


class OfferKind(StrEnum):
    """Where the records of an offer are."""

    LIST = "list"
    TABLE = "table"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class OfferedField:
    """A field of the records of an offer.

    Attributes:
        name: A suggestion.
        label: The text that names it on the page; may be empty.
        locators: Its places, the best first: within a row, or on the page.
        texts: Its texts in each record; a record without it has none.
        is_list: Whether a record has several of them.
        attr: Attribute that holds the value; empty for the text.
        type: Type of a rule that reads all texts.
        regex: Takes the value out of a longer text; empty if the whole text is the value.
        is_unsure: Whether another place holds its examples as well, and other texts in other records.
    """

    name: str
    label: str
    locators: tuple[Locator, ...]
    texts: tuple[tuple[str, ...], ...]
    is_list: bool = False
    attr: str = ""
    type: str = "string"
    regex: str = ""
    is_unsure: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """Records that a page offers.

    Attributes:
        kind: Rows of a list or a table, or one record on the page.
        title: The heading or the type of data that names them; may be empty.
        items: Selector of the rows; empty for a page.
        count: How many rows the page has.
        link: Selector of the link to its own page within a row; empty without one.
        links: Where these links lead.
        paging: Links to further pages of the list.
        fields: In the order of the page.
        rows: The elements of the rows.
        reaches_next: Whether a row has no element of its own, and reaches from ``items`` to the next one.
    """

    kind: OfferKind
    title: str
    items: str
    count: int
    fields: tuple[OfferedField, ...]
    link: str = ""
    links: tuple[str, ...] = ()
    paging: Paging | None = None
    rows: tuple[int, ...] = ()
    reaches_next: bool = False


def find_offers(pages: Sequence[PageTree]) -> list[Offer]:
    """Return the offers of a page: its lists and tables, the fullest first, then its own record.

    Args:
        pages: The page, then others of its kind: fields of the page's record must be on all of them.
    """
    first = SelectorIndex(pages[0])
    lists = find_lists(first)
    rows = [row for offer in lists for row in offer.rows if offer.kind is OfferKind.LIST]
    record = _record([first, *map(SelectorIndex, pages[1:])], rows)
    return [*lists, *([record] if record.fields else [])]


def find_lists(index: SelectorIndex) -> list[Offer]:
    """Return the lists and tables of a page, the fullest first."""
    tree = index.tree
    scored = []
    for rows in row_groups(tree):
        if (len(rows) < _FEW and tree.tags[rows[0]] != "tr") or _are_labelled(tree, rows):
            continue
        columns = columns_of(tree, rows[:MAX_OFFERED_ROWS])
        score = _score(tree, rows, columns)
        if score > 0:
            scored.append((score, rows, columns))
    scored.sort(key=lambda one: (-one[0], one[1][0]))
    found: list[Offer] = []
    for _, rows, columns in scored[:MAX_TRIED]:
        if len(found) == MAX_LISTS:
            break
        if any(_overlap(tree, rows, offer.rows) for offer in found) or _is_grid(tree, rows, scored):
            continue
        offer = list_of(index, rows, columns)
        if offer is not None:
            found.append(offer)
    paging = find_paging(index, found[0].rows) if found else None
    return [replace(found[0], paging=paging), *found[1:]] if found else []


def list_of(index: SelectorIndex, rows: Sequence[int], columns: Sequence[RowColumn]) -> Offer | None:
    """Return rows with their useful columns; None if they have none, or no selector gives the rows."""
    heads, shown = heads_of(index.tree, rows), rows[:MAX_OFFERED_ROWS]
    useful = (one for one in columns if _is_useful(one, len(shown)))
    fields = [field for one in useful if (field := _field(index, shown, one, heads)).locators]
    names = unique(one.name for one in fields)
    named = [replace(one, name=name) for one, name in zip(fields, names, strict=True)]
    return offer_of(index, rows, columns, named) if named else None


def offer_of(
    index: SelectorIndex, rows: Sequence[int], columns: Sequence[RowColumn], fields: Sequence[OfferedField]
) -> Offer | None:
    """Return rows with some fields as an offer; None if no selector gives exactly these rows.

    Args:
        index: The page.
        rows: The elements of the rows.
        columns: As from :func:`~.columns.columns_of`, for the link of each row.
        fields: In their order.
    """
    items = write_item_selector(index, rows)
    if items is None:
        return None
    shown = rows[: len(columns[0].parts)] if columns else ()
    link, links = best_link(index, shown, columns) or ("", ())
    return Offer(
        OfferKind.TABLE if index.tree.tags[rows[0]] == "tr" else OfferKind.LIST,
        _title(index.tree, rows),
        items,
        len(rows),
        tuple(fields),
        link=link,
        links=links,
        rows=tuple(rows),
    )


def write_item_selector(index: SelectorIndex, rows: Sequence[int]) -> str | None:
    """Return a selector that gives exactly these rows; None if no selector does."""
    tree, wanted = index.tree, list(rows)

    def gives(css: str) -> bool:
        return [tree.numbers[one] for one in tree.document.select(css) if one in tree.numbers] == wanted

    tag = tree.tags[rows[0]]
    ends = ["", ":has(> td)"] if tag == "tr" else [""]
    selections = index.selections(rows, frozenset(), is_list=True)
    lasting = [one for one in selections if not is_frail(one)]
    for one in (*lasting, *(one for one in selections if is_frail(one))):
        for end in ends:
            if gives(one.css + end):
                return one.css + end
    for css in islice(_ways(index, rows), 60):
        for end in (*ends, *_inner(tree, rows)):
            if gives(css + end):
                return css + end
    return None


def best_link(
    index: SelectorIndex, rows: Sequence[int], columns: Sequence[RowColumn]
) -> tuple[str, tuple[str, ...]] | None:
    """Return the selector of the link from each row to a page of its own, and where these links lead."""
    tree, best = index.tree, None
    here = urlsplit(tree.url).netloc
    for column in columns:
        if column.attr != "href" or column.is_list:
            continue
        urls = [texts[0] for texts in column.texts if texts and texts[0]]
        own = [url for url in urls if urlsplit(url).netloc == here]
        if 2 * len(own) < len(rows) or len(set(own)) < 0.9 * len(own) or tree.url in own:
            continue
        first = next(parts[0] for parts in column.parts if parts)
        inner = {tree.tags[one] for one in range(first, tree.ends[first])} | {tree.tags[tree.parents[first]]}
        rank = (len(own), bool(inner & HEADINGS), -first)
        if best is None or rank > best[0]:
            locators = write_row_locators(index, rows, column, frozenset(["title", "link"]))
            css = next((one.path for one in locators if one.kind is LocatorKind.CSS), None)
            if css is not None:
                best = rank, css, tuple(own)
    return None if best is None else best[1:]


# Lists.


def _score(tree: PageTree, rows: Sequence[int], columns: Sequence[RowColumn]) -> float:
    count = min(len(rows), MAX_OFFERED_ROWS)
    useful = [one for one in columns if _is_useful(one, count)]
    if not useful:
        return 0.0
    value = 0.0
    for one in useful:
        texts = [texts[0] for texts in one.texts if texts]
        kind = type_of(texts) if not one.attr else "string"
        length = sum(map(len, texts)) / max(1, len(texts))
        weight = 0.5 if one.attr else _WEIGHTS.get(kind, 1.0) * min(1.0, 0.5 + length / 60)
        value += weight * one.filled / count
    if not any(not one.attr for one in useful):
        return 0.0
    is_pager = all(len(texts[0]) <= 3 for one in useful if not one.attr for texts in one.texts if texts)
    side = 0.3 if is_side(tree, rows[0]) else 1.0
    return 0.0 if is_pager and tree.tags[rows[0]] != "tr" else value * math.log2(1 + len(rows)) * side


def _is_grid(
    tree: PageTree,
    rows: Sequence[int],
    lists: Sequence[tuple[float, tuple[int, ...], Sequence[RowColumn]]],
) -> bool:
    """Return whether rows only wrap the records of another list: lines of a grid."""
    for _, inner, columns in lists:
        if len(inner) < _IN_LINE * len(rows):
            continue
        steady = [one for one in columns if one.filled >= _MOST * min(len(inner), MAX_OFFERED_ROWS)]
        if len(steady) < _FEW or not any(one.attr for one in steady):
            continue
        homes = [bisect_right(rows, one) - 1 for one in inner]
        if all(
            place >= 0 and tree.is_within(one, rows[place]) for one, place in zip(inner, homes, strict=True)
        ):
            said = sum(map(tree.length, inner))
            return len(set(homes)) == len(rows) and said >= _MOST * sum(map(tree.length, rows))
    return False


def _are_labelled(tree: PageTree, rows: Sequence[int]) -> bool:
    """Return whether rows are the terms or the values of a ``dl``: values of one record, and no records."""
    terms = {"dt", "dd"}
    if tree.tags[rows[0]] in terms:
        return True
    inside = {tree.tags[child] for row in rows for child in tree.children[row]}
    return tree.tags[tree.parents[rows[0]]] == "dl" and inside <= terms


def is_side(tree: PageTree, row: int) -> bool:
    """Return whether an element is in a menu, a footer or another part around the content of a page."""
    around = (row, *islice(tree.ancestors(row), 6))
    return any(tree.tags[one] in _SIDE or not _SIDE_NAMES.isdisjoint(tree.names[one]) for one in around)


def _is_useful(column: RowColumn, count: int) -> bool:
    """Return whether a column says something of its row: it is not rare, and not the same in all rows."""
    if column.filled < max(2, 0.2 * count):
        return False
    texts = [texts for texts in column.texts if texts]
    shown = [text for row in texts for text in row if text]
    if not column.attr and all(text.endswith(":") for text in shown):
        return False  # labels of other columns
    return len(set(texts)) > 1 and bool(shown)


def _overlap(tree: PageTree, rows: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether rows are within other rows, or around them."""
    return any(
        tree.is_within(row, other) or tree.is_within(other, row)
        for row in rows[:20]
        for other in others[:MAX_OFFERED_ROWS]
    )


def heads_of(tree: PageTree, rows: Sequence[int]) -> Mapping[int, str]:
    """Return the heads of a table's columns by the place of the cell."""
    if tree.tags[rows[0]] != "tr":
        return {}
    table = next((one for one in tree.ancestors(rows[0]) if tree.tags[one] == "table"), None)
    if table is None:
        return {}
    for row in range(table, rows[0]):
        cells = tree.children[row]
        if tree.tags[row] == "tr" and cells and all(tree.tags[cell] == "th" for cell in cells):
            return {place: tree.text(cell) for place, cell in enumerate(cells) if tree.text(cell)}
    return {}


def _field(
    index: SelectorIndex, rows: Sequence[int], column: RowColumn, heads: Mapping[int, str]
) -> OfferedField:
    tree = index.tree
    first = next(parts[0] for parts in column.parts if parts)
    label = column.label or head_of(tree, first, rows, heads)
    texts = [text for row in column.texts for text in row]
    ahead = {"" if column.attr or column.is_list else label_in(text) for text in texts}
    own = ahead.pop() if len(ahead) == 1 else ""
    texts = [text.removeprefix(own).strip() for text in texts]
    label = label or own
    kind = "url" if column.attr in ("href", "src", "data-src") else type_of(texts)
    name = name_of(tree, first, attr="" if label else column.attr, label=label, kind=kind)
    if column.attr in ("href", "src", "data-src") and label:
        name = f"{as_name(label).removesuffix('_link')}_link" if column.attr == "href" else "image"
    locators = write_row_locators(index, rows, column, frozenset(name.split("_")))
    regex = f"^{escaped(own)}\\s?(.*)$" if own else ""
    shown = tuple(tuple(text.removeprefix(own).strip() for text in row) for row in column.texts)
    return OfferedField(name, label, tuple(locators), shown, column.is_list, column.attr, kind, regex)


def head_of(tree: PageTree, number: int, rows: Sequence[int], heads: Mapping[int, str]) -> str:
    """Return the head of the column that an element of a table's row is in."""
    if not heads:
        return ""
    homes = set(rows)
    while tree.parents[number] >= 0 and tree.parents[number] not in homes:
        number = tree.parents[number]
    siblings = tree.children[tree.parents[number]] if tree.parents[number] >= 0 else ()
    return heads.get(list(siblings).index(number), "") if number in siblings else ""


def _title(tree: PageTree, rows: Sequence[int]) -> str:
    table = next((one for one in tree.ancestors(rows[0]) if tree.tags[one] == "table"), None)
    for child in tree.children[table] if table is not None and tree.tags[rows[0]] == "tr" else ():
        if tree.tags[child] == "caption":
            return tree.text(child)
    return next(
        (
            tree.text(number)
            for number in range(rows[0] - 1, -1, -1)
            if tree.tags[number] in HEADINGS and 0 < tree.length(number) <= 2 * LABEL_CHARS
        ),
        "",
    )


def _ways(index: SelectorIndex, rows: Sequence[int]) -> Iterator[str]:
    """Yield selectors that go down to the rows from an element with a name, or from the body."""
    tree = index.tree
    tag = tree.tags[rows[0]]
    way = [tag]
    for outer in islice(tree.ancestors(rows[0]), 8):
        if tree.tags[outer] == "html":
            break
        for atom in index.atoms(outer)[:4]:
            if atom.kind != "tag" or tree.tags[outer] in ("body", "main", "table"):
                yield " > ".join((atom.css, *way))
        parent = tree.parents[outer]
        siblings = tree.children[parent] if parent >= 0 else ()
        alike = [one for one in siblings if tree.tags[one] == tree.tags[outer]]
        step = tree.tags[outer]
        if len(alike) > 1 and all(tree.is_within(row, outer) for row in rows):
            step += f":nth-of-type({alike.index(outer) + 1})"
        way.insert(0, step)


def _inner(tree: PageTree, rows: Sequence[int]) -> list[str]:
    """Return conditions on the parts of each row, which other elements of its name may lack."""
    tags = [[tree.tags[child] for child in tree.children[row]] for row in rows]
    common = sorted(set.intersection(*map(set, tags)) - {"*"})
    counts = {tag: min(there.count(tag) for there in tags) for tag in common}
    several = [f":has(> {tag}:nth-of-type({count}))" for tag, count in counts.items() if count > 1]
    below = [set(tree.tags[row + 1 : tree.ends[row]]) for row in rows]
    deeper = sorted(set.intersection(*below) - set(common) - {"*"})[:4]
    return [*(f":has(> {tag})" for tag in common), *several, *(f":has({tag})" for tag in deeper)]


# The record of a page.


def _record(pages: Sequence[SelectorIndex], rows: Sequence[int]) -> Offer:
    first = pages[0].tree
    data = [read_data_values(page.tree.document, page.tree.url) for page in pages]
    of_data = _data_fields(data)
    shown = _shown_fields(pages, rows)
    known = {plain(one.texts[0][0]) for one in shown if one.texts and one.texts[0]}
    fields = [*shown, *(one for one in of_data if plain(one.texts[0][0]) not in known)][:MAX_PAGE_FIELDS]
    named = [
        replace(one, name=name) for one, name in zip(fields, unique(one.name for one in fields), strict=True)
    ]
    title = next((one.locators[0].path.partition(".")[0] for one in of_data), "")
    kind = title or next((first.text(n) for n, tag in enumerate(first.tags) if tag == "h1"), "")
    return Offer(OfferKind.PAGE, kind, "", 1, tuple(named))


def _data_fields(data: Sequence[Sequence[DataValue]]) -> list[OfferedField]:
    """Return what JSON-LD says of the main thing of all pages: of its commonest type."""
    first, *others = data
    there = [{one.locator: one.values for one in page} for page in others]
    found = []
    for one in first:
        kind, _, path = one.locator.path.partition(".")
        if one.locator.kind is not LocatorKind.JSONLD or kind in _FURNITURE or path.count(".") > 2:
            continue
        if not all(one.locator in page for page in there) or one.values[0].startswith("http"):
            continue
        texts = (one.values, *(page[one.locator] for page in there))
        is_list = any(len(values) > 1 for values in texts)
        values = [text for row in texts for text in row]
        name = as_name(path.rpartition(".")[2]) or "text"
        found.append(OfferedField(name, path, (one.locator,), texts, is_list, "", type_of(values)))
    return found


_FURNITURE = frozenset(
    {
        "WebSite",
        "WebPage",
        "Organization",
        "BreadcrumbList",
        "SearchAction",
        "ImageObject",
        "Person",
        "ItemList",
    }
)


def _shown_fields(pages: Sequence[SelectorIndex], rows: Sequence[int]) -> list[OfferedField]:
    """Return the heading, and the named values that half of the pages have."""
    index, *others = pages
    tried = islice(_values(index.tree, rows), MAX_TRIED_VALUES)
    found = (_shown_field(index, others, number, label, name) for number, label, name in tried)
    return list(islice((field for field in found if field is not None), MAX_PAGE_FIELDS))


def _values(tree: PageTree, rows: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    """Yield the elements outside of rows that may be a value, with label and name; equal ones once."""
    inside = {number for row in rows for number in range(row, tree.ends[row])}
    seen: set[tuple[str, str]] = set()
    for number in range(min(len(tree), MAX_ELEMENTS)):
        if number in inside or not 0 < tree.length(number) <= MAX_VALUE_CHARS:
            continue
        label = _page_label(tree, number)
        if not _may_be_value(tree, number, label):
            continue
        name = _name_of_value(tree, number, label)
        if (key := (name, tree.plain(number))) not in seen:
            seen.add(key)
            yield number, label, name


def _shown_field(
    index: SelectorIndex, others: Sequence[SelectorIndex], number: int, label: str, name: str
) -> OfferedField | None:
    tree = index.tree
    words = frozenset(name.split("_"))
    hits = _elsewhere(index, others, number, label, words)
    if hits is None:
        return None
    place = Place(index, (number,))
    places = [
        place,
        *(Place(other, tuple(there)) for other, there in zip(others, hits, strict=True) if there),
    ]
    locators = [*_by_label(tree, number, label), *write_locators(places, words, is_list=False)]
    locators = [one for one in dict.fromkeys(locators) if _finds(one, places)][:MAX_LOCATORS]
    if not locators:
        return None
    texts = (
        (tree.text(number),),
        *(tuple(map(other.tree.text, there)) for other, there in zip(others, hits, strict=True)),
    )
    kind = type_of([text for row in texts for text in row])
    return OfferedField(name, label, tuple(locators), texts, False, "", kind)


def _may_be_value(tree: PageTree, number: int, label: str) -> bool:
    """Return whether an element is the main heading, has a label, is marked up, or has a name of its own."""
    if not tree.text(number):
        return False
    attributes = tree.elements[number].attrs
    if label or tree.tags[number] == "h1" or attributes.get("itemprop") or attributes.get("property"):
        return True
    if tree.ends[number] - number > MAX_VALUE_ELEMENTS or tree.tags[number] in (*HEADINGS, "button"):
        return False
    wraps = any(tree.text(child) == tree.text(number) for child in tree.children[number])
    return not wraps and name_of(tree, number) != NO_NAME and not is_side(tree, number)


def _name_of_value(tree: PageTree, number: int, label: str) -> str:
    if tree.tags[number] == "h1" and not label:
        return "title"
    return name_of(tree, number, label=label, kind=type_of([tree.text(number)]))


def _elsewhere(
    index: SelectorIndex,
    others: Sequence[SelectorIndex],
    number: int,
    label: str,
    words: frozenset[str],
) -> list[list[int]] | None:
    """Return the element of a value on each other page; None if no selector finds it on half of them."""
    for by_label in _by_label(index.tree, number, label):
        found = [by_label.find(other.tree)[:1] for other in others]
        if _is_on_half(found):
            return found
    for selection in index.selections((number,), words, is_list=False):
        found = [other.select(selection)[:1] for other in others]
        if _is_on_half(found):
            return found
    for locator in write_locators([Place(index, (number,))], words, is_list=False):
        found = [locator.find(other.tree)[:1] for other in others]
        if all(found):
            return found
    return None


def _is_on_half(found: Sequence[Sequence[int]]) -> bool:
    return 2 * sum(map(bool, found)) >= len(found)


def _finds(locator: Locator, places: Sequence[Place]) -> bool:
    return all(locator.find(place.index.tree)[:1] == list(place.numbers[:1]) for place in places)


def _by_label(tree: PageTree, number: int, label: str) -> Iterator[Locator]:
    """Yield expressions for a value by the text before it: in an element of its own, or in the same one."""
    if not label or '"' in label:
        return
    tag, parent = tree.tags[number], tree.parents[number]
    ahead = [one for one in tree.children[parent] if one < number and tree.text(one) == label]
    if ahead:
        start = f'//{tree.tags[ahead[-1]]}[normalize-space()="{label}"]'
        yield Locator(LocatorKind.XPATH, f"{start}/following-sibling::{tag}[1]")
    elif tree.text(parent).startswith(label):
        start = f'//{tree.tags[parent]}[starts-with(normalize-space(), "{label}")]'
        yield Locator(LocatorKind.XPATH, f"{start}/{tag}[1]")


def _page_label(tree: PageTree, number: int) -> str:
    """Return the label of a value such as `dd` behind `dt`, or a text behind `Price:`."""
    tag = tree.tags[number]
    if tag in ("dd", "td"):
        siblings = tree.children[tree.parents[number]] if tree.parents[number] >= 0 else ()
        place = list(siblings).index(number) if number in siblings else 0
        ahead = siblings[place - 1] if place else -1
        if not place or (tag == "td" and len(siblings) != 2) or (tag == "dd" and tree.tags[ahead] != "dt"):
            return ""
        return tree.text(ahead) if tree.length(ahead) <= LABEL_CHARS else ""
    if tree.length(number) > _SHORT_CHARS or tag in ("a", "li") or tree.ends[number] - number > 3:
        return ""
    label = tree.label(number)
    return label if label.endswith(":") and len(label) <= LABEL_CHARS // 2 else ""


def link_in_row(tree: PageTree, offer: Offer, place: int) -> str | None:
    """Return where the link of one row leads; None if the row has none."""
    row = offer.rows[place]
    if tree.elements[row].matches(offer.link):
        return link_of(tree, row)
    node = tree.elements[row].select_one(offer.link)
    number = None if node is None else tree.numbers.get(node)
    return None if number is None else link_of(tree, number)
