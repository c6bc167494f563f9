"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform

from agentic_plugin_arxiv.executor import ArxivExecutor
from agentic_plugin_arxiv.mapper import ArxivMapper
from agentic_plugin_arxiv.models import ArxivPaperModel
from agentic_plugin_arxiv.settings import ArxivSettings

PLATFORM = Platform(
    name="arxiv",
    executor=ArxivExecutor,
    mapper=ArxivMapper,
    settings=ArxivSettings,
    migrations="agentic_plugin_arxiv.migrations",
    models=[ArxivPaperModel],
)
