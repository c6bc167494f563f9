"""The elements of a page that may hold a field: single elements, and groups of repeated ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Shape, shape_of

MAX_GROUP = 200
MAX_SHOWN = 60
MAX_ELEMENTS = 20_000
"""Later elements of a page are not considered: the work for a page is bounded."""

MAX_TEXT_CHARS = 4_000
_EMPTY = frozenset(["br", "hr", "img", "input", "link", "meta", "button", "path"])


class Candidate:
    """Elements that may hold the value of a field.

    Attributes:
        numbers: Of the elements: one, or all items of a list.
        texts: Their texts.
    """

    __slots__ = ("__dict__", "numbers", "texts")

    def __init__(self, numbers: tuple[int, ...], texts: tuple[str, ...]) -> None:
        self.numbers = numbers
        self.texts = texts

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
        """Two or more elements of one kind below one element, up to three levels deep."""
        tree = self.tree
        seen: set[tuple[int, ...]] = set()
        found = []
        for numbers in self._repeated():
            short = (number for number in numbers if 0 < tree.length(number) <= MAX_TEXT_CHARS)
            shown = tuple(number for number in short if tree.text(number))
            if len(shown) < 2 or shown in seen:
                continue
            seen.add(shown)
            found.append(Candidate(shown, tuple(map(tree.text, shown))))
        return found

    def _repeated(self) -> Iterator[list[int]]:
        tree = self.tree
        by: dict[tuple[int | str, ...], list[int]] = {}
        for number, tag in enumerate(tree.tags[:MAX_ELEMENTS]):
            if tag in _EMPTY:
                continue
            first = _first_class(tree, number)
            path: tuple[str, ...] = (tag,)
            for level, outer in enumerate(tree.ancestors(number)):
                if level == 3:
                    break
                by.setdefault((outer, *path), []).append(number)
                if first and level:
                    by.setdefault((outer, tag, "." + first), []).append(number)
                path = (tree.tags[outer], *path)
        return (numbers for numbers in by.values() if 2 <= len(numbers) <= MAX_GROUP)


def _first_class(tree: PageTree, number: int) -> str:
    return next((value.split(" ", 1)[0] for key, value in tree.attributes[number] if key == "class"), "")
