"""Expressions for values that stand in longer texts, by the texts around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.wrappers.amounts import MAX_AMOUNT_CHARS
from agentic.core.wrappers.building.naming import is_date
from agentic.core.wrappers.tree import LABEL_CHARS

MAX_PART_TEXT = 800
"""Longer texts are not searched for a part of them."""

_TRIED_AFFIXES = 6
_MOST = 0.6
"""Share of the texts that an expression for a part of them must fit."""

_TOKEN = re.compile(r"(?<![\w.,])\d[\d.,]*(?<![.,])(?!\w)")
_PLAIN_AMOUNT = re.compile(r"[-+]?\d+(?:[.,]\d*|(?:\.\d{2,3})+(?:,\d*)?|(?:,\d{2,3})+(?:\.\d*)?)?")
"""Not ``12.9.1957`` or ``1.2.3``."""

_DIGITS = r"[\d.,]+"
_LETTERS = r"[^\W\d_]+"
_NO_LABELS = frozenset({"re", "aw", "fw", "fwd", "sv", "wg", "mailto", "tel", "data", "javascript", "urn"})
"""Words before a colon that belong to a subject or an address."""


class _Affix(NamedTuple):
    """A text before or behind a value, and whether the text at its place begins or ends with it."""

    text: str
    is_whole: bool = False


def is_amount_text(example: str) -> bool:
    """Return whether an example is nothing but a number."""
    return len(example) <= MAX_AMOUNT_CHARS and bool(_PLAIN_AMOUNT.fullmatch(example.strip()))


def label_in(text: str) -> str:
    """Return the label that a text begins with, such as ``Author:``; empty if it has none."""
    label, mark, value = text[: LABEL_CHARS + 1].partition(":")
    if value.startswith("//") or label.strip().lower() in _NO_LABELS:
        return ""
    is_label = mark and value.strip() and len(label) > 1 and not any(map(str.isdigit, label))
    return f"{label}:" if is_label and '"' not in label else ""


def is_label(text: str) -> bool:
    """Return whether a text of its own may name the value behind it, such as ``Author`` or ``ISBN-13:``."""
    if not 1 < len(text) <= LABEL_CHARS or '"' in text:
        return False
    digits = sum(map(str.isdigit, text))
    return not digits or (text.endswith(":") and digits < sum(map(str.isalpha, text)))


def span_of(text: str, example: str) -> tuple[int, int] | None:
    """Return where an example stands as words of their own in a longer text; None if it does not."""
    if len(text) > MAX_PART_TEXT:
        return None
    if is_amount_text(example):
        wanted = digits_of(example)
        amounts = (found for found in _TOKEN.finditer(text) if digits_of(found[0]) == wanted)
        return next((found.span() for found in amounts), None)
    start = text.find(example)
    while start >= 0:
        end = start + len(example)
        if not text[:start][-1:].isalnum() and not text[end : end + 1].isalnum():
            return start, end
        start = text.find(example, start + 1)
    return None


def expression_of(pairs: Sequence[tuple[str, str]], texts: Sequence[str]) -> str:
    """Return an expression for values in longer texts, by what most texts have around them; else empty.

    Args:
        pairs: Values, each with its text.
        texts: All texts at the place, which may lack the value.
    """
    parts = [(text, span) for value, text in pairs if (span := span_of(text, value)) is not None]
    if len(parts) < len(pairs):
        return ""
    is_amount = all(is_amount_text(value) for value, _ in pairs)
    heads = _heads([text[: span[0]] for text, span in parts], texts)
    tails = [_Affix("")] if is_amount else _tails([text[span[1] :] for text, span in parts], texts)
    group = "([\\d.,]+)" if is_amount else "(.*?)"
    tried = [_around(head, tail, group) for tail in tails for head in heads]
    if not is_amount and all(map(_is_code, (value for value, _ in pairs))):
        tried = [*(_around(head, _Affix(""), "(\\S+)") for head in heads), *tried]
    best = 0, ""
    for regex in tried:
        pattern = compile_linear(regex)
        groups = ((pattern.search(text), value) for value, text in pairs)
        if any(found is None or not _is_value(found.groups[0], value) for found, value in groups):
            continue
        count = sum(pattern.search(text) is not None for text in texts)
        if count > best[0] and count >= _MOST * len(texts):
            best = count, regex
    return best[1]


def _is_code(value: str) -> bool:
    """Return whether a value is one word with digits, as ``2013-1550``: it ends where the word does."""
    return len(value.split()) == 1 and any(map(str.isdigit, value))


def _is_value(found: str | None, value: str) -> bool:
    return found is not None and (
        found == value or (is_amount_text(value) and digits_of(found) == digits_of(value))
    )


def _around(head: _Affix, tail: _Affix, group: str) -> str:
    before = f"{'^' if head.is_whole else ''}{escaped(head.text)}"
    behind = f"{escaped(tail.text)}{'$' if tail.is_whole else ''}"
    ahead = "^.*" if behind == "$" and not head.is_whole else ""  # the last of several that fit
    return f"{ahead}{before}{group}{behind}"


def _heads(ahead: Sequence[str], texts: Sequence[str]) -> list[_Affix]:
    """Return beginnings to try: the whole text before the value, then parts that most texts have."""
    shared = ahead[0]
    while not all(text.endswith(shared) for text in ahead):
        shared = shared[1:]
    whole = [_Affix(ahead[0], is_whole=True)] if len(set(ahead)) == 1 else []
    return [*whole, *_usual([shared[at:] for at in (0, *_cuts(shared))], texts)]


def _tails(behind: Sequence[str], texts: Sequence[str]) -> list[_Affix]:
    """Return ends to try, as for the beginnings."""
    shared = behind[0]
    while not all(text.startswith(shared) for text in behind):
        shared = shared[:-1]
    whole = [_Affix(behind[0], is_whole=True)] if len(set(behind)) == 1 else []
    return [*whole, *_usual([shared[:at] for at in (len(shared), *reversed(_cuts(shared)))], texts)]


def _cuts(text: str) -> list[int]:
    """Return the places where words begin or end."""
    return [at for at in range(1, len(text)) if text[at].isspace() != text[at - 1].isspace()]


def _usual(parts: Sequence[str], texts: Sequence[str]) -> list[_Affix]:
    """Return the first few parts that most texts have; the longest are the first."""
    shown = (part for part in parts if part.strip())
    held = (part for part in shown if sum(part in text for text in texts) >= _MOST * len(texts))
    return [_Affix(part) for part in islice(held, _TRIED_AFFIXES)]


def form_of(text: str) -> str:
    """Return an expression for texts with other digits; empty for a text without digits, or a long one.

    The form of a date fits other months, too.
    """
    if not any(map(str.isdigit, text)) or len(text) > MAX_AMOUNT_CHARS:
        return ""
    pieces: list[str] = []
    is_moment = is_date(text)
    for char in text:
        if is_moment and char.isalpha():
            pieces += [] if pieces[-1:] == [_LETTERS] else [_LETTERS]
        elif char.isdigit() or (char in ".," and pieces[-1:] == [_DIGITS]):
            pieces += [] if pieces[-1:] == [_DIGITS] else [_DIGITS]
        else:
            pieces.append(escaped(char))
    return f"^{''.join(pieces)}$"


def escaped(text: str) -> str:
    """Return a text as an expression that fits it alone."""
    return "".join(f"\\{char}" if char in r"\.^$*+?{}[]|()" else char for char in text)


def digits_of(text: str) -> tuple[str, str]:
    """Return the digits of an amount before and behind its decimal mark, without marks of thousands."""
    kept = "".join(char for char in text if char.isdigit() or char in ".,").rstrip(".,")
    place = max(kept.rfind("."), kept.rfind(","))
    is_fraction = place >= 0 and len(kept) - place - 1 != 3
    whole = kept[:place] if is_fraction else kept
    fraction = kept[place + 1 :].rstrip("0") if is_fraction else ""
    return "".join(char for char in whole if char.isdigit()), fraction
