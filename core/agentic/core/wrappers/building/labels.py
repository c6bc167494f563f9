"""Places by the text beside them: XPath expressions, and how soon such a text may go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from agentic.core.wrappers.building.expressions import is_label
from agentic.core.wrappers.building.pieces import xpath_of
from agentic.core.wrappers.locators import Locator, LocatorKind, Place
from agentic.core.wrappers.selecting import Selection
from agentic.core.wrappers.tree import LABEL_CHARS, PageTree
from agentic.core.wrappers.words import text_words

NO_NAME = 20.0
"""Cost of a way that no name in the markup supports: by the text before the elements, or by counting."""

TERM = 3.0
"""The same, where the text before them is a term of a list, the head of a row, or the name of the field."""

LABEL = 11.0
"""Cost of a text with a colon before the elements, but without a word of the field; the least in menus."""

BESIDE = "-sibling::"
"""In an expression for an element by the text beside it."""


def cost_of_label(locator: Locator, words: frozenset[str]) -> float:
    """Return how soon a place by the text before it may break: the text may only happen to be there."""
    if locator.kind is not LocatorKind.XPATH:
        return NO_NAME
    label = locator.path.rpartition('normalize-space()="')[2].partition('"]')[0]
    if locator.path.startswith(("//dt[", "//th[")) or not words.isdisjoint(text_words(label)):
        return TERM
    return LABEL if f"following{BESIDE}" in locator.path and label.endswith(":") else NO_NAME


def by_label(place: Place, words: frozenset[str]) -> Iterator[Locator]:
    """Yield expressions for an element by the text before it, or behind it with a word of the field."""
    tree, number = place.index.tree, place.numbers[0]
    siblings = list(tree.children[tree.parents[number]]) if tree.parents[number] >= 0 else [number]
    at = siblings.index(number)
    ahead, behind = siblings[max(0, at - 1) : at], siblings[at + 1 : at + 2]
    for other, axis in ((ahead, "following"), (behind, "preceding")):
        label = tree.text(other[0]) if other and tree.length(other[0]) <= 2 * LABEL_CHARS else ""
        if not is_label(label) or (other is behind and words.isdisjoint(text_words(label))):
            continue
        step = f"{axis}{BESIDE}{tree.tags[number]}[1]"
        own = (one for one in place.index.atoms(other[0]) if one.kind != "tag")
        conditions = (xpath_of(Selection(None, one)) for one in islice(own, 1))
        for condition in (tree.tags[other[0]], *filter(None, conditions), "*"):
            yield Locator(LocatorKind.XPATH, f'//{condition}[normalize-space()="{label}"]/{step}')
        same = tree.document.xpath(f'//*[normalize-space()="{label}"]')
        named = tree.elements[other[0]]
        if isinstance(same, list) and len(same) > 1 and named in same:  # a no-break space is no blank there
            count = same.index(named) + 1
            yield Locator(LocatorKind.XPATH, f'(//*[normalize-space()="{label}"])[{count}]/{step}')


def starting_with(tree: PageTree, number: int, label: str) -> Locator:
    """Return an expression for an element by the label that its text begins with."""
    return Locator(LocatorKind.XPATH, f'//{tree.tags[number]}[starts-with(normalize-space(), "{label}")]')
