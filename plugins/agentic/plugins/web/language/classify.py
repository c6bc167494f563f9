"""The actor that sorts texts, pages and items into labels."""

from __future__ import annotations

from pydantic import Field, field_validator

from agentic.core.actors import Actor, ActorContext
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

UNKNOWN = "unknown"


class ClassifyInput(LanguageInput):
    """What to classify, and the labels."""

    labels: dict[str, str] | tuple[str, ...] = Field(
        min_length=1, description="The labels: a list of names, or name -> description for the model."
    )
    several: bool = Field(default=False, description="Any number of labels fit, in a list.")
    may_be_unknown: bool = Field(
        default=False, description="Allow `unknown`, if no label fits; with `several`, an empty list."
    )
    into: str = Field(default="label", min_length=1, description="The field of the item for the label.")

    @field_validator("labels")
    @classmethod
    def _can_be_told_apart(cls, labels: dict[str, str] | tuple[str, ...]) -> dict[str, str] | tuple[str, ...]:
        seen = [_folded(name) for name in labels]
        if double := next((name for name in labels if seen.count(_folded(name)) > 1), None):
            raise ValueError(f"the label {double!r} appears twice; upper and lower case are the same")
        if any(not name.strip() for name in labels):
            raise ValueError("a label is empty; give each a name")
        return labels

    @property
    def described(self) -> dict[str, str]:
        """Each label with its description, ``unknown`` included if it is allowed."""
        told = self.labels if isinstance(self.labels, dict) else dict.fromkeys(self.labels, "")
        is_more = self.may_be_unknown and not self.several and UNKNOWN not in map(_folded, told)
        return {**told, UNKNOWN: "none of the other labels fits"} if is_more else dict(told)


class ClassifyActor(Actor[ClassifyInput, AnswersOutput]):
    """Classifies pages, texts and items with a language model."""

    name = "classify"
    version = "1"
    Input = ClassifyInput
    Output = AnswersOutput
    failure_classes = MODEL_FAILURES | READING_FAILURES
    reads = frozenset({"html", "json", "other"})

    async def run(self, ctx: ActorContext, given: ClassifyInput, /) -> AnswersOutput:
        """Return the item or items with their labels."""
        return await answered(ctx, given, _Labels(given))


class _Labels(Question):
    def __init__(self, given: ClassifyInput) -> None:
        self._given = given
        self._labels = given.described
        self._by_fold = {_folded(name): name for name in self._labels}

    def request(self, text: str, mode: StructuredMode) -> ModelRequest:
        task = "Choose all labels that fit" if self._given.several else "Choose the label that fits best for"
        listed = "\n".join(
            f"- {name}: {said}" if said else f"- {name}" for name, said in self._labels.items()
        )
        parts = [f"{task} the text that the user gives. {DATA_ALONE}", f"Labels:\n{listed}"]
        if self._given.instructions:
            parts.append(self._given.instructions)
        request = ModelRequest(instructions="\n\n".join(parts), messages=(ChatMessage.user(text),))
        return bind_schema(request, self._schema, mode, name="labels")

    def read(self, message: ChatMessage) -> Item:
        found = read_json(message)
        key = "labels" if self._given.several else "label"
        value = found.get(key) if isinstance(found, dict) else None
        if not self._given.several:
            return {self._given.into: self._known(value)}
        if not isinstance(value, list):
            raise ValueError("`labels` must be a list of labels")  # noqa: TRY004  # for the model
        chosen = list(dict.fromkeys(map(self._known, value)))
        if not chosen and not self._given.may_be_unknown:
            raise ValueError("`labels` is empty; choose at least one")
        return {self._given.into: [name for name in self._labels if name in chosen]}

    @property
    def no_answer(self) -> Item:
        return {self._given.into: None}

    @property
    def _schema(self) -> dict[str, JSONValue]:
        label: dict[str, JSONValue] = {"type": "string", "enum": [*self._labels]}
        several: dict[str, JSONValue] = {"type": "array", "items": label}
        key, kind = ("labels", several) if self._given.several else ("label", label)
        return {"type": "object", "properties": {key: kind}, "required": [key], "additionalProperties": False}

    def _known(self, value: JSONValue) -> str:
        name = self._by_fold.get(_folded(value)) if isinstance(value, str) else None
        if name is None:
            raise ValueError(f"{value!r:.100} is not a label; choose among {', '.join(self._labels)}")
        return name


def _folded(name: str) -> str:
    return name.strip().casefold()
