"""Runs Firecrawl agents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from agentic.executors.agents.pipeline import PipelineAgentExecutor
from agentic.plugins.firecrawl.agent_settings import FirecrawlAgentSettings

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
