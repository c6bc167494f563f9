"""The goal of a user, before there are steps."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PositiveFloat,
    PositiveInt,
    Strict,
    StrictInt,
    StrictStr,
    model_validator,
)

from agentic.core.pipeline.spec.spec import PipelineName, PipelineSpec
from agentic.core.types import JSONValue

IntentKind = Literal["page", "list", "rows", "search", "site", "feed"]


Comparison = Literal["<", "<=", ">", ">=", "==", "!="]


class ItemFilter(BaseModel):
    """A condition that an item must meet: a field compared with a number or a text.

    An item without the field does not meet it, unless the comparison is ``!=``. A price is compared by its
    amount.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: str = Field(min_length=1)
    op: Comparison
    value: StrictStr | StrictInt | Annotated[FiniteFloat, Strict()]
    currency: str | None = Field(
        default=None, pattern=r"^[A-Z]{3}$", description="Of a field of type price: ISO 4217 code."
    )

    @model_validator(mode="after")
    def _can_compare(self) -> Self:
        if isinstance(self.value, str) and self.op not in ("==", "!="):
            raise ValueError(f"{self.op} compares numbers; {self.value!r} is a text")
        return self


class IntentSpec(BaseModel):
    """The data to read, and its source: input of a :class:`PipelineBuilder`, and never run itself.

    Attributes:
        schema_version: Of this shape.
        goal: In the user's own words.
        kind: One page; the rows of a list and of its further pages; the items a list leads to; the items a
            search finds; every page of a site; a feed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    goal: str = ""
    name: PipelineName = Field(default="pipeline", description="Pipeline name.")
    kind: IntentKind
    url: str = Field(description="URL of the page, list, site or feed.")
    keywords: tuple[str, ...] = Field(default=(), description="Search query.")
    login: str | None = Field(
        default=None, description="Name of a credential; the pipeline logs in with it first."
    )
    items: str | None = Field(default=None, description="CSS selector of the items of a list.")
    link: str | None = Field(
        default=None,
        description="CSS selector of the link to its page within an item. Default: its first link.",
    )
    reaches_next: bool = Field(
        default=False, description="An item reaches from its element to the next item, such as dt and dd."
    )
    next: str | None = Field(
        default=None,
        description="CSS selector of the links to further pages of a list, or of a button for them.",
    )
    details: tuple[str, ...] = Field(
        default=(), description="Globs of the pages of a site or a list that describe an item."
    )
    fields: dict[str, JSONValue] = Field(
        default_factory=dict, description="Field name -> CSS selector or rule, as for extract_detail."
    )
    key: str = Field(default="url", description="Field that identifies an item.")
    filters: tuple[ItemFilter, ...] = Field(
        default=(), description="Conditions that an item must meet; not for a site."
    )
    limit: PositiveInt | None = Field(
        default=None, description="Maximum number of items, or of pages of a site."
    )
    browser: Literal["never", "auto", "always"] = "auto"
    fallback: str | None = Field(
        default=None, description="Actor that fetches refused pages: firecrawl_scrape."
    )
    requests_per_second: PositiveFloat | None = None
    allow_private_hosts: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_enough(self) -> Self:
        needed = {
            "rows": ["items", "fields"],
            "list": ["items"],
            "search": ["items", "keywords"],
        }.get(self.kind, [])
        missing = [name for name in needed if not getattr(self, name)]
        if missing:
            raise ValueError(f"an intent of kind {self.kind!r} needs {' and '.join(missing)}")
        if self.filters and self.kind == "site":
            raise ValueError(
                "an intent of kind 'site' has no filters: a crawl stores each item that it reads"
            )
        return self

    @model_validator(mode="after")
    def _filters_have_fields(self) -> Self:
        for one in self.filters:
            if self.fields and one.field not in self.fields:
                raise ValueError(f"filters: {one.field!r} is not a field (known: {', '.join(self.fields)})")
        return self


class IntentInference(Protocol):
    """Turns the words of a person into an intent; :class:`ModelIntentInference` asks a model."""

    async def infer(self, words: str) -> IntentSpec:
        """Return the intent behind the words.

        Raises:
            PipelineError: They ask for nothing that can be read.
        """
        ...


class PipelineBuilder(Protocol):
    """Turns an intent into a pipeline: by rules, by a model, by a graph of decisions.

    Its result is frozen: running it makes no further decisions.
    """

    async def build(self, intent: IntentSpec) -> PipelineSpec:
        """Return the pipeline.

        Raises:
            SpecError: The result does not fit the installed actors.
        """
        ...
