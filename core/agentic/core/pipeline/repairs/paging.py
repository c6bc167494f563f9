"""The link to the next page of a list, where its selector gives nothing."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.pipeline.repairs.lists import items_by
from agentic.core.pipeline.repairs.stored_rows import links_of
from agentic.core.wrappers import LocatorKind, PageTree, write_locators
from agentic.core.wrappers.building import find_paging, next_link
from agentic.core.wrappers.locators import Place
from agentic.core.wrappers.selecting import SelectorIndex

MIN_NEW = 0.5
"""Least share of the links on the next page that the page before lacks."""

_WORDS = frozenset({"next", "pager", "pagination", "paging", "more"})


def is_next_page(first: PageTree, second: PageTree, item_selector: str) -> bool:
    """Return whether a page continues a list: it has items, and most of their links are new."""
    before, after = _item_links(first, item_selector), _item_links(second, item_selector)
    return bool(after) and len(after - before) >= MIN_NEW * len(after)


def write_next(first: PageTree, second: PageTree, item_selector: str) -> str | None:
    """Return a selector of the link to the next page that holds on two pages of a list, or None.

    On the second page it must not lead back: there stands a link to the previous page, too.
    """
    pages = [(tree, items_by(tree, item_selector)) for tree in (first, second)]
    (one, two) = (next_link(tree, items) for tree, items in pages)
    if one is None:
        return None
    places = [Place(SelectorIndex(first), (one[0],))]
    if two is not None and two[1] not in (first.url, second.url):
        places.append(Place(SelectorIndex(second), (two[0],)))
    paging = find_paging(SelectorIndex(first), pages[0][1])
    named = [paging.selector] if paging is not None and paging.kind == "next" else []
    written = write_locators(places, _WORDS, is_list=False)
    named += [place.path for place in written if place.kind is LocatorKind.CSS and ":nth" not in place.path]
    wanted = [one[1], two[1] if len(places) > 1 and two is not None else None]
    return next((css for css in named if _leads(first, second, css, wanted)), None)


def hint_of(tree: PageTree, items: Sequence[int]) -> str:
    """Return how a page without a link to the next one continues, as a sentence; empty if nothing says so."""
    paging = find_paging(SelectorIndex(tree), items)
    if paging is not None and paging.kind == "numbers":
        return f"the pages are numbered, such as {paging.urls[0]}; read them with a crawl step"
    if paging is not None and paging.kind == "more":
        return f"a button loads more items from {paging.urls[0]}; read that address with a step of its own"
    return ""


def _leads(first: PageTree, second: PageTree, css: str, wanted: Sequence[str | None]) -> bool:
    """Return whether a selector gives the link on the first page, and does not lead back on the second."""
    there = [_link(tree, css) for tree in (first, second)]
    if there[0] != wanted[0]:
        return False
    return there[1] == wanted[1] if wanted[1] is not None else there[1] not in (first.url, second.url)


def _link(tree: PageTree, css: str) -> str | None:
    links = dict(links_of(tree))
    node = tree.document.select_one(css)
    number = tree.numbers.get(node) if node is not None else None
    return links.get(number) if number is not None else None


def _item_links(tree: PageTree, item_selector: str) -> set[str]:
    links = dict(links_of(tree))
    found: set[str] = set()
    for item in items_by(tree, item_selector):
        inner = [links[number] for number in range(item, tree.ends[item]) if number in links]
        found.update(inner[:1])
    return found
