"""Rows of earlier runs, found again on a page of another layout."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from agentic.core.http import HttpError, canonical_url
from agentic.core.reading.addresses import absolute, base_of
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree
from agentic.core.wrappers.tree import HEADINGS
from agentic.core.wrappers.words import plain, text_words, words_of

MAX_ROWS = 30
"""Rows that are looked for; a file begins with the rows of the first page of a list."""

MIN_ROWS = 3
MIN_SHARE = 0.2
"""A list must show at least this number and share of the rows, unless fewer are stored."""

MIN_TELLING = 6
"""Letters and digits of a text that says which row it belongs to."""

DISTINCT = 0.7
"""Least share of different texts of a field that identifies rows."""

MAX_TEXT = 300
MAX_BEFORE = 2_000
"""Elements before a block that are looked through for its heading."""

_BESIDE_TAGS = frozenset({"aside", "footer", "header", "nav"})
_BESIDE_WORDS = frozenset(
    (
        "ad", "ads", "advert", "advertisement", "advertising", "also", "banner", "breadcrumb", "breadcrumbs",
        "carousel", "facet", "facets", "filter", "filters", "footer", "history", "menu", "nav", "navigation",
        "promo", "promoted", "promotion", "recent", "recently", "recommended", "recommendations",
        "recommendation", "related", "sidebar", "similar", "sponsored", "suggested", "suggestions",
        "upsell", "viewed",
        "anzeige", "gesponsert", "ähnliche", "angesehen", "empfohlen", "zuletzt", "récemment", "similaires",
        "sponsorisé", "patrocinado", "recientes", "relacionados",
    )
)  # fmt: skip
"""Names and headings of blocks with some items beside the list."""


class KnownRows:
    """Rows of an earlier run.

    Args:
        rows: Field -> value; those with a ``url`` are found by their links.
        moved: Address of a row -> where it leads now.
    """

    def __init__(
        self, rows: Sequence[Mapping[str, JSONValue]], moved: Mapping[str, str] | None = None
    ) -> None:
        self.rows = rows[:MAX_ROWS]
        self._by_url: dict[str, int] = {}
        for number, row in enumerate(self.rows):
            url = row.get("url")
            for address in (url, (moved or {}).get(url)) if isinstance(url, str) else ():
                if address and (key := _key(address)):
                    self._by_url.setdefault(key, number)
        self._by_text = _telling(self.rows)

    @property
    def least(self) -> int:
        """The number of rows that a list must show."""
        return min(len(self.rows), max(MIN_ROWS, math.ceil(MIN_SHARE * len(self.rows))))

    def by_url(self, url: str) -> int | None:
        """Return the number of the row at an address; None without one."""
        return self._by_url.get(_key(url))

    def by_text(self, text: str) -> int | None:
        """Return the number of the row that alone has a text; None without one."""
        return self._by_text.get(plain(text))

    def found_on(self, tree: PageTree) -> dict[int, int]:
        """Return the elements of a page that link to a row or have a text of it alone: number -> row."""
        found: dict[int, int] = {}
        for number in range(len(tree)):
            if not 0 < tree.length(number) <= MAX_TEXT:
                continue
            row = self._by_text.get(tree.plain(number))
            if row is not None:
                found[number] = row
        for number, url in links_of(tree):
            row = self.by_url(url)
            if row is not None:
                found[number] = row
        return found


def links_of(tree: PageTree) -> Iterator[tuple[int, str]]:
    """Yield each link of a page: its number and its address."""
    base = base_of(tree.document, tree.url)
    for number, tag in enumerate(tree.tags):
        if tag == "a" and (href := tree.elements[number].attr("href")) and not href.startswith("#"):
            url = absolute(base, href)
            if url is not None:
                yield number, url


def is_beside(tree: PageTree, number: int) -> bool:
    """Return whether an element is in a block beside the main part of a page: ads, "also viewed"."""
    if not _BESIDE_WORDS.isdisjoint(_heading_of(tree, number)):
        return True
    for one in (number, *tree.ancestors(number)):
        if tree.tags[one] == "body":
            return False
        if tree.tags[one] in _BESIDE_TAGS or not _BESIDE_WORDS.isdisjoint(tree.names[one]):
            return True
    return False


def names_a_block_beside(name: str) -> bool:
    """Return whether a key of JSON names a block beside the main part."""
    return not _BESIDE_WORDS.isdisjoint(words_of(name))


def _heading_of(tree: PageTree, number: int) -> list[str]:
    """Return the words of the heading of the block that an element is in; none without a heading."""
    around = {number, *tree.ancestors(number)}
    for before in range(number - 1, max(-1, number - MAX_BEFORE), -1):
        if tree.tags[before] in HEADINGS and number in _block_after(tree, before, around):
            return text_words(tree.text(before)[:MAX_TEXT])
    return []


def _block_after(tree: PageTree, heading: int, around: set[int]) -> range:
    """Return the elements of the first block with links after a heading, beside it or beside its wrapper."""
    while (outer := tree.parents[heading]) >= 0 and outer not in around:
        if tree.text(outer) != tree.text(heading):
            return range(0)
        heading = outer
    for sibling in tree.children[outer] if outer >= 0 else ():
        if sibling > heading and "a" in tree.tags[sibling : tree.ends[sibling]]:
            return range(sibling, tree.ends[sibling])
    return range(0)


def _key(url: str) -> str:
    try:
        return canonical_url(url)
    except HttpError:
        return ""


def _telling(rows: Sequence[Mapping[str, JSONValue]]) -> dict[str, int]:
    """Return the texts that one row alone has, as letters and digits, of fields that identify rows.

    Numbers and dates are left out: other rows may have the same ones by chance.
    """
    fields: dict[str, list[tuple[str, int]]] = {}
    for number, row in enumerate(rows):
        for name, value in row.items():
            if name != "url" and isinstance(value, str) and (text := plain(value)):
                fields.setdefault(name, []).append((text, number))
    pairs: set[tuple[str, int]] = set()
    for found in fields.values():
        if len({text for text, _ in found}) >= DISTINCT * len(found):
            pairs.update(pair for pair in found if len(pair[0]) >= MIN_TELLING and has_letters(pair[0]))
    counts = Counter(text for text, _ in pairs)
    return {text: number for text, number in pairs if counts[text] == 1}


def has_letters(text: str) -> bool:
    """Return whether a text has three letters or more."""
    return sum(map(str.isalpha, text)) >= 3
