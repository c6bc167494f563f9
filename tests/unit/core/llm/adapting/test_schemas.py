"""Schemas in a provider's dialect accept the same values, and replies come back in the original form."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field
from tests.integration.plugins.openai.wire import strict_problems

from agentic.core.llm.adapting import SchemaDialect, fit_schema
from agentic.plugins.openai.requests import STRICT


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = Field(default=9, ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: Annotated[str, Field(min_length=1)] = "Rex"
    friend: Cat | Dog | None = None


class Shelf(BaseModel):
    title: str = Field(description="As printed.", max_length=80)
    pets: list[Cat | Dog] = []
    best: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    color: Color = Color.RED
    size: Annotated[int, Field(multiple_of=2)] | None = None
    when: str | None = Field(default=None, json_schema_extra={"format": "date-time"})
    web: str | None = Field(default=None, json_schema_extra={"format": "uri"})


SHELF = Shelf.model_json_schema()
pets: st.SearchStrategy[Cat | Dog] = st.deferred(lambda: st.builds(Cat, lives=st.integers(0, 9)) | dogs)
dogs: st.SearchStrategy[Dog] = st.deferred(
    lambda: st.builds(Dog, name=st.text(min_size=1, max_size=3), friend=st.none() | pets)
)
shelves = st.builds(
    Shelf,
    title=st.text(max_size=5),
    pets=st.lists(pets, max_size=3),
    best=st.none() | pets,
    color=st.sampled_from(Color),
    size=st.none() | st.just(4),
)


def test_a_strict_schema_keeps_the_rules_of_strict_mode() -> None:
    fitted = fit_schema(Shelf.model_json_schema(), STRICT)
    assert fitted.is_exact
    assert list(strict_problems(fitted.schema, is_root=True)) == []


@settings(max_examples=30)
@given(shelf=shelves)
def test_values_with_nulls_for_left_out_properties_are_brought_back(shelf: Shelf) -> None:
    schema, fitted = SHELF, fit_schema(SHELF, STRICT)
    given = shelf.model_dump(mode="json", exclude_unset=True)
    sent = with_nulls(given, fitted.schema, fitted.schema)
    assert Draft202012Validator(fitted.schema).is_valid(sent)
    restored = fitted.restored(sent)
    assert Draft202012Validator(schema).is_valid(restored)
    assert Shelf.model_validate(restored) == shelf


def with_nulls(value: Any, schema: Any, root: Any) -> Any:
    """Return a value as a strict API writes it: all properties are there."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        return [with_nulls(one, schema.get("items", {}), root) for one in value]
    if not isinstance(value, dict):
        return value
    for choice in schema.get("anyOf", ()):
        found = with_nulls(value, choice, root)
        is_kept = not isinstance(found, dict) or value.keys() <= found.keys()
        if is_kept and Draft202012Validator({**choice, "$defs": root["$defs"]}).is_valid(found):
            return found
    properties = schema.get("properties", {})
    return {
        name: with_nulls(value.get(name, one.get("const")), one, root) for name, one in properties.items()
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {
            "type": "object",
            "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}},
        },
        {"type": "object", "properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}]}}},
    ],
    ids=["no properties", "more properties", "any value", "dictionary", "tuple"],
)
def test_free_keys_and_any_values_cannot_be_enforced(schema: dict[str, Any]) -> None:
    assert not fit_schema(schema, STRICT).is_exact


def test_rules_that_the_api_does_not_know_are_words_for_the_model() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 2, "description": "Name."}},
    }
    fitted = fit_schema(schema, SchemaDialect(keywords=frozenset({"type", "properties", "description"})))
    assert fitted.schema["properties"] == {"a": {"type": "string", "description": "Name. (minLength: 2)"}}


def test_the_same_schema_always_gives_the_same_text() -> None:
    first, second = (fit_schema(Shelf.model_json_schema(), STRICT).schema for _ in range(2))
    assert str(first) == str(second)
