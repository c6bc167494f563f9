"""From example values to locators: where the fields of a page are, without a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentic.core.types import JSONValue
from agentic.core.wrappers.data import DataValue, read_data_values
from agentic.core.wrappers.fingerprints import Fingerprint
from agentic.core.wrappers.locators import MAX_LOCATORS, Locator, Place, write_locators
from agentic.core.wrappers.ranking import PageFacts, Ranked, aims_of, rank
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind, agreement, shape_of
from agentic.core.wrappers.words import plain
from agentic.core.wrappers.wrapper import Wrapper

SAME = 0.9
"""Agreement from which a text is the example."""

_TRIED = 8
Example = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class BuiltField:
    """A field that was found by its example.

    Attributes:
        name: Of the field.
        is_list: Whether several values were given for it.
        locators: Its places, of different kinds, the best first; each holds on all pages.
        texts: Its texts on each page, in their order.
        label: The text that names it on the first page; may be empty.
    """

    name: str
    is_list: bool
    locators: tuple[Locator, ...]
    texts: tuple[tuple[str, ...], ...]
    label: str


def find_examples(pages: Sequence[PageTree], examples: Mapping[str, Example]) -> dict[str, BuiltField | None]:
    """Return where the values of examples are; None for those that no place holds on all pages.

    Args:
        pages: The page of the examples first, then others of its kind.
        examples: Field -> its value on the first page; several values for a list.
    """
    row: dict[str, JSONValue] = {
        name: example if isinstance(example, str) else list(example) for name, example in examples.items()
    }
    wrappers = {name: wrapper_of_values(name, [example]) for name, example in row.items()}
    facts = [PageFacts(pages[0], row), *map(PageFacts, pages[1:])]
    data = [read_data_values(page.document, page.url) for page in pages]
    return {name: _built(name, wrappers, facts, data) for name in examples}


def wrapper_of_values(
    name: str, values: Sequence[JSONValue], *, kind: Kind = Kind.TEXT, locators: Sequence[Locator] = ()
) -> Wrapper:
    """Return what values alone say of a field: its words, and their shape.

    Args:
        name: Of the field.
        values: One for each row; lists for a field with many values on a page.
        kind: What its texts mean.
        locators: Where it was.
    """
    lists = [value for value in values if isinstance(value, list)]
    texts = [str(one) for value in values for one in (value if isinstance(value, list) else [value])] or [""]
    count = sum(map(len, lists)) / len(lists) if lists else 1
    shape = Fingerprint(
        samples=1,
        shape=shape_of(texts),
        length=math.log1p(sum(map(len, texts)) / len(texts)),
        count=math.log1p(count),
        in_title=0.5,
    )
    return Wrapper(name, kind, bool(lists), locators=tuple(locators), fingerprint=shape)


def _built(
    name: str,
    wrappers: Mapping[str, Wrapper],
    facts: Sequence[PageFacts],
    data: Sequence[Sequence[DataValue]],
) -> BuiltField | None:
    first, wrapper = facts[0], wrappers[name]
    aim = aims_of(wrappers)[name]
    ranked = [one for one in rank(first, name, aim, wrappers, {}) if _holds_example(one, first.row[name])]
    best: tuple[int, list[Locator], list[Place]] | None = None
    for one in ranked[:_TRIED]:
        places = _places(one, facts, aim.words, is_list=wrapper.is_list)
        if len(places) < len(facts):
            continue
        locators = write_locators(places, aim.words, is_list=wrapper.is_list)
        if locators and (best is None or min(len(locators), 2) > min(len(best[1]), 2)):
            best = len(locators), locators, places
    of_data = [] if wrapper.is_list else _of_data(first.row[name], data)
    if best is None and not of_data:
        return None
    locators = best[1] if best else []
    kept = (*locators[: MAX_LOCATORS - len(of_data[:2])], *(one.locator for one in of_data[:2]))
    if best is None:
        return BuiltField(name, False, kept, tuple(_texts_at(kept[0], page) for page in data), "")
    texts = tuple(
        tuple(map(place.index.tree.text, place.numbers if wrapper.is_list else place.numbers[:1]))
        for place in best[2]
    )
    return BuiltField(name, wrapper.is_list, kept, texts, first.tree.label(best[2][0].numbers[0]))


def _holds_example(one: Ranked, example: JSONValue) -> bool:
    if isinstance(example, list):
        texts = set(map(plain, one.candidate.texts))
        return all(plain(str(value)) in texts for value in example)
    return one.agrees >= SAME


def _places(one: Ranked, facts: Sequence[PageFacts], words: frozenset[str], *, is_list: bool) -> list[Place]:
    """Return the elements of a place on each page, by the first selector that gives some on all of them."""
    first, *others = facts
    numbers = one.candidate.numbers
    for selection in first.index.selections(numbers, words, is_list=is_list):
        hits = [[hit for hit in page.index.select(selection) if page.tree.text(hit)] for page in others]
        if all(hits):
            rest = (Place(page.index, tuple(there)) for page, there in zip(others, hits, strict=True))
            return [Place(first.index, numbers), *rest]
    return [Place(first.index, numbers)] if not others else []


def _of_data(example: JSONValue, data: Sequence[Sequence[DataValue]]) -> list[DataValue]:
    first, *others = data
    there = [{one.locator for one in page} for page in others]
    return [
        one
        for one in first
        if agreement(Kind.TEXT, one.values[:1], example) == 1.0 and all(one.locator in page for page in there)
    ]


def _texts_at(locator: Locator, page: Sequence[DataValue]) -> tuple[str, ...]:
    return next((one.values[:1] for one in page if one.locator == locator), ())
