"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.firecrawl.agent_settings import FirecrawlAgentSettings
from agentic.plugins.firecrawl.executor import DOCTOR, PLATFORM_NAME, FirecrawlAgentExecutor
from agentic.plugins.firecrawl.mapper import FirecrawlResultMapper
from agentic.plugins.firecrawl.models import FirecrawlLinkModel, FirecrawlPageModel

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=FirecrawlAgentExecutor,
    mapper=FirecrawlResultMapper,
    settings=FirecrawlAgentSettings,
    migrations="agentic.plugins.firecrawl.migrations",
    models=[FirecrawlLinkModel, FirecrawlPageModel],
    doctor=DOCTOR,
)
