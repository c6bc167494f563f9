"""The fake model that answers by words."""

from __future__ import annotations

import json

import pytest

from agentic.core.llm import ChatMessage, ModelRequest, llm
from agentic.core.llm.structured import bind_schema
from agentic.core.types import JSONValue

TEXT = "name: Aurora\nprice: 12.5 EUR\nA lamp of brass."
Schema = dict[str, JSONValue]


async def answer(schema: Schema, instructions: str = "") -> JSONValue:
    request = ModelRequest(instructions=instructions, messages=(ChatMessage.user(TEXT),))
    bound = bind_schema(request, {"type": "object", "properties": {"it": schema}}, "native")
    found: dict[str, JSONValue] = json.loads((await llm("fake:words").complete(bound)).text)
    return found["it"]


@pytest.mark.parametrize(
    ("schema", "instructions", "expected"),
    [
        ({"type": "string", "enum": ["chair", "lamp"]}, "", "lamp"),
        ({"type": "string", "enum": ["chair", "light"]}, "- light: lamp, candle", "light"),
        ({"type": "string", "enum": ["chair", "unknown"]}, "", "unknown"),
        ({"type": ["string", "null"], "enum": ["chair", None]}, "", None),
        ({"type": "array", "items": {"enum": ["brass", "chair", "lamp"]}}, "", ["brass", "lamp"]),
        ({"type": "number"}, "", 12.5),
        ({"type": "integer"}, "", 12),
        ({"type": "boolean"}, "", False),
        ({"type": ["string", "null"]}, "", None),
        ({"type": "string"}, "", "name: Aurora price: 12.5 EUR A lamp of brass."),
        ({"type": "object", "properties": {"name": {"type": "string"}}}, "", {"name": "Aurora"}),
    ],
)
async def test_it_fills_a_schema_from_the_words_of_a_text(
    schema: Schema, instructions: str, expected: JSONValue
) -> None:
    assert await answer(schema, instructions) == expected


async def test_without_a_schema_it_repeats_the_beginning() -> None:
    assert await llm("fake:words").generate("", "word " * 100) == ("word " * 24).strip()
