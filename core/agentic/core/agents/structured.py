"""Structured output: a type, its JSON Schema, and the way a model is bound to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError

from agentic.core.errors import line_of
from agentic.core.llm.adapter import StructuredMode
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.requests import ModelRequest
from agentic.core.llm.structured import OUTPUT_TOOL, bind_schema, read_json
from agentic.core.types import JSONValue

OutputT = TypeVar("OutputT")
_WRAPPED = "value"


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """An output type as a JSON Schema, for agents that are data; the output is JSON data.

    Attributes:
        text: The schema, as JSON.
        name: Names the type, for models and in messages.
    """

    text: str
    name: str = "output"

    @classmethod
    def of(cls, schema: Mapping[str, JSONValue], name: str = "") -> OutputSchema:
        """Return a schema, checked.

        Args:
            schema: JSON Schema (2020-12 unless it says otherwise).
            name: Its ``title`` if omitted.

        Raises:
            ValueError: It is not a JSON Schema.
            MissingExtraError: The extra ``schema`` is not installed.
        """
        from agentic.core.reading.schemas.validating import validator_of

        made = cls(json.dumps(schema), name or str(schema.get("title") or "output"))
        validator_of(made.text)
        return made


class OutputSpec(Generic[OutputT]):
    """An output type.

    Models give JSON objects, so another type is wrapped in an object with the field ``value``.

    Args:
        kind: A pydantic model, a dataclass, a TypedDict, a union, or any other type that pydantic knows; or
            an :class:`OutputSchema`.
    """

    def __init__(self, kind: type[OutputT] | OutputSchema) -> None:
        self._raw = kind if isinstance(kind, OutputSchema) else None
        self._adapter: TypeAdapter[OutputT] | None = None
        if isinstance(kind, OutputSchema):
            schema, self.name = json.loads(kind.text), kind.name
        else:
            self._adapter = TypeAdapter(kind)
            schema = self._adapter.json_schema()
            self.name = getattr(kind, "__name__", None) or "output"
        self.is_wrapped = schema.get("type") != "object"
        self.schema: dict[str, JSONValue] = _wrapped(schema) if self.is_wrapped else schema

    def bind(self, request: ModelRequest, mode: StructuredMode) -> ModelRequest:
        """Return a request whose reply must have this type."""
        return bind_schema(request, self.schema, mode, name=self.name)

    def read(self, message: ChatMessage) -> tuple[OutputT, JSONValue]:
        """Return the output of a model's final message, and its JSON.

        Raises:
            ValueError: It does not have the type; the text is for the model.
        """
        found = read_json(message)
        if self.is_wrapped:
            if not isinstance(found, dict) or _WRAPPED not in found:
                raise ValueError(f"the answer must be an object with the field {_WRAPPED!r}")
            found = found[_WRAPPED]
        return self._checked(found)

    def _checked(self, found: JSONValue) -> tuple[OutputT, JSONValue]:
        if self._adapter is None:
            self._check_by_schema(found)
            return cast(OutputT, found), found
        try:
            output = self._adapter.validate_json(json.dumps(found))
        except ValidationError as exc:
            faults = exc.errors(include_url=False, include_context=False, include_input=False)
            told = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in faults[:10])
            raise ValueError(told) from None
        return output, self._adapter.dump_python(output, mode="json")

    def _check_by_schema(self, found: JSONValue) -> None:
        from agentic.core.reading.schemas.validating import schema_faults

        if self._raw is not None and (faults := schema_faults(found, self._raw.text)):
            raise ValueError("; ".join(faults))


@lru_cache(maxsize=256)
def output_spec(kind: Any) -> OutputSpec[Any]:  # noqa: ANN401  # a type, or a union of types
    """Return the spec of an output type; made once."""
    return OutputSpec(kind)


def check_output_type(agent: str, kind: object) -> None:
    """Check that an agent can have an output type, before any model is asked.

    Raises:
        TypeError: It has no JSON Schema.
    """
    if kind is None or kind is str:
        return
    try:
        output_spec(kind)
    except (PydanticUndefinedAnnotation, PydanticUserError, TypeError) as exc:
        reason = line_of(exc).partition("\n")[0].rstrip(".")  # pydantic adds a page of advice
        raise TypeError(
            f"agent {agent!r} cannot have the output type {kind!r:.100}: {reason}; give a pydantic model, a "
            "dataclass or a TypedDict whose fields have a JSON Schema, or a schema by OutputSchema.of(SCHEMA)"
        ) from exc


def is_output_call(message: ChatMessage) -> bool:
    """Whether a message is a final answer by the output tool."""
    return any(call.name == OUTPUT_TOOL for call in message.tool_calls)


def _wrapped(schema: dict[str, Any]) -> dict[str, JSONValue]:
    definitions = schema.pop("$defs", None)
    found: dict[str, JSONValue] = {
        "type": "object",
        "properties": {_WRAPPED: schema},
        "required": [_WRAPPED],
    }
    return {**found, "$defs": definitions} if definitions else found
