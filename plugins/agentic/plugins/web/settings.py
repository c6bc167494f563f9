"""The settings of agents of the platform ``web``, and the pipelines that come with the plugin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentic.core.actors import Actor
from agentic.core.hooks import get_registry
from agentic.core.http import HttpPolicy
from agentic.core.pipeline import (
    CrawlStep,
    Fault,
    PipelineInputError,
    PipelineSpec,
    SpecError,
    StoreRules,
    load_spec,
    parse_spec,
    read_inputs,
    read_spec,
)
from agentic.core.pipeline.spec.check import store_fault
from agentic.core.types import JSONValue


class WebSettings(BaseModel):
    """The config of a web agent: a pipeline, its inputs, and its own HTTP policy."""

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
        """The pipeline, checked against the installed actors, with the agent's HTTP policy.

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

    @model_validator(mode="before")
    @classmethod
    def _is_no_pipeline(cls, given: object) -> object:
        if isinstance(given, Mapping) and "steps" in given:
            raise ValueError(
                "'steps' is a key of a pipeline; name its file, as in --config pipeline=shop.yaml, or run it "
                "with `agentic run shop.yaml`"
            )
        return given

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


_FOLDER = files("agentic.plugins.web") / "pipelines"
_FILE_ENDINGS = (".yaml", ".yml", ".json")


def packaged_names() -> list[str]:
    """Return the names of the pipelines that come with the plugin."""
    found = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def find_pipeline(pipeline: str | Mapping[str, JSONValue], actors: Mapping[str, type[Actor]]) -> PipelineSpec:
    """Return a pipeline, checked against ``actors``.

    Args:
        pipeline: Name of a packaged one, path of a YAML or JSON file, or the spec itself.
        actors: Name or alias -> actor.

    Raises:
        SpecError: There is none of that name or path, or it cannot be used.
    """
    if not isinstance(pipeline, str):
        return read_spec(pipeline, actors)
    if pipeline.endswith(_FILE_ENDINGS):
        return load_spec(Path(pipeline), actors)
    known = packaged_names()
    if pipeline not in known:
        message = f"no pipeline has that name (known: {', '.join(known)}); a file ends in .yaml or .json"
        raise SpecError(repr(pipeline), [Fault(message=message)])
    text = (_FOLDER / f"{pipeline}.yaml").read_text(encoding="utf-8")
    return parse_spec(text, actors, source=pipeline, default_name=pipeline)
