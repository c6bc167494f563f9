"""The items that a crawl reads on a page: one, or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import NamedTuple

from agentic.core.actors import ItemOutput, ItemsOutput
from agentic.core.http import HttpError, canonical_url
from agentic.core.pipeline.crawl.store import CrawledPage
from agentic.core.records import record
from agentic.core.types import JSONValue

_EMPTY: tuple[JSONValue, ...] = (None, "", [], {})


class FoundItem(NamedTuple):
    """An item on a page.

    Attributes:
        key: Value of its key field; None if it lacks the field.
        fields: The values on the page.
    """

    key: str | None
    fields: Mapping[str, JSONValue]


@record
class PageOfItems(CrawledPage):
    """A fetched page with several items on it; its own ``fields`` are empty.

    Attributes:
        items: In the order of the page.
    """

    items: tuple[FoundItem, ...] = ()


def items_of(page: CrawledPage) -> Sequence[FoundItem]:
    """Return the items of a page: none, one, or several."""
    if isinstance(page, PageOfItems):
        return page.items
    return (FoundItem(page.item_key, page.fields),) if page.fields else ()


def count_items(page: CrawledPage) -> int:
    """Return how many items on a page have a value; an item without any matching selector has none."""
    return sum(has_value(item.fields) for item in items_of(page))


def has_value(item: Mapping[str, JSONValue]) -> bool:
    """Whether an item has any value besides its address, which every item has."""
    return any(value not in _EMPTY for name, value in item.items() if name != "url") or item.keys() == {"url"}


def found_items(output: ItemOutput | ItemsOutput, key_field: str) -> Sequence[FoundItem]:
    """Return the items that an actor returned, each with its key."""
    items = (output.item,) if isinstance(output, ItemOutput) else output.items or ()
    return [FoundItem(key_text(item.get(key_field)), item) for item in items]


def with_items(page: CrawledPage, items: Sequence[FoundItem]) -> PageOfItems:
    """Return a page that holds ``items``."""
    known = {field.name: getattr(page, field.name) for field in fields(CrawledPage)}
    return PageOfItems(**known, items=tuple(items))


def key_text(value: JSONValue) -> str | None:
    """Return the value of a key field as text; an address in its canonical spelling, None for no value."""
    if value is None:
        return None
    text = str(value)
    if not text.startswith(("http://", "https://")):
        return text
    try:
        return canonical_url(text)
    except HttpError:
        return text
