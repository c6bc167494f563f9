"""The item that a model read from a page, checked against the requested JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from agentic.core.actors import ActorError
from agentic.core.types import JSONValue

Item = dict[str, JSONValue]


def _checked(schema: dict[str, JSONValue]) -> dict[str, JSONValue]:
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as exc:
        place = "/".join(map(str, exc.absolute_path)) or "its root"
        raise ValueError(f"it is not a JSON Schema: at {place}, {exc.message}") from None
    return schema


JsonSchema = Annotated[dict[str, JSONValue], AfterValidator(_checked)]
"""A JSON Schema (by default 2020-12), checked when the spec is read."""


def item_of(found: JSONValue, schema: Mapping[str, JSONValue] | None, url: str) -> Item:
    """Return the found fields without nulls, which the page does not have.

    Args:
        found: The output of the model.
        schema: The requested schema, if any.
        url: Of the page.

    Raises:
        ActorError: It does not match (``schema_invalid``).
    """
    if not isinstance(found, dict):
        raise _misfit(url, f"{type(found).__name__} found instead of an object")
    item: Item = {name: value for name, value in found.items() if value is not None}
    if schema is not None and (fault := _fault(item, schema)):
        raise _misfit(url, fault)
    return item


def _fault(item: Item, schema: Mapping[str, JSONValue]) -> str | None:
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        # With its own registry, an external `$ref` is refused instead of fetched.
        fault = next(iter(kind(schema, registry=Registry()).iter_errors(item)), None)
    except Unresolvable as exc:
        return f"the schema refers to {exc.ref!r}, which is not in it"
    if fault is None:
        return None
    place = "/".join(map(str, fault.absolute_path)) or "the item"
    return f"{place}: {fault.message[:200]}"


def _misfit(url: str, fault: str) -> ActorError:
    message = (
        f"the fields that Firecrawl extracted from {url} do not match the schema: {fault}; make the schema "
        "or the prompt clearer"
    )
    return ActorError(message, failure_class="schema_invalid")
