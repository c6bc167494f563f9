"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.langgraph.executor import PLATFORM_NAME, LangGraphAgentExecutor, doctor
from agentic.plugins.langgraph.mapper import LangGraphResultMapper
from agentic.plugins.langgraph.models import (
    LangGraphCheckpointModel,
    LangGraphPieceModel,
    LangGraphRunModel,
    LangGraphThreadModel,
    LangGraphWriteModel,
)
from agentic.plugins.langgraph.settings import LangGraphSettings

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=LangGraphAgentExecutor,
    mapper=LangGraphResultMapper,
    settings=LangGraphSettings,
    migrations="agentic.plugins.langgraph.migrations",
    models=[
        LangGraphThreadModel,
        LangGraphCheckpointModel,
        LangGraphWriteModel,
        LangGraphPieceModel,
        LangGraphRunModel,
    ],
    doctor=doctor,
)
