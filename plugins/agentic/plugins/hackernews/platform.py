"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.plugins.hackernews.executor import HackerNewsAgentExecutor
from agentic.plugins.hackernews.mapper import HackerNewsResultMapper
from agentic.plugins.hackernews.models import HackerNewsItemModel, HackerNewsUserModel
from agentic.plugins.hackernews.settings import HackerNewsSettings

PLATFORM = Platform(
    name="hackernews",
    executor=HackerNewsAgentExecutor,
    mapper=HackerNewsResultMapper,
    settings=HackerNewsSettings,
    migrations="agentic.plugins.hackernews.migrations",
    models=[HackerNewsItemModel, HackerNewsUserModel],
    doctor=AgentsDoctor(platform="hackernews", settings=HackerNewsSettings),
)
