"""What an agent of the platform ``web`` can be told."""

from __future__ import annotations

from functools import cached_property
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentic.core.hooks import get_registry
from agentic.core.http import HttpPolicy
from agentic.core.pipeline import (
    CrawlStep,
    PipelineInputError,
    PipelineSpec,
    SpecError,
    StoreRules,
    read_inputs,
)
from agentic.core.pipeline.spec.check import store_fault
from agentic.core.types import JSONValue
from agentic.plugins.web.packaged import find_pipeline


class WebSettings(BaseModel):
    """The config of a web agent: a pipeline, its inputs, and manners of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pipeline: str | dict[str, JSONValue] = Field(
        default="site", description="Name of a packaged pipeline, path of a file, or the spec itself."
    )
    inputs: dict[str, JSONValue] = Field(default_factory=dict)
    store: StoreRules | None = Field(
        default=None, description="Page content that its crawl stores; overrides the crawl's own settings."
    )
    http: HttpPolicy | None = Field(default=None, description="HTTP policy; overrides that of the pipeline.")

    @cached_property
    def spec(self) -> PipelineSpec:
        """The pipeline, checked against the installed actors, with the agent's manners.

        Raises:
            SpecError: It cannot be used.
        """
        spec = find_pipeline(self.pipeline, get_registry().actors)
        if self.store is not None:
            spec = _storing(spec, self.store)
        if self.http is None:
            return spec
        own = {name: getattr(self.http, name) for name in self.http.model_fields_set}
        return spec.model_copy(update={"http": spec.http.model_copy(update=own)})

    @model_validator(mode="after")
    def _can_run(self) -> Self:
        try:
            read_inputs(self.spec, self.inputs)
        except (SpecError, PipelineInputError) as exc:
            raise ValueError(str(exc)) from None
        if self.store is None:
            return self
        crawl = next((step for step in self.spec.steps if isinstance(step, CrawlStep)), None)
        if crawl is None:
            raise ValueError(
                f"store is for the pages of a crawl, but {self.spec.name!r} has no crawl step; set it "
                "where the crawl is"
            )
        if fault := store_fault(crawl):
            raise ValueError(f"store: {fault}")
        return self


def _storing(spec: PipelineSpec, store: StoreRules) -> PipelineSpec:
    """Return a pipeline whose crawl keeps what ``store`` says."""
    own = {name: getattr(store, name) for name in store.model_fields_set}
    steps = tuple(
        step.model_copy(update={"store": step.store.model_copy(update=own)})
        if isinstance(step, CrawlStep)
        else step
        for step in spec.steps
    )
    return spec.model_copy(update={"steps": steps})
