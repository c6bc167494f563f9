"""Locators: independent places of a field, so that one change does not break all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from turbohtml import Element

from agentic.core.wrappers.addresses import value_of
from agentic.core.wrappers.selecting import Atom, Selection, SelectorIndex, is_durable, is_frail, names_in
from agentic.core.wrappers.tree import LABEL_CHARS, PageTree

MAX_LOCATORS = 5
MAX_STEPS = 6
_NAMES = frozenset({"id", "attr", "class"})
_PARTS = frozenset({"main", "article"})
ENOUGH = 2


class LocatorKind(StrEnum):
    """How a locator is read, by the word that rules of fields have for it."""

    CSS = "selector"
    XPATH = "xpath"
    JSONLD = "jsonld"
    META = "meta"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Locator:
    """One place of a field.

    Attributes:
        kind: How to read ``path``.
        path: A selector, an expression, or a path in data.
        script: Of ``json``: the id of the script.
        attr: Attribute of the elements that holds the value; empty for their text.
    """

    kind: LocatorKind
    path: str
    script: str = ""
    attr: str = ""

    @property
    def is_shown(self) -> bool:
        """Whether it leads to elements, and not to data."""
        return self.kind in (LocatorKind.CSS, LocatorKind.XPATH)

    def find(self, tree: PageTree) -> list[int]:
        """Return the visible elements that it leads to, in document order; none for places in data.

        An expression for a text or a number leads to no element.

        Raises:
            ValueError: ``path`` is not valid.
        """
        numbers = tree.numbers
        return [numbers[one] for one in self._elements(tree) if one in numbers]

    def read(self, tree: PageTree) -> list[str]:
        """Return the texts of the elements that it leads to or between them, or the values of an attribute.

        Attributes of the head count: ``meta`` has its value there.

        Raises:
            ValueError: ``path`` is not valid.
        """
        if not self.attr:
            return self._between(tree) or [tree.text(number) for number in self.find(tree)]
        return [value for one in self._elements(tree) if (value := value_of(tree, one, self.attr))]

    def _elements(self, tree: PageTree) -> list[Element]:
        if self.kind is LocatorKind.CSS:
            found: object = tree.document.select(self.path)
        elif self.kind is LocatorKind.XPATH:
            found = tree.document.xpath(self.path)
        else:
            return []
        return [one for one in found if isinstance(one, Element)] if isinstance(found, list) else []

    def _between(self, tree: PageTree) -> list[str]:
        """Return the texts between elements, as in ``<b>Pages:</b> 96<br>``, that an expression leads to."""
        if self.kind is not LocatorKind.XPATH or "text()" not in self.path:
            return []
        found = tree.document.xpath(self.path)
        there = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
        return [" ".join(text.split()) for text in there]


@dataclass(frozen=True, slots=True)
class Place:
    """The elements of a field on one page."""

    index: SelectorIndex
    numbers: tuple[int, ...]


def write_locators(
    places: Sequence[Place], words: frozenset[str], *, is_list: bool, attr: str = ""
) -> list[Locator]:
    """Return locators of different kinds that give the elements on each page, those that last longest first.

    Args:
        places: One page or more, with the elements of the field.
        words: Words that speak for a name.
        is_list: Whether all elements are wanted, and not the first that fits.
        attr: Attribute that holds the value; empty for the text.
    """
    first, *others = places
    lasting: list[Locator] = []
    frail: list[Locator] = []
    known: list[frozenset[Atom]] = []
    for selection in first.index.selections(first.numbers, words, is_list=is_list):
        names = names_in(selection)
        if any(one <= names for one in known) or not _holds(selection, others, is_list=is_list):
            continue  # it would break together with an earlier one
        locator = Locator(LocatorKind.CSS, selection.css)
        if _gives(locator, first, is_list=is_list):
            known.append(names)
            (frail if is_frail(selection) else lasting).append(locator)
    labelled = _first_that_gives(_labelled(first, is_list=is_list), places, is_list=is_list)
    found = [*lasting[: MAX_LOCATORS - len(labelled)], *labelled, *frail][:MAX_LOCATORS]
    if len(found) < ENOUGH:
        found += _first_that_gives(_positional(first, is_list=is_list), places, is_list=is_list)
    return [replace(one, attr=attr) for one in found] if attr else found


def unnamed_locators(place: Place, *, is_list: bool) -> Iterator[Locator]:
    """Yield locators for elements without a name of their own: by the text before them, and by counting."""
    yield from _labelled(place, is_list=is_list)
    yield from islice(_positional(place, is_list=is_list), 2)


def counted_from_body(place: Place, *, is_list: bool) -> Iterator[Locator]:
    """Yield the selector that counts elements from the body down, for a page without any names."""
    tree, number = place.index.tree, place.numbers[0]
    if is_list and len({tree.parents[one] for one in place.numbers}) > 1:
        return
    steps = [tree.tags[number] if is_list else _counted(tree, number)]
    for outer in tree.ancestors(number):
        if tree.tags[outer] == "body":
            yield Locator(LocatorKind.CSS, " > ".join(("body", *steps)))
            return
        steps.insert(0, _counted(tree, outer))


def _first_that_gives(
    locators: Iterable[Locator], places: Sequence[Place], *, is_list: bool
) -> list[Locator]:
    holding = (one for one in locators if all(_gives(one, place, is_list=is_list) for place in places))
    return list(islice(holding, 1))


def _holds(selection: Selection, places: Sequence[Place], *, is_list: bool) -> bool:
    return all(place.index.gives(selection, place.numbers, is_list=is_list) for place in places)


def _gives(locator: Locator, place: Place, *, is_list: bool) -> bool:
    hits = locator.find(place.index.tree)
    if not hits:
        return False
    if not is_list:
        return hits[0] == place.numbers[0]
    wanted = set(place.numbers)
    return 2 * sum([hit in wanted for hit in hits]) >= 0.97 * (len(hits) + len(wanted))


def _positional(place: Place, *, is_list: bool) -> Iterator[Locator]:
    """Yield selectors that count elements below one with a name of its own: the last resort."""
    tree = place.index.tree
    number = place.numbers[0]
    is_column = is_list and len({tree.parents[one] for one in place.numbers}) > 1
    step = _counted(tree, number)
    if is_column and any(_counted(tree, one) != step for one in place.numbers):
        return
    steps = [tree.tags[number] if is_list and not is_column else step]
    for outer in islice(tree.ancestors(number), MAX_STEPS):
        names = [atom for atom in place.index.atoms(outer) if atom.kind in _NAMES or atom.tag in _PARTS]
        for atom in sorted(names, key=lambda atom: not is_durable(atom.value)):
            if is_column or place.index.select(Selection(None, atom))[:1] == [outer]:
                yield Locator(LocatorKind.CSS, " > ".join((atom.css, *steps)))
        steps.insert(0, tree.tags[outer] if is_column else _counted(tree, outer))


def _counted(tree: PageTree, number: int) -> str:
    tag = tree.tags[number]
    parent = tree.parents[number]
    if parent < 0:
        return tag
    alike = [one for one in tree.children[parent] if tree.tags[one] == tag]
    return tag if len(alike) == 1 else f"{tag}:nth-of-type({alike.index(number) + 1})"


def _labelled(place: Place, *, is_list: bool) -> Iterator[Locator]:
    """Yield expressions for the first element of its kind behind the text that names it."""
    tree, first = place.index.tree, place.numbers[0]
    tag = tree.tags[first]
    step = f"following::{tag}[1]"
    if is_list:
        parent = tree.parents[first]
        if any(tree.parents[number] != parent for number in place.numbers):
            return
        step = f"following::{tree.tags[parent]}[1]/{tag}"
    for label in dict.fromkeys((tree.label(first), tree.headings[first])):
        if not 1 < len(label) <= LABEL_CHARS or '"' in label or any(map(str.isdigit, label)):
            continue
        for number in range(first - 1, max(-1, first - 60), -1):
            if tree.length(number) <= 2 * LABEL_CHARS and tree.text(number) == label:
                yield Locator(LocatorKind.XPATH, f'//{tree.tags[number]}[normalize-space()="{label}"]/{step}')
                break
