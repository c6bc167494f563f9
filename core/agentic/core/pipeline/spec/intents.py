"""The goal of a user, before there are steps."""

from __future__ import annotations

from typing import Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from agentic.core.pipeline.spec.spec import PipelineName, PipelineSpec
from agentic.core.types import JSONValue

IntentKind = Literal["page", "list", "search", "site", "feed"]


class IntentSpec(BaseModel):
    """The data to read, and its source: input of a :class:`PipelineBuilder`, and never run itself.

    Attributes:
        schema_version: Of this shape.
        goal: In the user's own words.
        kind: One page; the items a list leads to; the items a search finds; every page of a site; a feed.
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
    details: tuple[str, ...] = Field(default=(), description="Globs of a site's pages that describe an item.")
    fields: dict[str, JSONValue] = Field(
        default_factory=dict, description="Field name -> CSS selector or rule, as for extract_detail."
    )
    key: str = Field(default="url", description="Field that identifies an item.")
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
        needed = {"list": ["items"], "search": ["items", "keywords"]}.get(self.kind, [])
        missing = [name for name in needed if not getattr(self, name)]
        if missing:
            raise ValueError(f"an intent of kind {self.kind!r} needs {' and '.join(missing)}")
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
