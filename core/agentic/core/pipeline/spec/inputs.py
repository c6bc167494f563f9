"""The inputs of a pipeline run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, Self, cast

from pydantic import BaseModel, ConfigDict, Json, JsonValue, TypeAdapter, ValidationError, model_validator

from agentic.core.pipeline.errors import PipelineInputError
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.types import JSONValue

InputType = Literal["string", "integer", "number", "boolean", "list", "object"]

# A command line passes only text: numbers, booleans and JSON are read from it.
_ADAPTERS: Mapping[InputType, TypeAdapter[object]] = {
    "string": TypeAdapter(str),
    "integer": TypeAdapter(int),
    "number": TypeAdapter(float),
    "boolean": TypeAdapter(bool),
    "list": TypeAdapter(list[JsonValue] | Json[list[JsonValue]]),
    "object": TypeAdapter(dict[str, JsonValue] | Json[dict[str, JsonValue]]),
}
_TYPES: Mapping[type, InputType] = {
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "list",
    dict: "object",
}


class InputSpec(BaseModel):
    """One input; without ``default`` it must be given. A default of null makes it optional."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: InputType = "string"
    description: str = ""
    default: JSONValue = None

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return "default" not in self.model_fields_set

    @model_validator(mode="after")
    def _default_fits(self) -> Self:
        if self.default is not None and (fault := self.fault_of(self.default)):
            kind = _TYPES.get(type(self.default))
            if "type" not in self.model_fields_set and kind is not None:
                raise ValueError(f"the default is not a string; add type: {kind}")
            raise ValueError(f"the default is not a valid {self.type}: {fault}")
        return self

    def fault_of(self, value: JSONValue) -> str | None:
        """Return why ``value`` does not fit, None if it does."""
        try:
            self.read(value)
        except ValidationError as exc:
            return exc.errors()[0]["msg"]
        return None

    def read(self, value: JSONValue) -> JSONValue:
        """Return ``value`` as this type; numbers, booleans, lists and objects may come as text.

        Raises:
            ValidationError: It does not fit.
        """
        if value is None and not self.is_required and self.default is None:
            return None
        return cast(JSONValue, _ADAPTERS[self.type].validate_python(value))


class Declaring(Protocol):
    """A pipeline, for its declared inputs: a :class:`~agentic.core.pipeline.PipelineSpec`."""

    @property
    def name(self) -> str:
        """Its name, for errors."""
        ...

    @property
    def inputs(self) -> Mapping[str, InputSpec]:
        """Name -> input."""
        ...


def read_inputs(spec: Declaring, given: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return every declared input: as given, or its default.

    Raises:
        PipelineInputError: One is missing, unknown or of another type; every such fault is listed.
    """
    faults = [unknown_word("input", name, spec.inputs) for name in given if name not in spec.inputs]
    values: dict[str, JSONValue] = {}
    for name, declared in spec.inputs.items():
        if name not in given:
            values[name] = declared.read(declared.default) if declared.default is not None else None
            if declared.is_required:
                faults.append(f"{name!r} is missing ({declared.description or declared.type})")
        elif fault := declared.fault_of(given[name]):
            faults.append(f"{name!r} is not a valid {declared.type}: {fault}")
        else:
            values[name] = declared.read(given[name])
    if faults:
        raise PipelineInputError(spec.name, faults)
    return values
