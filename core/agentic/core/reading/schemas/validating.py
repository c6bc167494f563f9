"""Validators of JSON Schemas; they fetch nothing, and no pattern backtracks."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from agentic.core.linear import RegexTooCostlyError, compile_linear
from agentic.core.reading.extras import load
from agentic.core.reading.schemas.keywords import LinearKeywords, patterns_in
from agentic.core.types import JSONValue

EXTRA = "schema"


@lru_cache(maxsize=64)
def validator_of(text: str) -> Any:  # noqa: ANN401 - a class of jsonschema, which may not be installed
    """Return the validator of a JSON Schema (2020-12 unless it says otherwise).

    Args:
        text: The schema, as JSON.

    Raises:
        ValueError: It is not a JSON Schema, or a pattern costs too much.
        MissingExtraError: The extra ``schema`` is not installed.
    """
    jsonschema = load("jsonschema", EXTRA)
    schema = json.loads(text)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as exc:
        place = "/".join(map(str, exc.absolute_path)) or "its root"
        raise ValueError(f"it is not a JSON Schema: at {place}, {exc.message}") from None
    for pattern in patterns_in(schema):
        compile_linear(pattern)
    # With a registry of its own, a `$ref` to somewhere else is refused instead of fetched.
    registry = load("referencing", EXTRA).Registry()
    linear = jsonschema.validators.extend(kind, LinearKeywords(jsonschema.ValidationError).by_name())
    return linear(schema, format_checker=kind.FORMAT_CHECKER, registry=registry)


def schema_faults(value: JSONValue, text: str, *, limit: int = 10) -> list[str]:
    """Return why a value does not fit a schema, at most ``limit`` reasons; none if it fits.

    Args:
        value: JSON data.
        text: The schema, as JSON.
        limit: Reasons.

    Raises:
        ValueError: The schema refers to a part that it does not have, or checking takes too long.
    """
    referencing = load("referencing.exceptions", EXTRA)
    found: list[str] = []
    try:
        for fault in validator_of(text).iter_errors(value):
            place = ".".join(map(str, fault.absolute_path)) or "it"
            found.append(f"{place}: {fault.message[:200]}")
            if len(found) == limit:
                break
    except RegexTooCostlyError as exc:
        raise ValueError(str(exc)) from None
    except referencing.Unresolvable as exc:
        raise ValueError(
            f"the schema refers to {exc.ref!r}, which is not in it; add it to its $defs"
        ) from exc
    return found
