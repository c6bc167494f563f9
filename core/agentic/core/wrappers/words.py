"""Words of names and texts, ready to be compared."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

NAMING = frozenset({"class", "id", "itemprop", "property", "role", "aria-label", "title", "name", "itemtype"})
"""Attributes whose words describe an element."""

_PART = re.compile(r"[^a-z0-9]+")
_HUMP = re.compile(r"([a-z])([A-Z])")
_MACHINE = re.compile(r"\d+|[a-f0-9]{6,}")
_WORD = re.compile(r"[^\W_]+")
_NOT_ALNUM = re.compile(r"[\W_]+")


@lru_cache(maxsize=16_384)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words in an identifier: ``recipeCard--total_time`` has four."""
    parts = _PART.split(_HUMP.sub(r"\1 \2", name).lower())
    return tuple(part for part in parts if len(part) > 1 and not _MACHINE.fullmatch(part))


def text_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def plain(text: str) -> str:
    """Return a text as letters and digits only: texts that differ in spelling marks are equal."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        # Fractions become digits around a slash that is not ASCII.
    return _NOT_ALNUM.sub("", text.lower())


def dice(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the share of common parts, each counted as often as it occurs."""
    counts: dict[str, int] = {}
    size = 0
    for part in one:
        counts[part] = counts.get(part, 0) + 1
        size += 1
    common = 0
    for part in other:
        size += 1
        if counts.get(part, 0) > 0:
            counts[part] -= 1
            common += 1
    return 2 * common / size if size else 0.0
