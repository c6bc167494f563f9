"""Elements that hold an example value, and how a rule reads the value from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from agentic.core.linear import compile_linear
from agentic.core.wrappers.addresses import link_of
from agentic.core.wrappers.amounts import MAX_AMOUNT_CHARS
from agentic.core.wrappers.building.expressions import (
    MAX_PART_TEXT,
    digits_of,
    escaped,
    expression_of,
    is_amount_text,
    span_of,
)
from agentic.core.wrappers.building.naming import amount_type, day_of, is_price
from agentic.core.wrappers.candidates import MAX_ELEMENTS, MAX_TEXT_CHARS
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind, agreement
from agentic.core.wrappers.words import plain

SAME = 0.9
"""Agreement from which a text is the example."""

SAME_LIST = 0.85
Example = str | Sequence[str]
"""A value of a field as a person gives it; several values for a list."""

Row = Mapping[str, Example]
Reading = Literal["same", "part", "number", "date", "like"]
_SCORES: dict[Reading, float] = {"same": 3.0, "number": 2.0, "date": 2.0, "part": 1.0, "like": 0.5}
_ATTRIBUTES = ("href", "src", "datetime", "content", "value", "title", "alt", "aria-label", "data-src")
_ADDRESSES = frozenset({"href", "src", "data-src"})
_AMOUNT = re.compile(r"\d[\d.,'’  ]*")
_MAX_AFFIX = 32
"""Characters around an amount; in longer texts other rows may have another number first."""

_LONG = 40
_NOT_EXACT = 0.6
"""Less for a text that differs from the example in marks and capitals."""


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
                yield ExampleMatch((number,), "", reading, score_of(reading, tree.text(number), example))
            elif is_joined(tree, number, example):
                yield ExampleMatch((number,), "", "number", _SCORES["number"] + 0.5)
        attributes = tree.elements[number].attrs
        for attr in (*_ATTRIBUTES, *(key for key in attributes if key.startswith("data-"))):
            value = attributes.get(attr)
            if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT_CHARS:
                continue
            reading = _read_attribute(tree, number, attr, example)
            if reading is not None:
                more = 0.5 if attr in _ADDRESSES else -0.5  # a link may show its address, or a part of it
                score = _SCORES[reading] if attr in _ADDRESSES else score_of(reading, value, example)
                yield ExampleMatch((number,), attr, reading, score + more)


def is_joined(tree: PageTree, number: int, example: str) -> bool:
    """Return whether an element has an amount whose fraction is in a part of its own: ``19<sup>50</sup>``."""
    whole, fraction = digits_of(example)
    if not whole or not is_amount_text(example) or tree.length(number) > MAX_AMOUNT_CHARS:
        return False
    amount = next(iter(amounts_in(tree.text(number))), "")
    behind = amount.strip().removeprefix(whole)
    inner = range(number + 1, tree.ends[number])
    return (
        amount.startswith(whole)
        and behind.isdecimal()
        and behind.rstrip("0") == fraction
        and any(tree.text(part) == behind for part in inner)
    )


def score_of(reading: Reading, text: str, example: str) -> float:
    """Return how sure it is that a text is the place of an example."""
    exact = 0.5 if reading == "number" and example in text else 0.0
    if reading == "same" and text != example:
        exact = -_NOT_EXACT
    return _SCORES[reading] + exact - (len(text) / MAX_PART_TEXT if reading == "part" else 0.0)


def _read_attribute(tree: PageTree, number: int, attr: str, example: str) -> Reading | None:
    """Return how an example stands in an attribute of an element; None if it does not."""
    given = tree.elements[number].attrs.get(attr)
    value = given.strip() if isinstance(given, str) else ""
    if attr in _ADDRESSES:
        return "same" if value == example or link_of(tree, number, attr) == example else None
    reading = read_as(value, example)
    return reading if reading in ("same", "number", "date") else None


def read_as(text: str, example: str) -> Reading | None:
    """Return how an example stands in a text; None if it does not."""
    if text == example:
        return "same"
    if not text:
        return None
    if is_amount_text(example):
        if _same_amount(text, example):
            return "number"
        return "part" if span_of(text, example) is not None else None
    if plain(text) == plain(example) and plain(text):
        return "same"
    return _read_other(text, example)


def _read_other(text: str, example: str) -> Reading | None:
    day = day_of(example)
    if day is not None and day_of(text) == day:
        return "date"
    if len(example) > 1 and span_of(text, example) is not None:
        return "part"
    return "like" if len(example) > _LONG and agreement(Kind.TEXT, [text], example) >= SAME else None


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
    reading: Reading | None
    if match.attr:
        reading = _read_attribute(tree, hits[0], match.attr, wanted)
    elif is_joined(tree, hits[0], wanted):
        reading = "number"
    else:
        reading = read_as(tree.text(hits[0]), wanted)
    return reading is not None and (reading in ("same", match.reading) or match.reading in ("same", "like"))


def reading_of(
    match: ExampleMatch,
    examples: Sequence[str | Sequence[str]],
    found: Sequence[Sequence[str]],
    texts: Sequence[Sequence[str]],
    *,
    label: str = "",
) -> tuple[str, str]:
    """Return the type and the expression of a rule that reads examples from the texts that hold them.

    Args:
        match: How an example stands in its text.
        examples: The values of some pages.
        found: The texts on these pages.
        texts: The texts on all pages.
        label: The beginning that all these texts share; may be empty.
    """
    if match.attr in _ADDRESSES:
        return "url", ""
    pairs = [
        (example, one[0])
        for example, one in zip(examples, found, strict=True)
        if isinstance(example, str) and one
    ]
    readings = {read_as(text, example) or match.reading for example, text in pairs}
    values, shown = [example for example, _ in pairs], [text for one in texts for text in one[:1]]
    if "part" in readings:
        regex = expression_of(pairs, shown)
        if not regex or not all(map(is_amount_text, values)):
            return "string", regex
        taking = compile_linear(regex)
        amounts = (hit.groups[0] for text in shown if (hit := taking.search(text)) is not None)
        return amount_type(values, [one for one in amounts if one]), regex
    behind_label = f"^{escaped(label)}\\s?(.*)$" if label else ""
    if "number" in readings:
        kind = amount_type(values, shown)
        return kind, behind_label or (expression_of(pairs, shown) if kind == "string" else "")
    if "date" in readings:
        return "date", behind_label
    return "string", behind_label or (_without_marks(pairs) if readings == {"same"} else "")


MAX_MARKS = 8
"""More characters around a value are not marks."""


def _without_marks(pairs: Sequence[tuple[str, str]]) -> str:
    """Return an expression for texts without the marks that all examples lack, as in ``(github.com)``."""
    around = {text.partition(example)[::2] if example in text else ("", "") for example, text in pairs}
    ahead, behind = around.pop() if len(around) == 1 else ("", "")
    if not 0 < len(ahead + behind) <= MAX_MARKS or any(map(str.isalnum, ahead + behind)):
        return ""
    return "^{}(.*?){}$".format(
        *("".join(f"{escaped(mark)}?" for mark in marks) for marks in (ahead, behind))
    )


def amounts_in(text: str) -> list[str]:
    """Return the amounts of a text, with the marks that are between their digits."""
    return _AMOUNT.findall(text)


def _same_amount(text: str, example: str) -> bool:
    if len(text) > MAX_AMOUNT_CHARS:
        return False
    amounts = amounts_in(text)
    wanted = digits_of(example)
    if not amounts or digits_of(amounts[0]) != wanted or len(text) - len(amounts[0]) > _MAX_AFFIX:
        return False
    return len(amounts) == 1 or not is_price(text)
