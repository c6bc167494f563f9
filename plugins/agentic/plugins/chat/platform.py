"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.chat.executor import PLATFORM_NAME, ChatAgentExecutor, doctor
from agentic.plugins.chat.mapper import ChatResultMapper
from agentic.plugins.chat.models import ChatTurnModel
from agentic.plugins.chat.resources import make_talking_agent
from agentic.plugins.chat.settings import ChatSettings, load_config

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=ChatAgentExecutor,
    mapper=ChatResultMapper,
    settings=ChatSettings,
    load_config=load_config,
    migrations="agentic.plugins.chat.migrations",
    models=[ChatTurnModel],
    doctor=doctor,
    talk=make_talking_agent,
)
