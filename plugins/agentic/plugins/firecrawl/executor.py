"""Runs Firecrawl agents, and reports on them to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

from agentic.core.errors import SettingsError
from agentic.core.hooks import Finding
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.agents.pipeline import PipelineAgentExecutor
from agentic.plugins.firecrawl.agent_settings import FirecrawlAgentSettings
from agentic.plugins.firecrawl.failures import MissingFirecrawlError
from agentic.plugins.firecrawl.settings import KEY_SECRET, place_of

if TYPE_CHECKING:
    from agentic.core.pipeline import PipelineSpec
    from agentic.core.types import JSONValue


class FirecrawlAgentExecutor(PipelineAgentExecutor):
    """Runs an agent's config as a pipeline of one actor: :class:`FirecrawlAgentSettings`."""

    @cached_property
    def settings(self) -> FirecrawlAgentSettings:
        """The agent's config."""
        return self.read_config(FirecrawlAgentSettings)

    def pipeline(self) -> PipelineSpec:
        """Return the pipeline."""
        return self.settings.spec

    def inputs(self) -> Mapping[str, JSONValue]:
        """Return the pages of mode ``scrape``; the other modes have no inputs."""
        pages: list[JSONValue] = [*self.settings.pages]
        return {"urls": pages} if self.settings.mode == "scrape" else {}


PLATFORM_NAME = "firecrawl"


def _look(settings: FirecrawlAgentSettings) -> Iterator[Finding]:
    if find_spec("firecrawl") is None:
        yield Finding(f"cannot call Firecrawl: {MissingFirecrawlError()}")
    try:
        place_of(settings)
    except SettingsError as exc:
        yield Finding(f"cannot call Firecrawl: {exc}")


def _secrets(settings: FirecrawlAgentSettings) -> Iterator[str]:
    """Yield the cloud's default secret if an agent names none."""
    try:
        needs_key = settings.api_key is None and place_of(settings).is_cloud
    except SettingsError:
        return
    if needs_key:
        yield KEY_SECRET


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=FirecrawlAgentSettings, look=_look, secrets=_secrets)
"""Reports agents that cannot run: invalid config, missing key, missing library. Firecrawl is not called."""
