"""Keywords of JSON Schema whose time grows with an item and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from agentic.core.linear import compile_linear
from agentic.core.types import JSONValue

Faults = Iterator[Exception]
Schema = Mapping[str, JSONValue]

_PATTERNS = "patternProperties"


def patterns_in(schema: JSONValue) -> Iterator[str]:
    """Yield every regular expression of a schema.

    Raises:
        ValueError: It has ``patternProperties`` and ``unevaluatedProperties``: jsonschema reads them together
            with an engine that backtracks.
    """
    if isinstance(schema, list):
        for part in schema:
            yield from patterns_in(part)
    elif isinstance(schema, dict):
        if isinstance(pattern := schema.get("pattern"), str):
            yield pattern
        if isinstance(named := schema.get(_PATTERNS), dict):
            if "unevaluatedProperties" in json.dumps(schema):
                said = "patternProperties and unevaluatedProperties cannot be combined"
                raise ValueError(f"{said}; use additionalProperties")
            yield from named
        for part in schema.values():
            yield from patterns_in(part)


class _Validator(Protocol):
    """The part of a validator that a keyword uses."""

    def descend(
        self, instance: JSONValue, schema: JSONValue, path: str | None = None, schema_path: str | None = None
    ) -> Faults: ...


class LinearKeywords:
    """Keywords in place of those that backtrack, or that compare each element with each.

    Args:
        fault: Makes an error of a message.
    """

    def __init__(self, fault: Callable[[str], Exception]) -> None:
        self._fault = fault

    def by_name(self) -> dict[str, object]:
        """Return each keyword, as jsonschema takes them."""
        return {
            "pattern": self.pattern,
            _PATTERNS: self.pattern_properties,
            "additionalProperties": self.additional_properties,
            "uniqueItems": self.unique_items,
        }

    def pattern(self, _validator: object, wanted: str, value: JSONValue, _schema: object) -> Faults:
        """Yield a fault of a text without a match."""
        if isinstance(value, str) and not compile_linear(wanted).occurs_in(value):
            yield self._fault(f"{value[:100]!r} does not match {wanted!r}")

    def pattern_properties(
        self, validator: _Validator, parts: Schema, value: JSONValue, _schema: object
    ) -> Faults:
        """Yield the faults of values whose key fits."""
        if not isinstance(value, dict):
            return
        for wanted, part in parts.items():
            for key in (key for key in value if compile_linear(wanted).occurs_in(key)):
                yield from validator.descend(value[key], part, path=key, schema_path=wanted)

    def additional_properties(
        self, validator: _Validator, allowed: JSONValue, value: JSONValue, schema: Schema
    ) -> Faults:
        """Yield the faults of values whose key is not named."""
        if not isinstance(value, dict):
            return
        extras = _extras(value, schema)
        if isinstance(allowed, dict):
            for key in extras:
                yield from validator.descend(value[key], allowed, path=key)
        elif allowed is False and extras:
            shown = ", ".join(map(repr, extras[:10]))
            yield self._fault(f"Additional properties are not allowed ({shown})")

    def unique_items(
        self, _validator: object, wanted: JSONValue, value: JSONValue, _schema: object
    ) -> Faults:
        """Yield a fault of a list with an element twice."""
        if wanted and isinstance(value, list) and len({_key(one) for one in value}) < len(value):
            yield self._fault("it has elements that are not unique")


def _extras(value: Iterable[str], schema: Schema) -> list[str]:
    known, patterns = _keys(schema.get("properties")), _keys(schema.get(_PATTERNS))
    return [
        key
        for key in value
        if key not in known and not any(compile_linear(one).occurs_in(key) for one in patterns)
    ]


def _keys(part: JSONValue) -> list[str]:
    return [*part] if isinstance(part, dict) else []


def _key(value: JSONValue) -> str:
    """Return the same text for values that are equal to JSON Schema, as 1 and 1.0 are."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: JSONValue) -> JSONValue:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(one) for one in value]
        case dict():
            return {key: _whole(one) for key, one in value.items()}
    return value
