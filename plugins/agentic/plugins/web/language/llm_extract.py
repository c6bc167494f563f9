"""The actor that reads fields out of texts, pages and items with a model."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from agentic.core.actors import Actor, ActorContext, ActorError
from agentic.core.llm import ChatMessage, ModelRequest, StructuredMode
from agentic.core.llm.structured import bind_schema, read_json
from agentic.core.types import JSONValue
from agentic.plugins.web.language.asking import (
    DATA_ALONE,
    MODEL_FAILURES,
    READING_FAILURES,
    Question,
    answered,
)
from agentic.plugins.web.language.inputs import LanguageInput
from agentic.plugins.web.language.output import AnswersOutput, Item
from agentic.plugins.web.reading.json_schema import JsonSchema, fit

FieldKind = Literal["text", "number", "integer", "boolean", "list"]
_TYPES: dict[FieldKind, tuple[type[Any], dict[str, JSONValue]]] = {
    "text": (str, {"type": "string"}),
    "number": (float, {"type": "number"}),
    "integer": (int, {"type": "integer"}),
    "boolean": (bool, {"type": "boolean"}),
    "list": (list[str], {"type": "array", "items": {"type": "string"}}),
}


class WantedField(BaseModel):
    """A field that the model looks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = Field(default="", description="For the model.")
    type: FieldKind = Field(default="text", description="`list` is a list of texts.")
    required: bool = Field(default=False, description="The model must find it; otherwise it may be null.")
    choices: tuple[str, ...] = Field(default=(), description="Of a text: the allowed values.")

    @model_validator(mode="after")
    def _choices_are_texts(self) -> Self:
        if self.choices and self.type != "text":
            raise ValueError(f"choices are for texts, not for type {self.type!r}")
        return self


def _wanted(value: object) -> object:
    """Return a list of names as fields, and a text as the description of a field."""
    if isinstance(value, list | tuple):
        value = dict.fromkeys(value, "")
    if not isinstance(value, dict):
        return value
    return {name: {"description": one} if isinstance(one, str) else one for name, one in value.items()}


class LlmExtractInput(LanguageInput):
    """What to read, and the fields of the item to make of it."""

    fields: Annotated[dict[str, WantedField] | None, BeforeValidator(_wanted)] = Field(
        default=None,
        min_length=1,
        description="A list of names, or name -> description, or name -> {description, type, required, "
        "choices}.",
    )
    json_schema: JsonSchema | None = Field(
        default=None, description="Instead of `fields`: JSON Schema of an object; needs the extra `schema`."
    )
    into: str | None = Field(
        default=None, min_length=1, description="The field of the item for the answer; by default its fields."
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.fields is None) == (self.json_schema is None):
            raise ValueError("give either `fields` or `json_schema`")
        if self.json_schema is not None and self.json_schema.get("type") != "object":
            raise ValueError("json_schema must have `type: object`, because items have fields")
        return self


class LlmExtractActor(Actor[LlmExtractInput, AnswersOutput]):
    """Extracts an item with a language model from a page, a text or an item, without selectors."""

    name = "llm_extract"
    version = "1"
    Input = LlmExtractInput
    Output = AnswersOutput
    failure_classes = MODEL_FAILURES | READING_FAILURES
    reads = frozenset({"html", "json", "other"})

    async def run(self, ctx: ActorContext, given: LlmExtractInput, /) -> AnswersOutput:
        """Return the item or items with the fields that were found."""
        return await answered(ctx, given, _Fields(given))


class _Fields(Question):
    def __init__(self, given: LlmExtractInput) -> None:
        self._given = given

    def request(self, text: str, mode: StructuredMode) -> ModelRequest:
        task = (
            "Extract one object from the text that the user gives. Use only facts of the text; a value that "
            f"it does not give is null. {DATA_ALONE}"
        )
        parts = [task]
        if self._given.instructions:
            parts.append(self._given.instructions)
        request = ModelRequest(instructions="\n\n".join(parts), messages=(ChatMessage.user(text),))
        schema = self._given.json_schema or _schema_of(self._given.fields or {})
        return bind_schema(request, schema, mode, name="item")

    def read(self, message: ChatMessage) -> Item:
        found = read_json(message)
        if not isinstance(found, dict):
            raise ValueError("the answer must be a JSON object")  # noqa: TRY004  # for the model
        item = self._checked(found)
        return item if self._given.into is None else {self._given.into: item}

    @property
    def no_answer(self) -> Item:
        if self._given.into is not None:
            return {self._given.into: None}
        if self._given.fields is not None:
            return dict.fromkeys(self._given.fields)
        properties = (self._given.json_schema or {}).get("properties")
        return dict.fromkeys(properties) if isinstance(properties, dict) else {}

    def added(self, answer: Item, item: Item) -> Item:
        """Return an item with its answer.

        A field that `json_schema` does not name replaces none of the item: a page could make the model give
        another `url`, and so overwrite the row of another page.
        """
        if self._given.json_schema is None or self._given.into is not None:
            return super().added(answer, item)
        properties = self._given.json_schema.get("properties")
        named = properties if isinstance(properties, dict) else {}
        return {
            **item,
            **{name: value for name, value in answer.items() if name in named or name not in item},
        }

    def _checked(self, found: Item) -> Item:
        if self._given.json_schema is not None:
            try:
                return fit(found, self._given.json_schema, "the answer")
            except ActorError as exc:
                raise ValueError(str(exc)) from exc
        try:
            checked = _model_of(_frozen(self._given.fields or {})).model_validate(found)
        except ValidationError as exc:
            faults = exc.errors(include_url=False, include_context=False, include_input=False)
            shown = (f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in faults[:10])
            raise ValueError("; ".join(shown)) from None
        values: Item = checked.model_dump(mode="json", by_alias=True)
        return values


def _schema_of(fields: dict[str, WantedField]) -> dict[str, JSONValue]:
    return {
        "type": "object",
        "properties": {name: _property(wanted) for name, wanted in fields.items()},
        "required": [*fields],
        "additionalProperties": False,
    }


def _property(wanted: WantedField) -> JSONValue:
    _, schema = _TYPES[wanted.type]
    found: dict[str, JSONValue] = {**schema}
    if wanted.choices:
        found["enum"] = [*wanted.choices] if wanted.required else [*wanted.choices, None]
    if not wanted.required:
        found["type"] = [found["type"], "null"]
    return {**found, "description": wanted.description} if wanted.description else found


def _frozen(fields: dict[str, WantedField]) -> str:
    return json.dumps({name: wanted.model_dump(mode="json") for name, wanted in fields.items()})


@lru_cache(maxsize=64)
def _model_of(frozen: str) -> type[BaseModel]:
    """Return the model of an answer; its attributes have other names, because a field can have any."""
    parts: dict[str, Any] = {}
    for number, (name, facts) in enumerate(json.loads(frozen).items()):
        wanted = WantedField.model_validate(facts)
        kind: Any = Literal[wanted.choices] if wanted.choices else _TYPES[wanted.type][0]
        default = ... if wanted.required else None
        parts[f"f{number}"] = (kind if wanted.required else kind | None, Field(default=default, alias=name))
    return create_model("Answer", __config__=ConfigDict(extra="ignore"), **parts)
