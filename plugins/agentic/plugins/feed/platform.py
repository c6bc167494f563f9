"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.feed.executor import PLATFORM_NAME, FeedAgentExecutor, doctor
from agentic.plugins.feed.mapper import FeedResultMapper
from agentic.plugins.feed.models import FeedEntryModel, FeedModel
from agentic.plugins.feed.settings import FeedSettings

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=FeedAgentExecutor,
    mapper=FeedResultMapper,
    settings=FeedSettings,
    migrations="agentic.plugins.feed.migrations",
    models=[FeedModel, FeedEntryModel],
    doctor=doctor,
)
