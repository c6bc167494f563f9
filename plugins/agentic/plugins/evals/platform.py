"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.evals.executor import PLATFORM_NAME, EvalAgentExecutor, doctor
from agentic.plugins.evals.mapper import EvalResultMapper
from agentic.plugins.evals.models import EvalCaseModel
from agentic.plugins.evals.settings import EvalSettings, load_config

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=EvalAgentExecutor,
    mapper=EvalResultMapper,
    settings=EvalSettings,
    load_config=load_config,
    migrations="agentic.plugins.evals.migrations",
    models=[EvalCaseModel],
    doctor=doctor,
)
