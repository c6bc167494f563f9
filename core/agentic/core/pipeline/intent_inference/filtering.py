"""Conditions in words as filters of a pipeline, where it can decide them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.pipeline.intent_inference.wanted import WantedData, WantedFilter
from agentic.core.pipeline.spec.intents import ItemFilter
from agentic.core.types import JSONValue

AMOUNTS = frozenset({"integer", "number", "price"})


@dataclass(frozen=True, slots=True)
class NotApplied:
    """A condition that the pipeline does not check.

    Attributes:
        words: As the person said it.
        reason: Why not.
    """

    words: str
    reason: str


def filters_of(
    wanted: WantedData, kinds: Mapping[str, str], items: Sequence[Mapping[str, JSONValue]]
) -> tuple[tuple[ItemFilter, ...], tuple[NotApplied, ...]]:
    """Return the filters of a pipeline, and the conditions that it cannot check.

    Args:
        wanted: The data, with the conditions.
        kinds: Field -> type of its rule; without fields that the pages do not have.
        items: Some items as the pipeline reads them: a text is compared as the site writes it.
    """
    filters, others = [], []
    for one in wanted.filters:
        if not one.field:
            others.append(NotApplied(one.words, "no field decides it"))
            continue
        values = _values(one.field, items)
        if one.field not in kinds:
            others.append(NotApplied(one.words, f"the pages have no place for {one.field}"))
            continue
        if kinds[one.field] in AMOUNTS:
            found = _of_amount(one, values, is_price=kinds[one.field] == "price")
        else:
            found = (_of_text(one, values),)
        filters += [part for part in found if isinstance(part, ItemFilter)]
        others += [part for part in found if isinstance(part, NotApplied)]
    return tuple(filters), tuple(others)


def _of_amount(
    one: WantedFilter, values: Sequence[JSONValue], *, is_price: bool
) -> tuple[ItemFilter | NotApplied, ...]:
    if isinstance(one.value, str):
        return (NotApplied(one.words, f"{one.value!r} is not a number to compare {one.field} with"),)
    if not values:
        return (NotApplied(one.words, f"no record on the page has a number as {one.field}"),)
    plain = ItemFilter(field=one.field, op=one.op, value=one.value)
    if one.currency is None:
        return (plain,)
    if is_price and _currencies(values):
        return (plain.model_copy(update={"currency": one.currency}),)
    return plain, NotApplied(
        one.currency, f"the texts of {one.field} name no currency, so it is not compared"
    )


def _of_text(one: WantedFilter, values: Sequence[JSONValue]) -> ItemFilter | NotApplied:
    if one.op not in ("==", "!="):
        return NotApplied(
            one.words, f"a pipeline compares only numbers by {one.op}, and {one.field} is a text"
        )
    wanted = str(one.value).casefold()
    known = [value for value in values if isinstance(value, str) and value.casefold() == wanted]
    if not known:
        return NotApplied(one.words, f"no record on the page has {str(one.value)!r} as {one.field}")
    return ItemFilter(field=one.field, op=one.op, value=known[0])


def _values(name: str, items: Iterable[Mapping[str, JSONValue]]) -> list[JSONValue]:
    found = (item.get(name) for item in items)
    return [value for value in found if value is not None and not _is_empty_price(value)]


def _is_empty_price(value: JSONValue) -> bool:
    return isinstance(value, dict) and value.get("amount") is None


def _currencies(values: Iterable[JSONValue]) -> set[str]:
    found = (value.get("currency") for value in values if isinstance(value, dict))
    return {one for one in found if isinstance(one, str)}
