"""The platform in one place."""

from __future__ import annotations

from agentic.core.hooks import Platform
from agentic.plugins.github.executor import DOCTOR, PLATFORM_NAME, GithubAgentExecutor
from agentic.plugins.github.mapper import GithubResultMapper
from agentic.plugins.github.models import GithubIssueModel, GithubReleaseModel, GithubRepoModel
from agentic.plugins.github.settings import GithubSettings

PLATFORM = Platform(
    name=PLATFORM_NAME,
    executor=GithubAgentExecutor,
    mapper=GithubResultMapper,
    settings=GithubSettings,
    migrations="agentic.plugins.github.migrations",
    models=[GithubRepoModel, GithubIssueModel, GithubReleaseModel],
    doctor=DOCTOR,
)
