"""The elements of a page that may hold a field: single elements, and groups of repeated ones."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from agentic.core.wrappers.addresses import ADDRESSES, LINKS, MEDIA, value_at
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Shape, days_of, shape_of
from agentic.core.wrappers.words import plain

MAX_GROUP = 200
MAX_SHOWN = 60
MAX_ELEMENTS = 20_000
"""Later elements of a page are not considered: the work for a page is bounded."""

MAX_COLUMNS = 4
"""Elements of one name side by side that may be columns: of a table without classes."""

MAX_TEXT_CHARS = 4_000
MAX_LEVELS = 8
MAX_BESIDE = 5
MAX_FORM_CHARS = 100
_VALUES = frozenset({"datetime", "content", "value", "title", "alt"})
"""Attributes that hold values other than addresses, beside ``data-*``."""

_AMOUNTS = str.maketrans("", "", "0123456789.,'’")
_EMPTY = frozenset(["br", "hr", "img", "input", "link", "meta", "button", "path"])


class Candidate:
    """Elements that may hold the value of a field.

    Attributes:
        numbers: Of the elements: one, or all items of a list.
        texts: Their texts, or the values of an attribute.
        attr: The attribute; empty for the text.
    """

    __slots__ = ("__dict__", "attr", "numbers", "texts")

    def __init__(self, numbers: tuple[int, ...], texts: tuple[str, ...], attr: str = "") -> None:
        self.numbers = numbers
        self.texts = texts
        self.attr = attr

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The texts as letters and digits only."""
        return tuple(map(plain, self.texts))

    @cached_property
    def shape(self) -> Shape:
        """How the texts look."""
        return shape_of(self.texts[:MAX_SHOWN])

    @cached_property
    def size(self) -> float:
        """Logarithm of the mean length of the texts."""
        texts = self.texts[:MAX_SHOWN]
        return math.log1p(sum(map(len, texts)) / len(texts))


