"""Repeated elements of a page that look like the rows of one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from agentic.core.wrappers.candidates import MAX_ELEMENTS
from agentic.core.wrappers.selecting import is_durable
from agentic.core.wrappers.tree import PageTree

MIN_ROWS = 2
MAX_ROWS = 10_000
MAX_KINDS = 12
"""Different kinds of children of one element; further kinds are left out."""

_MAX_PARTS = 80
_DEPTH = 5
_CELLS = frozenset({"td", "th"})
_ALIKE = 0.5
_LEVELS = 3
_FAR = 6
"""Elements between a row and the one around all rows: farther ones have to look alike, too."""

_NO_ROWS = frozenset(
    {"body", "head", "html", "br", "hr", "img", "td", "th", "thead", "tbody", "tfoot", "col"}
)
Shape = frozenset[tuple[str, ...]]


def row_groups(tree: PageTree, *, is_far: bool = False) -> list[tuple[int, ...]]:
    """Return groups of elements that look alike, below one element or below several that are alike.

    Elements between them that look different, such as advertisements, do not belong to a group, and rows may
    lack some of their parts.

    Args:
        tree: The page.
        is_far: Whether rows may have only a far element in common, as in sections with a list each; these
            groups are the last ones.
    """
    shapes = _Shapes(tree)
    levels = _FAR if is_far else _LEVELS
    found: dict[tuple[int, ...], None] = {}
    alike: dict[tuple[object, ...], list[tuple[int, ...]]] = {}
    for parent in range(min(len(tree), MAX_ELEMENTS)):
        for group in _kinds(tree, shapes, tree.children[parent]):
            if len(group) >= MIN_ROWS:
                found[group] = None
            for key in _places(tree, parent, tree.tags[group[0]], levels):
                alike.setdefault(key, []).append(group)
    for groups in alike.values():
        for merged in _merged(tree, shapes, groups):
            found.setdefault(merged)
    return [group for group in found if MIN_ROWS <= len(group) <= MAX_ROWS]


class _Shapes:
    """The parts below each element, and its classes; each is read once."""

    def __init__(self, tree: PageTree) -> None:
        self._tree = tree
        self._shapes: dict[int, Shape] = {}

    def alike(self, one: int, other: int) -> bool:
        """Return whether two elements of one name look like rows of one list."""
        a, b = self._of(one), self._of(other)
        parts = len(a & b) / len(a | b) if a or b else 1.0
        mine, others = _classes(self._tree, one), _classes(self._tree, other)
        if not (mine or others):
            return parts >= _ALIKE
        names = len(mine & others) / len(mine | others)
        return 0.6 * parts + 0.4 * names >= _ALIKE

    def _of(self, number: int) -> Shape:
        found = self._shapes.get(number)
        if found is None:
            found = self._shapes[number] = frozenset(self._paths(number))
        return found

    def _paths(self, number: int) -> Iterator[tuple[str, ...]]:
        tree = self._tree
        paths: dict[int, tuple[str, ...]] = {number: ()}
        for inner in range(number + 1, min(tree.ends[number], number + _MAX_PARTS)):
            outer = tree.parents[inner]
            name = tree.tags[inner]
            if outer == number and name in _CELLS:  # how many cells a row has says which kind it is
                name += str(tree.children[outer].index(inner))
            path = (*paths[outer], name)
            paths[inner] = path[-_DEPTH:]
            yield paths[inner]


def kinds_of(tree: PageTree, children: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the kinds of the children of an element, each in document order."""
    return _kinds(tree, _Shapes(tree), children)


def _kinds(tree: PageTree, shapes: _Shapes, children: Sequence[int]) -> list[tuple[int, ...]]:
    kinds: list[list[int]] = []
    for child in children:
        tag = tree.tags[child]
        if tag in _NO_ROWS or (tag == "tr" and _is_head(tree, child)):
            continue
        for kind in kinds:
            if tree.tags[kind[0]] == tag and shapes.alike(kind[0], child):
                kind.append(child)
                break
        else:
            if len(kinds) < MAX_KINDS:
                kinds.append([child])
    return [tuple(kind) for kind in kinds]


def _is_head(tree: PageTree, row: int) -> bool:
    return all(tree.tags[cell] == "th" for cell in tree.children[row])


def _places(tree: PageTree, parent: int, tag: str, levels: int) -> Iterator[tuple[object, ...]]:
    """Yield an element around a group and the names on the way to it, for the nearest few."""
    way = [tag, tree.tags[parent]]
    for outer in islice(tree.ancestors(parent), levels - 1):
        yield (outer, *way)
        way.append(tree.tags[outer])


def _merged(tree: PageTree, shapes: _Shapes, groups: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    kinds: list[list[tuple[int, ...]]] = []
    for group in groups:
        for kind in kinds:
            if shapes.alike(kind[0][0], group[0]) and not _are_apart(tree, kind[0][0], group[0]):
                kind.append(group)
                break
        else:
            if len(kinds) < MAX_KINDS:
                kinds.append([group])
    for kind in kinds:
        if len(kind) > 1:
            yield tuple(sorted(number for group in kind for number in group))


def _are_apart(tree: PageTree, one: int, other: int) -> bool:
    """Return whether the elements around two rows have classes of other meanings: `ul.menu`, `ul.results`.

    Where the rows have only a far element in common, the elements around them have to look alike, too.
    """
    around = zip(tree.ancestors(one), tree.ancestors(other), strict=False)
    least = 0.0
    for place, (mine, others) in enumerate(around):
        if mine == others:
            return place > _LEVELS and least < _ALIKE
        names = [_meanings(tree, outer) for outer in (mine, others)]
        shared = len(names[0] & names[1]) / len(names[0] | names[1]) if all(names) else float(not any(names))
        if place < _LEVELS and all(names) and not shared:
            return True
        least = min(least, shared) if place else shared
    return False


def _meanings(tree: PageTree, number: int) -> frozenset[str]:
    """Return the classes of an element that a person chose, without their numbers: `featured_3`."""
    return frozenset(name.rstrip("0123456789") for name in _classes(tree, number) if is_durable(name))


def _classes(tree: PageTree, number: int) -> frozenset[str]:
    given = tree.elements[number].attrs.get("class")
    return frozenset(given.split() if isinstance(given, str) else given or ())
