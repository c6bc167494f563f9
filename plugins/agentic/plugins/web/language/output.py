"""The output that all actors with a language model share."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from agentic.core.actors import ItemOutput
from agentic.core.types import JSONValue

Item = dict[str, JSONValue]


class AnswersOutput(ItemOutput):
    """The item with the answer about it, or with ``items`` all of them."""

    item: dict[str, JSONValue] = Field(default_factory=dict)
    items: tuple[dict[str, JSONValue], ...] | None = None

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return {name: value for name, value in found.items() if (name == "items") == (self.items is not None)}
