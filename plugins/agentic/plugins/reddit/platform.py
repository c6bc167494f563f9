"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.reddit.executor import DOCTOR, PLATFORM_NAME, RedditAgentExecutor
from agentic.plugins.reddit.mapper import RedditResultMapper
from agentic.plugins.reddit.models import RedditCommentModel, RedditPostModel, RedditSubredditModel
from agentic.plugins.reddit.settings import RedditSettings

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=RedditAgentExecutor,
    mapper=RedditResultMapper,
    settings=RedditSettings,
    migrations="agentic.plugins.reddit.migrations",
    models=[RedditPostModel, RedditCommentModel, RedditSubredditModel],
    doctor=DOCTOR,
)
