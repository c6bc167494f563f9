"""The data that a person wants, read from words alone: no page has a part in it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PositiveInt,
    Strict,
    StrictInt,
    StrictStr,
    model_validator,
)

from agentic.core.pipeline.intent_inference.conversing import Conversation, ModelQuestion
from agentic.core.pipeline.intent_inference.errors import WordsTooLongError
from agentic.core.pipeline.spec.intents import Comparison
from agentic.core.types import JSONValue

MAX_CHARS = 2_000
INSTRUCTIONS = (
    "The user describes data of a web site in words. Answer with the wanted data, and add nothing. "
    "record: one record as a singular noun. fields: the facts of a record that the words name, each with "
    "a name in snake_case; type: price for money, number or integer for other amounts, date, url for "
    "links and pictures, string for all else; description: the fact in a few words, with words that a "
    "page may use for it. filters: the conditions that records must meet, each with its words; field: the "
    "field that decides it, or empty if none does; value: a number for < <= > >=; currency: an ISO 4217 "
    "code if the words name one. A field that only a filter needs is in fields, too, with is_asked false. "
    "limit: the number of records, if the words say it. Write no selectors and no addresses; a later "
    "question shows the pages."
)

FieldKind = Literal["string", "integer", "number", "price", "date", "url"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WantedField(_Part):
    """A fact of a record."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    type: FieldKind = "string"
    description: str = Field(default="", max_length=200)
    is_asked: bool = Field(default=True, description="False if only a filter needs it.")


class WantedFilter(_Part):
    """A condition in words, and the comparison that decides it."""

    words: str = Field(min_length=1, max_length=200)
    field: str = ""
    op: Comparison = "=="
    value: StrictStr | StrictInt | Annotated[FiniteFloat, Strict()] = Field(default="")
    currency: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")


class WantedData(_Part):
    """The data behind the words of a person: the part of an intent that needs no page."""

    record: str = Field(min_length=1, max_length=80)
    fields: tuple[WantedField, ...] = Field(min_length=1, max_length=20)
    filters: tuple[WantedFilter, ...] = Field(default=(), max_length=10)
    limit: PositiveInt | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = [one.name for one in self.fields]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"fields: {twice[0]!r} is there twice")
        for one in self.filters:
            if one.field and one.field not in names:
                raise ValueError(f"filters: {one.field!r} is not in fields")
        return self


async def infer_wanted(talk: Conversation, words: str) -> WantedData:
    """Return the data behind the words of a person.

    Raises:
        WordsTooLongError: They have more than 2,000 characters.
        UnusableAnswerError, ModelLimitError, ModelError: See :meth:`Conversation.ask`.
    """
    if len(words) > MAX_CHARS:
        raise WordsTooLongError(len(words), MAX_CHARS)
    question = ModelQuestion(
        about="the words",
        instructions=INSTRUCTIONS,
        text=words,
        schema=WantedData.model_json_schema(),
        read=_wanted,
        kept=words,
    )
    return await talk.ask(question)


def _wanted(answer: JSONValue) -> WantedData:
    if not isinstance(answer, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - for the model, as any other fault
    return WantedData.model_validate(answer)
