"""The columns of a list: parts at the same place of its rows, with their selectors within a row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from agentic.core.linear import LinearPattern, compile_linear
from agentic.core.wrappers.addresses import value_at
from agentic.core.wrappers.building.naming import is_price, type_of
from agentic.core.wrappers.candidates import MAX_TEXT_CHARS
from agentic.core.wrappers.locators import Locator, LocatorKind
from agentic.core.wrappers.selecting import Atom, Selection, SelectorIndex, cost_of, names_in
from agentic.core.wrappers.tree import LABEL_CHARS, PageTree

MAX_PARTS = 250
"""Later elements of a row are not considered."""

MAX_PLACES = 12
"""Equal parts in a row that count as columns of their own; more of them are a list."""

MAX_COLUMNS = 40
MAX_ROW_LOCATORS = 3
URLS = {"a": ("href",), "area": ("href",), "img": ("src", "data-src"), "time": ("datetime",)}
_ADDRESSES = frozenset({"href", "src", "data-src"})
_MARKS = frozenset({"sup", "sub"})
_NAMES = frozenset({"dt", "th", "b", "strong", "label"})
_CELLS = frozenset({"td", "th", "dd", "dt"})
_NO_FRAGMENT = frozenset({"tr", "td", "th", "tbody", "thead", "tfoot"})
"""A row of these names cannot be read as a page of its own, so XPath does not find anything in it."""

_STEADY = 0.8
_CURRENCY_CHARS = 3
LIKELY = 0.75
"""Likeness from which the values of a column belong to one place."""

_ENOUGH = 2
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RowColumn:
    """Parts at one place of the rows.

    Attributes:
        parts: The elements of each row; empty where a row has none.
        texts: Their texts, or the values of the attribute.
        attr: Attribute that holds the value; empty for the text.
        is_list: Whether rows have several of them.
        label: The text that names it in each row; may be empty.
    """

    parts: tuple[tuple[int, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    attr: str = ""
    is_list: bool = False
    label: str = ""

    @property
    def filled(self) -> int:
        """How many rows have it."""
        return sum(map(bool, self.parts))


def columns_of(tree: PageTree, rows: Sequence[int], *, has_lists: bool = False) -> list[RowColumn]:
    """Return the columns of rows in the order of the page, each text once.

    Args:
        tree: The page.
        rows: The elements of the rows.
        has_lists: Whether equal parts of a row are always a list, also where each row has equally many.
    """
    read = [list(_parts(tree, row)) for row in rows]
    usual = Counter(label for parts in read for label in {label for _, _, label in parts if label})
    found: dict[Key, list[list[int]]] = {}
    labels: dict[Key, str] = {}
    for place, parts in enumerate(read):
        for path, number, text in parts:
            label = text if usual[text] > 1 else ""  # a title is before its text in one row only
            key = (*path, label)
            found.setdefault(key, [[] for _ in rows])[place].append(number)
            labels[key] = label
    columns = [
        one
        for key, parts in islice(found.items(), 4 * MAX_COLUMNS)
        for one in _split(tree, key, parts, labels[key], has_lists=has_lists)
    ]
    return _once(_joined(tree, columns))[:MAX_COLUMNS]


def write_row_locators(
    index: SelectorIndex,
    rows: Sequence[int],
    column: RowColumn,
    words: frozenset[str],
    *,
    among: RowColumn | None = None,
    regex: str = "",
) -> list[Locator]:
    """Return selectors of a column within a row, of different kinds, those that last longest first.

    A selector gives the right part in each row that has it, and nothing in the others.

    Args:
        index: The page.
        rows: The elements of the rows.
        column: The column.
        words: Words that speak for a name.
        among: Equal parts; an expression takes the parts of the column from them.
        regex: The expression.
    """
    if among is not None:
        return _picked(index, rows, column, among, compile_linear(regex), words)
    found: list[Locator] = []
    known: list[frozenset[Atom]] = []
    for selection in _selections(index, rows, column, words):
        names = names_in(selection) or frozenset((selection.atom,))
        if any(one <= names for one in known) or not _gives(
            index.select(selection), index.tree, rows, column
        ):
            continue
        known.append(names)
        found.append(Locator(LocatorKind.CSS, selection.css))
        if len(found) == MAX_ROW_LOCATORS - 1:
            break
    others = (*_labelled(index.tree, rows, column), *_counted(index.tree, rows, column))
    named = bool(column.label)
    for one in others:
        if len(found) >= (MAX_ROW_LOCATORS if "-child(" not in one.path else _ENOUGH):
            break
        if one.path not in {there.path for there in found}:
            is_first = named and one.kind is LocatorKind.XPATH and not one.path.startswith("//*")
            found.insert(0, one) if is_first else found.append(one)
    return found


def _picked(
    index: SelectorIndex,
    rows: Sequence[int],
    column: RowColumn,
    among: RowColumn,
    fitting: LinearPattern,
    words: frozenset[str],
) -> list[Locator]:
    """Return selectors of equal parts: the first part that an expression fits is in the column."""
    found: list[Locator] = []
    for selection in _selections(index, rows, among, words):
        hits = index.select(selection)
        given = tuple(
            next(
                ((hit,) for hit in _within(hits, index.tree, row) if fitting.search(index.tree.text(hit))), ()
            )
            for row in rows
        )
        if given == column.parts:
            found.append(Locator(LocatorKind.CSS, selection.css))
    ways = _counted(index.tree, rows, among) if among.is_list else ()
    return list(dict.fromkeys((*found[: MAX_ROW_LOCATORS - 1], *ways)))[:MAX_ROW_LOCATORS]


# The parts of a row.


def _parts(tree: PageTree, row: int) -> Iterator[tuple[Key, int, str]]:
    """Yield the parts of a row that have a value: the place of their column, the element, its label."""
    paths: dict[int, Key] = {row: ()}
    for number in range(row, min(tree.ends[row], row + MAX_PARTS)):
        tag = tree.tags[number]
        if number != row:
            paths[number] = (*paths[tree.parents[number]], tag, _first_name(tree, number))
        for attr in URLS.get(tag, ()):
            if tree.elements[number].attrs.get(attr):
                yield (*paths[number], "@", attr), number, ""
                break
        if 0 < tree.length(number) <= MAX_TEXT_CHARS and _is_carrier(tree, number, row):
            label = _label(tree, number, row)
            yield (*paths[number], "#"), number, label


def _is_carrier(tree: PageTree, number: int, row: int) -> bool:
    """Return whether an element holds a text of its own, and does not only wrap another one."""
    if not tree.text(number):
        return False
    if tree.tags[number] in _MARKS and number != row and _has_own_text(tree, tree.parents[number]):
        return False
    return _has_own_text(tree, number) or _is_split_price(tree, number)


def _is_split_price(tree: PageTree, number: int) -> bool:
    """Return whether an element is a price with currency, amount and cents in parts of their own."""
    inner, text = tree.children[number], tree.text(number)
    if len(inner) < 2 or not is_price(text) or sum(map(str.isalpha, text)) > _CURRENCY_CHARS:
        return False
    return not any(is_price(tree.text(one)) for one in inner)


def _has_own_text(tree: PageTree, number: int) -> bool:
    inner = "".join(tree.text(child) for child in tree.children[number])
    return "".join(inner.split()) != "".join(tree.text(number).split())


def _label(tree: PageTree, number: int, row: int) -> str:
    """Return the text of a name element before a part, such as `dt` before `dd`."""
    parent = tree.parents[number]
    if number == row or parent < 0:
        return ""
    siblings = tree.children[parent]
    place = bisect_left(siblings, number)
    if not place:
        return ""
    ahead = siblings[place - 1]
    if not 0 < tree.length(ahead) <= 2 * LABEL_CHARS or tree.tags[number] in _NAMES - {"b", "strong"}:
        return ""
    text = tree.text(ahead)
    is_name = tree.tags[ahead] in ("dt", "th") or (tree.tags[ahead] in _NAMES and text.endswith(":"))
    is_name = is_name or (text.endswith(":") and len(text.split()) <= 4)
    return text if is_name and len(text) <= LABEL_CHARS and not any(map(str.isdigit, text)) else ""


def _first_name(tree: PageTree, number: int) -> str:
    attributes = tree.elements[number].attrs
    given = attributes.get("itemprop") or attributes.get("class")
    names = given.split() if isinstance(given, str) else given or ()
    return names[0] if names else ""


def _split(
    tree: PageTree, key: Key, parts: Sequence[list[int]], label: str, *, has_lists: bool
) -> Iterator[RowColumn]:
    """Yield one column for equal parts, or one for each place if most rows have equally many."""
    counts = Counter(map(len, filter(None, parts)))
    usual, times = counts.most_common(1)[0]
    attr = str(key[-2]) if key[-3:-2] == ("@",) else ""
    is_cells = not attr and len(key) >= 4 and key[-4] in _CELLS
    if usual == 1 and max(counts) == 1:
        yield _column(tree, parts, attr, label)
    elif has_lists and not attr:
        yield _column(tree, parts, attr, label, is_list=True)
    elif usual <= MAX_PLACES and (times >= _STEADY * sum(counts.values()) or is_cells):
        for place in range(usual):
            yield _placed(tree, parts, place, usual, attr, label)
    elif not attr and usual <= MAX_PLACES and _differ(found := _places(tree, parts, usual, label)):
        yield from found
    elif not attr:
        yield _column(tree, parts, attr, label, is_list=True)
    else:
        yield _column(tree, [row[:1] for row in parts], attr, label)


def _places(tree: PageTree, parts: Sequence[list[int]], usual: int, label: str) -> list[RowColumn]:
    return [_placed(tree, parts, place, usual, "", label) for place in range(usual)]


def _differ(columns: Sequence[RowColumn]) -> bool:
    """Return whether equal parts have values of several types in all rows, so that they are not a list."""
    kinds = [{type_of([texts[0]]) for texts in one.texts if texts and texts[0]} for one in columns]
    return all(len(kind) == 1 for kind in kinds) and len(set.union(*kinds)) > 1


def _placed(
    tree: PageTree, parts: Sequence[list[int]], place: int, usual: int, attr: str, label: str
) -> RowColumn:
    """Return the column of a place among equal parts, counted from the end that gives like values."""
    ways = ways_to_place(parts, place, usual)
    if any("rowspan" in tree.elements[number].attrs for row in parts for number in row):
        ways = ways[1:]  # cells that span rows are the first ones of their row, as a rule
    columns = [_column(tree, way, attr, label) for way in ways]
    return max(columns, key=lambda one: (likeness_of(one.texts, parts) >= LIKELY, one.filled))


def ways_to_place(
    parts: Sequence[Sequence[int]], place: int, count: int
) -> list[tuple[tuple[int, ...], ...]]:
    """Return the part at a place of each row, where one row has ``count``: from the first, from the last."""
    last = count - place
    from_first = tuple(tuple(row[place : place + 1]) for row in parts)
    from_last = tuple((row[len(row) - last],) if len(row) >= last else () for row in parts)
    return [from_first, from_last]


def likeness_of(texts: Sequence[Sequence[str]], parts: Sequence[Sequence[int]]) -> float:
    """Return how far the values of unusual rows are like the values of rows with as many parts as usual.

    Args:
        texts: The values of each row.
        parts: All equal parts of each row, from which the values are.
    """
    usual = Counter(map(len, filter(None, parts))).most_common(1)[0][0]
    values = [(row[0], len(there)) for row, there in zip(texts, parts, strict=True) if row and row[0]]
    counts = Counter(text for text, _ in values)
    common = [text for text, count in values if count == usual]
    others = [text for text, count in values if count != usual]
    if not common or not others:
        return 1.0
    kind = type_of(common)
    same = sum(type_of([text]) == kind for text in others) / len(others)
    again = [sum(counts[text] > 1 for text in some) / len(some) for some in (common, others)]
    return (same + 1 - abs(again[0] - again[1])) / 2


def _column(
    tree: PageTree, parts: Sequence[Sequence[int]], attr: str, label: str, *, is_list: bool = False
) -> RowColumn:
    return RowColumn(
        tuple(map(tuple, parts)),
        tuple(tuple(value_at(tree, number, attr) for number in row) for row in parts),
        attr,
        is_list,
        label,
    )


def _joined(tree: PageTree, columns: Sequence[RowColumn]) -> list[RowColumn]:
    """Return columns where those that no row has both of, and that differ by class only, are one."""
    kinds: dict[tuple[object, ...], list[RowColumn]] = defaultdict(list)
    for one in columns:
        first = next(number for row in one.parts for number in row)
        row = next(place for place, parts in enumerate(one.parts) if parts)
        depth = tree.path(first)
        key = (one.attr, one.is_list, one.label, depth)
        for place, other in enumerate(kinds[key]):
            if not any(a and b for a, b in zip(one.parts, other.parts, strict=True)) and row >= 0:
                kinds[key][place] = RowColumn(
                    tuple(a or b for a, b in zip(other.parts, one.parts, strict=True)),
                    tuple(a or b for a, b in zip(other.texts, one.texts, strict=True)),
                    one.attr,
                    one.is_list,
                    one.label,
                )
                break
        else:
            kinds[key].append(one)
    found = [one for kind in kinds.values() for one in kind]
    return sorted(found, key=lambda one: next(row for row in one.parts if row)[0])


def _once(columns: Sequence[RowColumn]) -> list[RowColumn]:
    """Return columns without those that say the same as a deeper one."""
    found: dict[object, RowColumn] = {}
    for one in columns:
        found[one.attr in _ADDRESSES, one.texts] = one
    return sorted(found.values(), key=lambda one: next(row for row in one.parts if row)[0])


def attribute_column(tree: PageTree, rows: Sequence[int], tag: str, attr: str) -> RowColumn:
    """Return the first element of a name in each row that has an attribute; the row itself counts."""
    parts = [
        [
            number
            for number in range(row, min(tree.ends[row], row + MAX_PARTS))
            if tree.tags[number] == tag and tree.elements[number].attrs.get(attr)
        ][:1]
        for row in rows
    ]
    return _column(tree, parts, attr, "")


def columns_at(tree: PageTree, rows: Sequence[int], numbers: Sequence[int]) -> list[RowColumn]:
    """Return the elements of all rows that are at the places of some elements, by their names and classes."""
    wanted: dict[Key, list[list[int]]] = {}
    for number in numbers:
        row = rows[bisect_right(rows, number) - 1]
        wanted[_path(tree, row, number)] = [[] for _ in rows]
    for place, row in enumerate(rows if wanted else ()):
        for number in range(row, min(tree.ends[row], row + MAX_PARTS)):
            found = wanted.get(_path(tree, row, number))
            if found is not None and tree.text(number):
                found[place].append(number)
    return [_column(tree, parts, "", "", is_list=True) for parts in wanted.values()]


def counted_columns(tree: PageTree, rows: Sequence[int], numbers: Sequence[int]) -> Iterator[RowColumn]:
    """Yield the elements of all rows that counting finds at the places of some elements.

    Values are at one place with other markup in some rows: `<td>North</td>`, `<td><a>South</a> (East)</td>`.
    """
    for number in numbers:
        row = rows[bisect_right(rows, number) - 1]
        ways = (_way(tree, row, number, is_last=is_last) for is_last in (False, True))
        for way in dict.fromkeys(ways):
            hits = [_follow(tree, row, way) for row in rows]
            parts = [(hit,) if hit is not None and tree.text(hit) else () for hit in hits]
            yield _column(tree, parts, "", "")


def _path(tree: PageTree, row: int, number: int) -> Key:
    steps: list[tuple[str, str]] = []
    while number != row:
        steps.insert(0, (tree.tags[number], _first_name(tree, number)))
        number = tree.parents[number]
    return tuple(steps)


# Their selectors.


def _selections(
    index: SelectorIndex, rows: Sequence[int], column: RowColumn, words: frozenset[str]
) -> list[Selection]:
    tree = index.tree
    first = [parts[0] for parts in column.parts if parts]
    home = {parts[0]: row for row, parts in zip(rows, column.parts, strict=True) if parts}
    shared = _shared([index.atoms(number) for number in first])
    found = [Selection(None, atom) for atom in shared if atom.kind != "id"]
    around: list[list[tuple[Atom, ...]]] = []
    for number in first:
        outers = [outer for outer in tree.ancestors(number) if outer > home[number]]
        around.append([index.atoms(outer) for outer in outers[:5]])
    for level in range(min(map(len, around), default=0)):
        scopes = [atom for atom in _shared([one[level] for one in around]) if atom.kind != "id"]
        found += [Selection(scope, atom) for scope in scopes[:4] for atom in shared[:4] if atom.kind != "id"]
    return sorted(set(found), key=lambda one: (cost_of(one, words), len(one.css), one.css))


def _shared(atoms: Sequence[Sequence[Atom]]) -> list[Atom]:
    first, *others = atoms
    sets = [set(one) for one in others]
    return [atom for atom in first if all(atom in one for one in sets)]


def _gives(hits: Sequence[int], tree: PageTree, rows: Sequence[int], column: RowColumn) -> bool:
    for row, parts in zip(rows, column.parts, strict=True):
        there = _within(hits, tree, row)
        if column.is_list:
            if tuple(there) != parts:
                return False
        elif not _is_part(tree, there[0] if there else None, parts, column.attr):
            return False
    return True


def _within(hits: Sequence[int], tree: PageTree, row: int) -> Sequence[int]:
    """Return the hits that are in a row."""
    start = bisect_left(hits, row)
    return hits[start : bisect_left(hits, tree.ends[row], start)]


def _is_part(tree: PageTree, hit: int | None, parts: Sequence[int], attr: str) -> bool:
    """Return whether an element is the part of a row; an empty one is as good as none."""
    if not parts:
        return hit is None or not value_at(tree, hit, attr)
    return hit == parts[0]


def _counted(tree: PageTree, rows: Sequence[int], column: RowColumn) -> Iterator[Locator]:
    """Yield selectors that count the elements on the way from the row: from the first, and from the last."""
    if column.is_list:
        yield from _counted_list(tree, rows, column)
        return
    if all(not parts or parts[0] == row for row, parts in zip(rows, column.parts, strict=True)):
        yield Locator(LocatorKind.CSS, ":scope")
        return
    for is_named, is_last in ((True, False), (True, True), (False, False), (False, True)):
        ways: Counter[tuple[str, ...]] = Counter(
            _way(tree, row, parts[0], is_last=is_last, is_named=is_named)
            for row, parts in zip(rows, column.parts, strict=True)
            if parts
        )
        way, _ = ways.most_common(1)[0]
        if way and _leads_right(tree, rows, column, way):
            yield Locator(LocatorKind.CSS, " > ".join((":scope", *way)))


def _counted_list(tree: PageTree, rows: Sequence[int], column: RowColumn) -> Iterator[Locator]:
    """Yield the selector of all elements of a name below one that is found by counting."""
    first = next((row, parts) for row, parts in zip(rows, column.parts, strict=True) if parts)
    way = _way(tree, first[0], tree.parents[first[1][0]], is_last=False)
    tag = tree.tags[first[1][0]]
    for row, parts in zip(rows, column.parts, strict=True):
        home = _follow(tree, row, way)
        there = [] if home is None else [one for one in tree.children[home] if tree.tags[one] == tag]
        if tuple(there) != parts:
            return
    yield Locator(LocatorKind.CSS, " > ".join((":scope", *way, tag)))


def _way(tree: PageTree, row: int, number: int, *, is_last: bool, is_named: bool = True) -> tuple[str, ...]:
    """Return the steps from a row to an element: counted among its name, or among all elements."""
    steps: list[str] = []
    while number != row:
        tag = tree.tags[number] if is_named else ""
        alike = [one for one in tree.children[tree.parents[number]] if not tag or tree.tags[one] == tag]
        place = alike.index(number)
        kind = "of-type" if is_named else "child"
        if is_last:
            steps.insert(0, f"{tag}:nth-last-{kind}({len(alike) - place})")
        else:
            steps.insert(0, f"{tag}:nth-{kind}({place + 1})")
        number = tree.parents[number]
    return tuple(steps)


def _leads_right(tree: PageTree, rows: Sequence[int], column: RowColumn, way: Sequence[str]) -> bool:
    for row, parts in zip(rows, column.parts, strict=True):
        if not _is_part(tree, _follow(tree, row, way), parts, column.attr):
            return False
    return True


def _follow(tree: PageTree, number: int, way: Sequence[str]) -> int | None:
    for step in way:
        tag, _, count = step.partition(":nth-")
        alike = [one for one in tree.children[number] if tag in ("", tree.tags[one])]
        place = int(count[count.index("(") + 1 : -1])
        if len(alike) < place:
            return None
        number = alike[-place] if count.startswith("last") else alike[place - 1]
    return number


def _labelled(tree: PageTree, rows: Sequence[int], column: RowColumn) -> Iterator[Locator]:
    if not column.label or '"' in column.label or column.attr or tree.tags[rows[0]] in _NO_FRAGMENT:
        return
    first = next(parts[0] for parts in column.parts if parts)
    siblings = tree.children[tree.parents[first]]
    ahead = siblings[bisect_left(siblings, first) - 1]
    tag = tree.tags[first]
    for name, step in ((tree.tags[ahead], tag), ("*", "*")):  # the second one survives other elements
        path = f'//{name}[normalize-space()="{column.label}"]/following-sibling::{step}[1]'
        yield Locator(LocatorKind.XPATH, path)


def texts_by_row(column: RowColumn) -> Mapping[int, str]:
    """Return the first text of each row that has one."""
    return {place: texts[0] for place, texts in enumerate(column.texts) if texts and texts[0]}
