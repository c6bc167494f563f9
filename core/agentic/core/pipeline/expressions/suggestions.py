"""Messages about unknown words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown_word(kind: str, word: str, known: Iterable[str], shown: Iterable[str] | None = None) -> str:
    """Return ``unknown <kind> 'word'`` with a suggestion.

    Args:
        kind: The kind of thing that the word names: ``actor``, ``key``.
        word: As it was written.
        known: Every correct word.
        shown: The words worth listing, if not all.
    """
    return f"unknown {kind} {word!r}{suggestion(word, known, shown)}"


def suggestion(word: str, known: Iterable[str], shown: Iterable[str] | None = None) -> str:
    """Return the end of a message about ``word``: the nearest known word, if one is near, and all known."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(sorted(set(shown)) if shown is not None else words) or "none"
    return f"{hint} (known: {listed})"
