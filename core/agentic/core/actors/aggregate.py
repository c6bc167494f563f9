"""The stock actor that brings items together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors.actor import Actor
from agentic.core.actors.context import ActorContext
from agentic.core.types import JSONValue

Item = dict[str, JSONValue]


class AggregateInput(BaseModel):
    """Items, and what makes two of them the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[Item, ...]
    key: str | tuple[str, ...] | None = Field(
        default=None, description="Field or fields that identify an item; None keeps every item."
    )


class AggregateOutput(BaseModel):
    """Items, each once, and how many there were.

    ``counts`` holds ``received``, ``kept``, ``duplicates`` (merged into an earlier item) and ``without_key``
    (kept, as nothing says what they are).
    """

    model_config = ConfigDict(frozen=True)

    items: tuple[Item, ...]
    counts: dict[str, int]


class AggregateActor(Actor[AggregateInput, AggregateOutput]):
    """Makes one list of items: duplicates merged, all counted."""

    name = "aggregate"
    version = "1"
    aliases = ("DataAggregator",)
    Input = AggregateInput
    Output = AggregateOutput

    async def run(self, ctx: ActorContext, given: AggregateInput, /) -> AggregateOutput:  # noqa: ARG002 - as declared
        """Return the items with duplicates merged: what a later one knows fills what an earlier one lacks."""
        return merge_items(given.items, (given.key,) if isinstance(given.key, str) else given.key or ())


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


def _identity(item: Mapping[str, JSONValue], key: Sequence[str]) -> str | None:
    values = [item.get(name) for name in key]
    if not values or any(value is None for value in values):
        return None
    return json.dumps(values, sort_keys=True)