class Candidates:
    """What a page offers.

    Args:
        tree: The page.
    """

    def __init__(self, tree: PageTree) -> None:
        self.tree = tree

    @cached_property
    def singles(self) -> list[Candidate]:
        """The elements with a text of up to 4,000 characters, except those that only wrap many others."""
        tree, found = self.tree, []
        for number in range(min(len(tree), MAX_ELEMENTS)):
            length = tree.length(number)
            if not 0 < length <= MAX_TEXT_CHARS:
                continue
            if length > 400 and tree.ends[number] - number > 40:
                continue
            text = tree.text(number)
            if text:
                found.append(Candidate((number,), (text,)))
        return found

    @cached_property
    def groups(self) -> list[Candidate]:
        """Two or more elements: of one class, or in one place up to three levels below one element."""
        tree = self.tree
        seen: set[tuple[int, ...]] = set()
        found = []
        with_text = (
            number
            for number, tag in enumerate(tree.tags[:MAX_ELEMENTS])
            if tag not in _EMPTY and 0 < tree.length(number) <= MAX_TEXT_CHARS
        )
        for numbers in self._repeated(with_text):
            shown = tuple(number for number in numbers if tree.text(number))
            if len(shown) < 2 or shown in seen:
                continue
            seen.add(shown)
            found.append(Candidate(shown, tuple(map(tree.text, shown))))
        return found

    def singles_with(self, attr: str, *, is_address: bool = False) -> list[Candidate]:
        """Return the elements with a value in an attribute that may hold it as well as a learnt one.

        Args:
            attr: The learnt attribute.
            is_address: Whether the values are addresses.
        """
        tree = self.tree
        return [
            Candidate((number,), (text,), key)
            for number, key in self._with_attributes(attr, is_address=is_address)
            if 0 < len(text := value_at(tree, number, key)) <= MAX_TEXT_CHARS
        ]

    def groups_with(self, attr: str, *, is_address: bool = False) -> list[Candidate]:
        """Return two or more elements with such values, grouped like texts."""
        tree = self.tree
        by_attribute: dict[str, list[int]] = {}
        for number, key in self._with_attributes(attr, is_address=is_address):
            if value_at(tree, number, key):
                by_attribute.setdefault(key, []).append(number)
        found: dict[tuple[tuple[int, ...], str], Candidate] = {}
        for key, numbers in by_attribute.items():
            for group in self._repeated(numbers):
                one = tuple(group)
                texts = tuple(value_at(tree, number, key) for number in one)
                found.setdefault((one, key), Candidate(one, texts, key))
        return list(found.values())

    def _with_attributes(self, attr: str, *, is_address: bool) -> Iterator[tuple[int, str]]:
        usual = _VALUES
        if is_address:
            usual = next((some for some in (LINKS, MEDIA) if attr in some), ADDRESSES)
        for number, given in enumerate(self.tree.attributes[:MAX_ELEMENTS]):
            for key, _ in given:
                if key == attr or key in usual or (not is_address and key.startswith("data-")):
                    yield number, key

    def _repeated(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        """Yield two or more of some elements, in the order of the page, that belong together."""
        tree, columns = self.tree, self._columns
        by: dict[tuple[int | str, ...], list[int]] = {}
        for number in numbers:
            tag = tree.tags[number]
            names = _names_of_class(tree, number)
            if names:
                by.setdefault((tag, names[-1]), []).append(number)
            column = columns[number]
            path: tuple[str, ...] = (tag,)
            for level, outer in enumerate(tree.ancestors(number)):
                if level == 3:
                    break
                by.setdefault((outer, *path), []).append(number)
                if level:
                    for name in names:
                        by.setdefault((outer, tag, name), []).append(number)
                    if column:
                        by.setdefault((outer, column, *path), []).append(number)
                path = (tree.tags[outer], *path)
        return (group for group in by.values() if 2 <= len(group) <= MAX_GROUP)

    @cached_property
    def _columns(self) -> Sequence[int]:
        """Which of a few elements of one name side by side each is; 0 if it is alone, or one of many."""
        beside = [*zip(self.tree.parents, self.tree.tags, strict=True)]
        alike, passed = Counter(beside), Counter[tuple[int, str]]()
        found = []
        for one in beside[:MAX_ELEMENTS]:
            passed[one] += 1
            found.append(passed[one] if 1 < alike[one] <= MAX_COLUMNS else 0)
        return found


def twin_of(tree: PageTree, number: int, attr: str = "") -> int | None:
    """Return the element in a block beside an element that has a text of the same form; None without any.

    Prices of other products are alike, and a price and the number of its reviews are not.
    """
    form, path = _form(value_at(tree, number, attr)), [_look(tree, number)]
    inner = number
    for outer in islice(tree.ancestors(number), MAX_LEVELS):
        siblings = tree.children[outer]
        at = bisect_left(siblings, inner)
        near = (*siblings[max(0, at - MAX_BESIDE) : at], *siblings[at + 1 : at + 1 + MAX_BESIDE])
        beside = [one for one in near if _look(tree, one) == path[0]]
        for look in path[1:]:
            below = (inside for one in beside for inside in tree.children[one][:MAX_SHOWN])
            beside = [*islice((one for one in below if _look(tree, one) == look), MAX_SHOWN)]
        short = (one for one in beside if tree.length(one) <= MAX_FORM_CHARS)
        twin = next((one for one in short if _form(value_at(tree, one, attr)) == form), None)
        if twin is not None:
            return twin
        inner, path = outer, [_look(tree, outer), *path]
    return None


def _look(tree: PageTree, number: int) -> tuple[str, tuple[str, ...]]:
    return tree.tags[number], _names_of_class(tree, number)[:1]


def _form(text: str) -> str:
    """Return a text without its amounts; a text without any has a form of its own."""
    if days_of(text):
        return "a date"
    return (
        text.translate(_AMOUNTS).replace(" ", "") if any(map(str.isdigit, text)) else f"no amount in {text}"
    )


def _names_of_class(tree: PageTree, number: int) -> tuple[str, ...]:
    """Return the first class of an element, and all of them: items differ by the last, columns by any."""
    for key, value in tree.attributes_at(number):
        if key == "class" and value:
            first, _, others = value.partition(" ")
            return ("." + first, "." + value) if others else ("." + first,)
    return ()
