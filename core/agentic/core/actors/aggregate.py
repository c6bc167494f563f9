"""The stock actor that brings items together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.actors.actor import Actor
from agentic.core.actors.context import ActorContext
from agentic.core.types import JSONValue

Item = dict[str, JSONValue]


class AggregateInput(BaseModel):
    """Items, and the fields that identify duplicates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[Item, ...]
    key: str | tuple[str, ...] | None = Field(
        default=None, description="Field or fields that identify an item. None keeps every item."
    )
    sort_by: str | None = Field(
        default=None,
        pattern="^-?.",
        description="Field to sort by; -price sorts descending. Items without it come last.",
    )
    limit: PositiveInt | None = Field(
        default=None, description="Maximum number of items, applied after sorting."
    )
    group_by: str | None = Field(default=None, description="Field to count by; the counts are in `groups`.")


class AggregateOutput(BaseModel):
    """Items, each once, and how many there were.

    ``counts`` holds ``received``, ``kept``, ``duplicates`` (merged into an earlier item), ``without_key``
    (kept: nothing identifies them) and, with a ``limit``, ``left_out``. ``groups`` says how many items
    have which value of ``group_by``, the most frequent first and before the limit; values other than texts
    are written as JSON.
    """

    model_config = ConfigDict(frozen=True)

    items: tuple[Item, ...]
    counts: dict[str, int]
    groups: dict[str, int] = Field(default_factory=dict)


class AggregateActor(Actor[AggregateInput, AggregateOutput]):
    """Merges items into one list: without duplicates, sorted, limited and counted."""

    name = "aggregate"
    version = "2"
    aliases = ("DataAggregator",)
    Input = AggregateInput
    Output = AggregateOutput

    async def run(self, ctx: ActorContext, given: AggregateInput, /) -> AggregateOutput:  # noqa: ARG002 - as declared
        """Return the items with duplicates merged: later ones fill the gaps of earlier ones."""
        merged = merge_items(given.items, (given.key,) if isinstance(given.key, str) else given.key or ())
        items = sort_items(merged.items, given.sort_by) if given.sort_by else merged.items
        groups = count_groups(items, given.group_by) if given.group_by else {}
        if given.limit is None:
            return AggregateOutput(items=items, counts=merged.counts, groups=groups)
        kept = items[: given.limit]
        counts = {**merged.counts, "kept": len(kept), "left_out": len(items) - len(kept)}
        return AggregateOutput(items=kept, counts=counts, groups=groups)


def merge_items(items: Sequence[Item], key: Sequence[str]) -> AggregateOutput:
    """Return each item once, in the order of its first appearance; without ``key`` all are kept."""
    merged: dict[str, Item] = {}
    without_key = 0
    for position, item in enumerate(items):
        identity = _identity(item, key)
        if identity is None:
            without_key += bool(key)
            identity = f"#{position}"
        earlier = merged.get(identity, {})
        known = {name: value for name, value in earlier.items() if value is not None}
        merged[identity] = {**earlier, **item, **known}
    counts = {
        "received": len(items),
        "kept": len(merged),
        "duplicates": len(items) - len(merged),
        "without_key": without_key,
    }
    return AggregateOutput(items=tuple(merged.values()), counts=counts)


def sort_items(items: Iterable[Item], field: str) -> tuple[Item, ...]:
    """Return ``items`` sorted by a field, in reverse if its name begins with ``-``; those without it last.

    Numbers come before texts, and equal items keep their order.
    """
    name, is_reverse = field.removeprefix("-"), field.startswith("-")
    everything = tuple(items)
    known = [item for item in everything if item.get(name) is not None]
    unknown = [item for item in everything if item.get(name) is None]
    return (*sorted(known, key=lambda item: _rank(item[name]), reverse=is_reverse), *unknown)


def count_groups(items: Iterable[Item], field: str) -> dict[str, int]:
    """Return how many items have which value of a field, the most frequent first; null counts, too."""
    values = (item.get(field) for item in items)
    counts = Counter(
        value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values
    )
    return dict(counts.most_common())


def _rank(value: JSONValue) -> tuple[bool, float, str]:
    if isinstance(value, int | float):
        return False, value, ""
    return True, 0.0, value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _identity(item: Mapping[str, JSONValue], key: Sequence[str]) -> str | None:
    values = [item.get(name) for name in key]
    if not values or any(value is None for value in values):
        return None
    return json.dumps(values, sort_keys=True)
