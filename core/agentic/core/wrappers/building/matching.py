"""Elements that hold an example value, and how a rule reads the value from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from agentic.core.wrappers.building.addresses import link_of
from agentic.core.wrappers.building.naming import day_of, is_price
from agentic.core.wrappers.candidates import MAX_ELEMENTS, MAX_TEXT_CHARS
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import MAX_AMOUNT_CHARS, Kind, agreement
from agentic.core.wrappers.words import plain

SAME = 0.9
"""Agreement from which a text is the example."""

SAME_LIST = 0.85
Reading = Literal["same", "part", "number", "date", "like"]
_SCORES: dict[Reading, float] = {"same": 3.0, "number": 2.0, "date": 2.0, "part": 1.0, "like": 0.5}
_ATTRIBUTES = ("href", "src", "datetime", "content", "value", "title", "alt", "data-src")
_ADDRESSES = frozenset({"href", "src", "data-src"})
_AMOUNT = re.compile(r"\d[\d.,'’  ]*")
_PLAIN_AMOUNT = re.compile(r"[-+]?\d[\d.,]*")
_MAX_AFFIX = 16
_LONG = 40
_DIGITS = r"[\d.,]+"


class ExampleMatch(NamedTuple):
    """Elements that hold an example.

    Attributes:
        numbers: Of the elements: one, or all items of a list.
        attr: Attribute that holds it; empty for the text.
        reading: How the example stands in the text.
        score: The higher, the surer.
    """

    numbers: tuple[int, ...]
    attr: str
    reading: Reading
    score: float


def matches(tree: PageTree, example: str) -> Iterator[ExampleMatch]:
    """Yield the elements that hold an example value, in their text or in an attribute."""
    for number in range(min(len(tree), MAX_ELEMENTS)):
        if 0 < tree.length(number) <= MAX_TEXT_CHARS:
            reading = read_as(tree.text(number), example)
            if reading is not None:
                exact = 0.5 if reading == "number" and example in tree.text(number) else 0.0
                yield ExampleMatch((number,), "", reading, _SCORES[reading] + exact)
        attributes = tree.elements[number].attrs
        for attr in (*_ATTRIBUTES, *(key for key in attributes if key.startswith("data-"))):
            value = attributes.get(attr)
            if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT_CHARS:
                continue
            if _holds(tree, number, attr, example):
                yield ExampleMatch((number,), attr, "same", _SCORES["same"] - 0.5)


def _holds(tree: PageTree, number: int, attr: str, example: str) -> bool:
    """Return whether an attribute of an element is an example value."""
    given = tree.elements[number].attrs.get(attr)
    value = given.strip() if isinstance(given, str) else ""
    if attr in _ADDRESSES:
        return value == example or link_of(tree, number, attr) == example
    return value == example or (bool(value) and read_as(value, example) == "same")


def read_as(text: str, example: str) -> Reading | None:
    """Return how an example stands in a text; None if it does not."""
    if text == example:
        return "same"
    if not text:
        return None
    if is_amount_text(example):
        return "number" if _same_amount(text, example) else None
    if plain(text) == plain(example) and plain(text):
        return "same"
    return _read_other(text, example)


def _read_other(text: str, example: str) -> Reading | None:
    day = day_of(example)
    if day is not None and day_of(text) == day:
        return "date"
    if len(text) <= len(example) + _MAX_AFFIX and len(example) > 1 and _is_part(text, example):
        return "part"
    return "like" if len(example) > _LONG and agreement(Kind.TEXT, [text], example) >= SAME else None


def is_amount_text(example: str) -> bool:
    """Return whether an example is nothing but a number."""
    return len(example) <= MAX_AMOUNT_CHARS and bool(_PLAIN_AMOUNT.fullmatch(example.strip()))


def fits(
    match: ExampleMatch, tree: PageTree, hits: Sequence[int], example: str | Sequence[str], *, is_list: bool
) -> bool:
    """Return whether elements hold the example of their page, in the same way as a match."""
    if not hits:
        return False
    if is_list:
        items = [example] if isinstance(example, str) else list(example)
        texts = [tree.text(hit) for hit in hits]
        if set(map(plain, items)) <= set(map(plain, texts)):
            return True
        return agreement(Kind.TEXT, texts, list(items)) >= SAME_LIST
    wanted = example if isinstance(example, str) else (example[0] if example else "")
    if match.attr:
        return _holds(tree, hits[0], match.attr, wanted)
    reading = read_as(tree.text(hits[0]), wanted)
    return reading is not None and (reading in ("same", match.reading) or match.reading in ("same", "like"))


def reading_of(
    match: ExampleMatch,
    examples: Sequence[str | Sequence[str]],
    found: Sequence[Sequence[str]],
    texts: Sequence[Sequence[str]],
) -> tuple[str, str]:
    """Return the type and the expression of a rule that reads examples from the texts that hold them.

    Args:
        match: How an example stands in its text.
        examples: The values of some pages.
        found: The texts on these pages.
        texts: The texts on all pages.
    """
    if match.attr in _ADDRESSES:
        return "url", ""
    pairs = [
        (example, one[0])
        for example, one in zip(examples, found, strict=True)
        if isinstance(example, str) and one
    ]
    readings = {read_as(text, example) for example, text in pairs}
    if "number" in readings:
        return "number", ""
    if "date" in readings:
        return "date", ""
    if any(example != text for example, text in pairs):
        return "string", _affixes(pairs, [text for one in texts for text in one[:1]])
    return "string", ""


def _affixes(pairs: Sequence[tuple[str, str]], texts: Sequence[str]) -> str:
    """Return an expression for the value between a beginning and an end that all texts share; else empty."""
    example, text = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    start = text.find(example)
    if start < 0:
        return ""
    ahead, behind = text[:start], text[start + len(example) :]
    is_shared = all(one.startswith(ahead) and one.endswith(behind) for one in texts)
    is_right = all(one[len(ahead) : len(one) - len(behind)] == value for value, one in pairs)
    if not (is_shared and is_right):
        return ""
    return f"^{_escaped(ahead)}(.*?){_escaped(behind)}$"


def form_of(text: str) -> str:
    """Return an expression for texts with other digits; empty for a text without digits, or a long one."""
    if not any(map(str.isdigit, text)) or len(text) > MAX_AMOUNT_CHARS:
        return ""
    pieces: list[str] = []
    for char in text:
        if char.isdigit() or (char in ".," and pieces[-1:] == [_DIGITS]):
            pieces += [] if pieces[-1:] == [_DIGITS] else [_DIGITS]
        else:
            pieces.append(_escaped(char))
    return f"^{''.join(pieces)}$"


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in r"\.^$*+?{}[]|()" else char for char in text)


def _is_part(text: str, example: str) -> bool:
    start = text.find(example)
    if start < 0:
        return False
    before, behind = text[:start][-1:], text[start + len(example) :][:1]
    return not before.isalnum() and not behind.isalnum()


def _same_amount(text: str, example: str) -> bool:
    if len(text) > MAX_AMOUNT_CHARS:
        return False
    amounts = _AMOUNT.findall(text)
    wanted = _digits(example)
    return bool(amounts) and _digits(amounts[0]) == wanted and (len(amounts) == 1 or not is_price(text))


def _digits(text: str) -> tuple[str, str]:
    """Return the digits of an amount before and behind its decimal mark, without marks of thousands."""
    kept = "".join(char for char in text if char.isdigit() or char in ".,").rstrip(".,")
    place = max(kept.rfind("."), kept.rfind(","))
    is_fraction = place >= 0 and len(kept) - place - 1 != 3
    whole = kept[:place] if is_fraction else kept
    fraction = kept[place + 1 :].rstrip("0") if is_fraction else ""
    return "".join(char for char in whole if char.isdigit()), fraction
