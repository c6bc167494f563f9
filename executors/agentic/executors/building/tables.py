"""The values of a plan on its pages, read by the actors of the pipeline, in tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.cli import print_line, print_sample
from agentic.core.types import JSONValue
from agentic.executors.building.looks import Looks
from agentic.executors.building.plans import Plan

if TYPE_CHECKING:
    from agentic.core.pipeline import IntentSpec
    from agentic.core.wrappers import Offer

_EMPTY: tuple[JSONValue, ...] = (None, "", [], {})
MAX_EXAMPLES = 3
_VALUE_CHARS = 15


@dataclass(frozen=True, slots=True)
class Checked:
    """The values of a field on the pages of a plan.

    Attributes:
        values: Of the first record on each page that has it; None where no record does.
        held: How many records have it.
        count: How many records there are.
    """

    values: Sequence[JSONValue]
    held: int
    count: int


async def check_plan(plan: Plan, looks: Looks) -> dict[str, Checked]:
    """Return the values that the actors of the pipeline read for each field."""
    pages = [await read_page(plan.intent, url, looks) for url in plan.urls]
    return {name: _checked(name, pages) for name in plan.intent.fields}


async def read_page(intent: IntentSpec, url: str, looks: Looks) -> list[dict[str, JSONValue]]:
    """Return the items that the pipeline of an intent reads from a page: rows, or one record."""
    if intent.kind != "rows":
        return await looks.read("extract_detail", {"schema": intent.fields}, url)
    given: dict[str, JSONValue] = {"item_selector": intent.items, "link_selector": intent.link}
    given["reaches_next"] = intent.reaches_next
    config = {name: value for name, value in given.items() if value} | {"fields": intent.fields}
    return await looks.read("extract_list", config, url)


def _checked(name: str, pages: Sequence[Sequence[Mapping[str, JSONValue]]]) -> Checked:
    found = [[row.get(name) for row in page if row.get(name) not in _EMPTY] for page in pages]
    return Checked(
        [there[0] if there else None for there in found], sum(map(len, found)), sum(map(len, pages))
    )


def print_plan(plan: Plan, checked: Mapping[str, Checked]) -> None:
    """Print the fields of a plan with a value of each page, and their places."""
    count = len(plan.urls)
    heads = [f"page {number}" for number in range(1, min(count, MAX_EXAMPLES) + 1)]
    unit = "rows" if plan.kind == "rows" else "pages"
    rows = [
        {
            "field": name,
            f"{unit}": f"{one.held} of {one.count}",
            **{head: _cut(value) for head, value in zip(heads, one.values, strict=False)},
        }
        for name, one in checked.items()
    ]
    print_sample(f"Values on {count} page{'s' if count > 1 else ''}", ["field", unit, *heads], rows)
    places = [
        {
            "field": name,
            "first place": _shown(found[0].path),
            "second place": _shown(found[1].path) if found[1:] else "",
            "places": len(found),
        }
        for name, found in plan.locators.items()
    ]
    print_sample("Places", ["field", "places", "first place", "second place"], places)
    for note in plan.notes:
        print_line(note)
    weak = [name for name, one in checked.items() if 2 * one.held < one.count]
    if weak:
        print_line(f"on most of them missing: {', '.join(weak)}; check these fields")


def _cut(value: JSONValue) -> str:
    """Return a value, short enough for three of them in a line."""
    if isinstance(value, list):
        value = f"{len(value)}: {value[0]}"
    elif isinstance(value, dict) and "amount" in value:
        value = f"{value['amount']} {value.get('currency') or ''}"
    text = "" if value is None else str(value).strip()
    return text if len(text) <= _VALUE_CHARS else f"{text[: _VALUE_CHARS - 1]}…"


def _shown(path: str) -> str:
    """Return a place without the parts that say least."""
    _, mark, behind = path.partition('[normalize-space()="')
    if mark:
        label, _, step = behind.partition('"]/')
        step = step.rpartition("::")[2].removesuffix("[1]")
        return f"{label!r}, then {'a text' if step.startswith('text()') else step}"
    return path.removeprefix(":scope > ")


def print_offers(offers: Sequence[Offer]) -> None:
    """Print the offers of a page with their numbers."""
    rows = [
        {
            "no": number,
            "kind": offer.kind.value,
            "records": offer.count,
            "fields": ", ".join(one.name for one in offer.fields),
            "for example": _example(offer),
            "title": offer.title,
        }
        for number, offer in enumerate(offers, 1)
    ]
    print_sample("The page offers", ["no", "kind", "records", "title", "fields", "for example"], rows)


def _example(offer: Offer) -> str:
    texts = (row for one in offer.fields if not one.attr for row in one.texts[:1])
    return " | ".join(text for row in texts for text in row[:1])
