"""Rows without an element of their own: each reaches to the next element of its kind, as `dt` and `dd`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turbohtml import parse

from agentic.core.reading.addresses import base_of
from agentic.core.reading.structured.spans import wrapped, wrapper_of
from agentic.core.wrappers.building.rows import kinds_of
from agentic.core.wrappers.candidates import MAX_ELEMENTS
from agentic.core.wrappers.tree import HEADINGS, PageTree

_FEW = 3
MAX_SPAN_ROWS = 200


class Spans(NamedTuple):
    """Rows that reach from one element to the next.

    Attributes:
        heads: The element that each row begins with, on the page.
        tree: A page of its own, on which each row is in one element.
        rows: These elements.
    """

    heads: tuple[int, ...]
    tree: PageTree
    rows: tuple[int, ...]


def find_spans(tree: PageTree) -> Iterator[Spans]:
    """Yield the lists whose rows have no element of their own: terms, pairs of table rows, headings."""
    for parent in range(min(len(tree), MAX_ELEMENTS)):
        heads = _heads(tree, tree.children[parent])
        if len(heads) >= _FEW:
            found = _apart(tree, tree.children[parent], heads[:MAX_SPAN_ROWS])
            if found is not None:
                yield found


def _heads(tree: PageTree, children: Sequence[int]) -> list[int]:
    tags = [tree.tags[child] for child in children]
    if "dt" in tags:
        pairs = zip(children, tags, ["", *tags], strict=False)
        return [child for child, tag, ahead in pairs if tag == "dt" and ahead != "dt"]
    if "tr" in tags:
        kinds = [kind for kind in kinds_of(tree, children) if len(kind) >= _FEW]
        is_mixed = len(kinds) > 1 and 2 * len(kinds[1]) > len(kinds[0])
        return list(kinds[0]) if is_mixed else []
    headings = [child for child, tag in zip(children, tags, strict=True) if tag in HEADINGS]
    same = [child for child in headings if tree.tags[child] == tree.tags[headings[0]]]
    return same if len(children) >= 2 * len(same) else []


def _apart(tree: PageTree, children: Sequence[int], heads: Sequence[int]) -> Spans | None:
    wanted = set(heads)
    groups: list[list[int]] = []
    for child in children:
        if child in wanted:
            groups.append([])
        if groups:
            groups[-1].append(child)
    tag = tree.tags[heads[0]]
    markup = [wrapped(tag, "".join(tree.elements[one].html for one in group)) for group in groups]
    apart = PageTree(parse("".join(markup), positions=False), base_of(tree.document, tree.url))
    name = wrapper_of(tag)
    outer = [number for number, tag in enumerate(apart.tags) if tag == name]
    rows = tuple(number for number in outer if not any(one in outer for one in apart.ancestors(number)))
    return Spans(tuple(heads), apart, rows) if len(rows) == len(groups) else None
