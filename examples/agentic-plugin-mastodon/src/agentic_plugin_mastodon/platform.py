"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform

from agentic_plugin_mastodon.executor import MastodonExecutor
from agentic_plugin_mastodon.mapper import MastodonMapper
from agentic_plugin_mastodon.models import MastodonStatusModel, MastodonTimelineModel
from agentic_plugin_mastodon.settings import MastodonSettings

PLATFORM = Platform(
    name="mastodon",
    executor=MastodonExecutor,
    mapper=MastodonMapper,
    settings=MastodonSettings,
    migrations="agentic_plugin_mastodon.migrations",
    models=[MastodonStatusModel, MastodonTimelineModel],
)
