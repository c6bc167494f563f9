"""JSON Schema of items, as users give it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

from pydantic import AfterValidator

from agentic.core.actors import ActorError
from agentic.core.linear import RegexTooCostlyError
from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.extras import load
from agentic.core.reading.schemas.validating import EXTRA, validator_of
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.numbers import parse_number

_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

_Fragment = Mapping[str, JSONValue]


def _checked(schema: dict[str, JSONValue]) -> dict[str, JSONValue]:
    validator_of(json.dumps(schema))
    return schema


JsonSchema = Annotated[dict[str, JSONValue], AfterValidator(_checked)]
"""A JSON Schema (2020-12 unless it says otherwise), checked when the spec is read."""


def fit(item: Mapping[str, JSONValue], schema: dict[str, JSONValue], url: str) -> dict[str, JSONValue]:
    """Return ``item`` with the types a JSON Schema asks for, once it is valid.

    Texts become numbers and truths where the schema wants those; a field that is null and may not be is left
    out.

    Args:
        item: As it was read.
        schema: Checked already.
        url: Where it was read, for messages.

    Raises:
        ActorError: It is not valid (``schema_invalid``).
    """
    fitted = {key: _coerced(value, _part(schema, key)) for key, value in item.items()}
    fitted = {
        key: value for key, value in fitted.items() if value is not None or _may_be_null(_part(schema, key))
    }
    referencing = load("referencing.exceptions", EXTRA)
    try:
        fault = next(iter(validator_of(json.dumps(schema)).iter_errors(fitted)), None)
    except RegexTooCostlyError as exc:
        raise ActorError(f"{url}: {exc}", failure_class="too_large") from None
    except referencing.Unresolvable as exc:
        message = f"json_schema refers to {exc.ref!r}, which is not in it; add it to its $defs"
        raise ActorError(message, failure_class="schema_invalid") from exc
    if fault is not None:
        place = "/".join(map(str, fault.absolute_path)) or "the item"
        message = f"{url} does not match json_schema: {place}: {fault.message[:200]}"
        raise ActorError(message, failure_class="schema_invalid")
    return fitted


def _coerced(value: JSONValue, schema: _Fragment) -> JSONValue:
    if isinstance(value, dict):
        return {key: _coerced(inner, _part(schema, key)) for key, inner in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [_coerced(inner, items if isinstance(items, dict) else {}) for inner in value]
    kinds = _kinds(schema)
    if isinstance(value, str):
        return _from_text(value, kinds)
    if "string" in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        return value if kinds & {"integer", "number"} else str(value)
    return value


def _from_text(text: str, kinds: frozenset[str]) -> JSONValue:
    """Return ``text`` as what is asked for; as it is where that fails, for the validator to refuse."""
    if "string" in kinds:
        return text
    found: JSONValue = None
    if kinds & {"integer", "number"}:
        with suppress(AmbiguousError):
            found = parse_number(text, whole="number" not in kinds)
    elif "boolean" in kinds:
        found = _TRUTHS.get(text.strip().lower())
    elif "array" in kinds:
        return [text]
    return text if found is None else found


def _kinds(schema: _Fragment) -> frozenset[str]:
    kind = schema.get("type")
    return frozenset(map(str, kind)) if isinstance(kind, list) else frozenset({str(kind)})


def _may_be_null(schema: _Fragment) -> bool:
    return bool(_kinds(schema) & {"null", "None"})


def _part(schema: _Fragment, key: str) -> _Fragment:
    properties = schema.get("properties")
    part = properties.get(key) if isinstance(properties, dict) else None
    return part if isinstance(part, dict) else {}
