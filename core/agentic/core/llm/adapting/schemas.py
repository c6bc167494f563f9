"""JSON Schemas in the dialects of providers, and replies in the form of the original schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from agentic.core.llm.adapting.contents import json_text
from agentic.core.llm.messages import Part, TextPart, ToolCall
from agentic.core.llm.requests import ModelReply
from agentic.core.records import record
from agentic.core.types import JSONValue

Schema = Mapping[str, JSONValue]

_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
# Keywords that say nothing to a model.
_SILENT = frozenset({"$schema", "$id", "$comment", "title", "examples", "default", "readOnly", "writeOnly"})
_MAX_DEPTH = 60


@record(kw_only=True)
class SchemaDialect:
    """The part of JSON Schema that a provider's API accepts.

    Attributes:
        keywords: Keywords that it accepts; others become words of the description, for the model to read.
        formats: Values of ``format`` that it accepts; None if it accepts all.
        is_closed: Whether objects must forbid further properties.
        requires_all: Whether objects must require all of their properties; optional ones may then be null.
        has_siblings: Whether ``$ref`` may have other keywords beside it.
        has_recursion: Whether a schema may refer to itself.
    """

    keywords: frozenset[str]
    formats: frozenset[str] | None = None
    is_closed: bool = False
    requires_all: bool = False
    has_siblings: bool = False
    has_recursion: bool = True


@dataclass(frozen=True, slots=True)
class FittedSchema:
    """A schema in a provider's dialect.

    Attributes:
        schema: The schema to send.
        is_exact: Whether the API can enforce it: no object in it has free keys.
        original: The schema that was asked for.
    """

    schema: dict[str, JSONValue]
    is_exact: bool
    original: Schema

    def restored(self, value: JSONValue) -> JSONValue:
        """Return a value in the form of the original schema: without the nulls of left-out properties."""
        return _restored(value, cast(JSONValue, self.original), self.original, 0)


def fit_schema(schema: Schema, dialect: SchemaDialect) -> FittedSchema:
    """Return a schema in the dialect of a provider."""
    fitting = _Fitting(dialect)
    fitted = fitting.fit(schema, 0)
    is_exact = fitting.is_exact and (dialect.has_recursion or not _is_recursive(schema))
    return FittedSchema(fitted, is_exact, schema)


def restored_reply(
    reply: ModelReply, tools: Mapping[str, FittedSchema], output: FittedSchema | None
) -> ModelReply:
    """Return a reply whose arguments and output have the form of the schemas that were asked for.

    Args:
        reply: A reply in the provider's dialect.
        tools: The schemas of the tools that the provider enforced, by name.
        output: The schema of the output, if the provider enforced it.
    """
    parts = tuple(_restored_part(part, tools, output) for part in reply.message.parts)
    if parts == reply.message.parts:
        return reply
    return reply.model_copy(update={"message": reply.message.model_copy(update={"parts": parts})})


def _restored_part(part: Part, tools: Mapping[str, FittedSchema], output: FittedSchema | None) -> Part:
    if isinstance(part, ToolCall) and part.name in tools:
        return part.model_copy(
            update={"arguments": tools[part.name].restored(cast(JSONValue, part.arguments))}
        )
    if isinstance(part, TextPart) and output is not None:
        try:
            given = json.loads(part.text)
        except (ValueError, RecursionError):
            return part
        restored = output.restored(given)
        return part if restored == given else part.model_copy(update={"text": json_text(restored)})
    return part


class _Fitting:
    def __init__(self, dialect: SchemaDialect) -> None:
        self.dialect = dialect
        self.is_exact = True

    def fit(self, schema: Schema, depth: int) -> dict[str, JSONValue]:
        if depth > _MAX_DEPTH:
            self.is_exact = False
            return {}
        schema = _simpler(schema, self.dialect.keywords)
        if "$ref" in schema and not self.dialect.has_siblings:
            kept = {key: value for key, value in schema.items() if key in ("$ref", "$defs", "definitions")}
            return {key: self._value(key, value, depth) for key, value in kept.items()}
        fitted: dict[str, JSONValue] = {}
        unsaid: list[str] = []
        for key, value in schema.items():
            if self._is_accepted(key, value):
                fitted[key] = self._value(key, value, depth)
            elif key not in _SILENT and key != "additionalProperties":
                unsaid.append(f"{key}: {value}")
        if schema.get("type") == "object" or "properties" in schema:
            self._close(fitted, schema)
        is_list_of_any = schema.get("type") == "array" and not fitted.keys() & {"items", "prefixItems"}
        if is_list_of_any or not fitted.keys() - {"description"}:
            self.is_exact = False
        if unsaid:
            said = fitted.get("description")
            fitted["description"] = f"{f'{said} ' if said else ''}({'; '.join(unsaid)})"
        return fitted

    def _is_accepted(self, key: str, value: JSONValue) -> bool:
        formats = self.dialect.formats
        return key in self.dialect.keywords and (key != "format" or formats is None or value in formats)

    def _value(self, key: str, value: JSONValue, depth: int) -> JSONValue:
        if key in _MANY and isinstance(value, list):
            return [self._sub(one, depth) for one in value]
        if key in _NAMED and isinstance(value, dict):
            return {name: self._sub(one, depth) for name, one in value.items()}
        return self._sub(value, depth) if key in _ONE else value

    def _sub(self, value: JSONValue, depth: int) -> JSONValue:
        return self.fit(value, depth + 1) if isinstance(value, dict) else value

    def _close(self, fitted: dict[str, JSONValue], schema: Schema) -> None:
        if schema.get("additionalProperties") not in (None, False) or (
            "properties" not in schema and schema.get("additionalProperties") is not False
        ):
            self.is_exact = False  # a dictionary with free keys
            return
        if self.dialect.is_closed:
            fitted.setdefault("properties", {})
            fitted["additionalProperties"] = False
        properties = fitted.get("properties")
        if self.dialect.requires_all and isinstance(properties, dict):
            needed = _texts(schema.get("required"))
            for name, one in properties.items():
                # A constant with a default is what tells the choices of a union apart: it stays.
                if name not in needed and not _is_constant(cast(dict[str, JSONValue], one)):
                    properties[name] = _nullable(cast(dict[str, JSONValue], one))
            fitted["required"] = list(properties)


def _is_recursive(schema: Schema) -> bool:
    """Whether a definition is reached from itself."""
    definitions = schema.get("$defs")
    edges = {
        f"#/$defs/{name}": _refs(one)
        for name, one in (definitions.items() if isinstance(definitions, dict) else ())
    }
    for start, refs in edges.items():
        waiting, seen = set(refs), set[str]()
        while waiting:
            if (ref := waiting.pop()) == start:
                return True
            seen.add(ref)
            waiting |= edges.get(ref, set()) - seen
    return "#" in _refs({name: one for name, one in schema.items() if name != "$defs"})


def _refs(value: JSONValue) -> set[str]:
    if isinstance(value, list):
        return {ref for one in value for ref in _refs(one)}
    if not isinstance(value, dict):
        return set()
    own = {ref} if isinstance(ref := value.get("$ref"), str) else set[str]()
    return own | {ref for one in value.values() for ref in _refs(one)}


def _simpler(schema: Schema, keywords: frozenset[str]) -> Schema:
    """Return the same schema in other keywords where the dialect lacks one: oneOf, const, an allOf of one."""
    found = dict(schema)
    if "oneOf" in found and "oneOf" not in keywords:
        found["anyOf"] = found.pop("oneOf")
        found.pop("discriminator", None)
    if "const" in found and "const" not in keywords:
        found["enum"] = [found.pop("const")]
    parts = found.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
        del found["allOf"]
        found = {**parts[0], **found}
    return found


def _is_constant(schema: Schema) -> bool:
    enum = schema.get("enum")
    return "const" in schema or (isinstance(enum, list) and len(enum) == 1)


def _nullable(schema: dict[str, JSONValue]) -> dict[str, JSONValue]:
    if _allows_null(schema):
        return schema
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [kind, "null"]}
    said = {"description": schema["description"]} if "description" in schema else {}
    bare = {key: value for key, value in schema.items() if key != "description"}
    return {**said, "anyOf": [bare, {"type": "null"}]}


def _allows_null(schema: Schema) -> bool:
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    enum = schema.get("enum")
    if isinstance(enum, list) and None in enum:
        return True
    choices = schema.get("anyOf") or schema.get("oneOf")
    return isinstance(choices, list) and any(isinstance(one, dict) and _allows_null(one) for one in choices)


def _restored(value: JSONValue, schema: JSONValue, root: Schema, depth: int) -> JSONValue:
    found = _resolved(schema, root)
    if depth > _MAX_DEPTH or found is None:
        return value
    if isinstance(value, list):
        return [_restored(one, found.get("items"), root, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    shape = _shape_for(value, found, root)
    properties, needed = shape.get("properties"), _texts(shape.get("required"))
    if not isinstance(properties, dict):
        return value
    return {
        name: _restored(one, properties.get(name), root, depth + 1)
        for name, one in value.items()
        if not (
            one is None
            and name in properties
            and name not in needed
            and not _takes_null(properties[name], root)
        )
    }


def _takes_null(schema: JSONValue, root: Schema) -> bool:
    found = _resolved(schema, root)
    return found is None or not found or _allows_null(found)


def _shape_for(value: dict[str, JSONValue], schema: Schema, root: Schema) -> Schema:
    """Return the choice of a union that an object belongs to: the one with these properties and constants."""
    return next((one for one in _choices(schema, root, 0) if _fits(value, one)), schema)


def _choices(schema: Schema, root: Schema, depth: int) -> Iterator[Schema]:
    """Yield the choices of a union, also of unions in it."""
    choices = schema.get("anyOf") or schema.get("oneOf")
    for choice in choices if isinstance(choices, list) and depth < _MAX_DEPTH else ():
        if (found := _resolved(choice, root)) is not None:
            yield found
            yield from _choices(found, root, depth + 1)


def _fits(value: dict[str, JSONValue], schema: Schema) -> bool:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or value.keys() - properties.keys():
        return False
    constants = {
        name: one["const"] for name, one in properties.items() if isinstance(one, dict) and "const" in one
    }
    return all(value.get(name) == constant for name, constant in constants.items())


def _resolved(schema: JSONValue, root: Schema) -> Schema | None:
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, Mapping):
            return None
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            schema = parts[0]
            continue
        if not isinstance(ref := schema.get("$ref"), str):
            return schema
        schema = _at(root, ref)
    return None


def _at(root: Schema, ref: str) -> JSONValue:
    found: JSONValue = cast(JSONValue, root)
    for step in ref.removeprefix("#").strip("/").split("/"):
        if step:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found


def _texts(value: JSONValue) -> frozenset[str]:
    return frozenset(one for one in _listed(value) if isinstance(one, str))


def _listed(value: JSONValue) -> Iterable[JSONValue]:
    return value if isinstance(value, list) else ()
