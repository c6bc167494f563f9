"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.web.doctor import DOCTOR, PLATFORM_NAME
from agentic.plugins.web.executor import WebAgentExecutor
from agentic.plugins.web.mapper import WebResultMapper
from agentic.plugins.web.models import (
    ItemModel,
    WebContentModel,
    WebFileModel,
    WebLinkModel,
    WebPageModel,
)
from agentic.plugins.web.settings import WebSettings

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=WebAgentExecutor,
    mapper=WebResultMapper,
    settings=WebSettings,
    migrations="agentic.plugins.web.migrations",
    models=[WebContentModel, WebFileModel, WebLinkModel, WebPageModel, ItemModel],
    doctor=DOCTOR,
)
