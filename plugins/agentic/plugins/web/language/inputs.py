"""The input that all actors with a language model share."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from agentic.core.actors import FromResults, Page
from agentic.core.llm.requests import ModelSettings
from agentic.core.types import JSONValue
from agentic.plugins.web.language.output import Item
from agentic.plugins.web.reading.fields import Schema

MODEL_NAME = r"^[^:\s]+:.+$"


class TokenPrice(BaseModel):
    """The price of a model, in US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_usd: NonNegativeFloat
    output_usd: NonNegativeFloat


class ModelChoice(BaseModel):
    """A model, and the options of its provider."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(pattern=MODEL_NAME, description="`provider:name`.")
    options: dict[str, JSONValue] = Field(
        default_factory=dict, description="Of the provider: `api_key`, `base_url` and others."
    )
    price: TokenPrice | None = Field(default=None, description="Instead of the listed price.")


class LanguageInput(ModelChoice):
    """What a model reads, which model it is, and the limits of its use.

    The model reads ``text``, ``item`` or each of ``items``; without them, the page.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    page: Annotated[Page | None, FromResults()] = Field(
        default=None, description="Read if there is no `text`, `item` or `items`."
    )
    text: str | None = Field(default=None, description="The text to read.")
    item: Item | None = Field(default=None, description="The item to read; the answer is added to it.")
    items: tuple[Item, ...] | None = Field(
        default=None, description="The items to read; an answer is added to each."
    )
    read: tuple[str, ...] | str = Field(
        default=(), description="The fields of an item that the model reads; all of them without it."
    )
    selectors: Schema | None = Field(
        default=None,
        alias="schema",
        description="Fields of the page by selectors, as in `extract_detail`: the model reads them instead "
        "of the page, and they are part of the item.",
    )
    content: Literal["main", "article", "all"] = Field(
        default="main",
        description="The part of a page that the model reads: `main` leaves out menus, headers and footers; "
        "`article` needs the extra `article`.",
    )
    max_input_tokens: PositiveInt = Field(
        default=8_000, description="A longer text is cut there, with a warning."
    )
    instructions: str = Field(default="", description="More instructions for the model.")
    settings: ModelSettings = Field(default=ModelSettings(), description="Such as `temperature`.")
    fallback: tuple[str | ModelChoice, ...] | str | ModelChoice = Field(
        default=(), description="Models to ask, in order, if this one cannot reply."
    )
    max_usd: NonNegativeFloat | None = Field(
        default=None, description="Budget of the run in US dollars, over all steps that set one."
    )
    max_tokens: NonNegativeInt | None = Field(
        default=None, description="Budget of the run in tokens, over all steps that set one."
    )
    repairs: NonNegativeInt = Field(
        default=2, description="How often the model may correct an answer that does not fit."
    )
    parallel: PositiveInt = Field(default=4, description="Items that are read at a time.")
    cache: bool = Field(default=True, description="Keep answers in the memory of the project.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("text", "item", "items") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of {', '.join(given)}: the model reads one of them")
        return self

    @property
    def choices(self) -> tuple[ModelChoice, ...]:
        """The models to ask, in order."""
        first = ModelChoice(model=self.model, options=self.options, price=self.price)
        others = self.fallback if isinstance(self.fallback, tuple) else (self.fallback,)
        return first, *(ModelChoice(model=one) if isinstance(one, str) else one for one in others)

    @property
    def read_names(self) -> tuple[str, ...]:
        """The fields that the model reads; none for all."""
        return (self.read,) if isinstance(self.read, str) else self.read
