"""The report of ``agentic doctor`` on the GitHub agents."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.hooks import Finding, warning
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.plugins.github.settings import GithubSettings

PLATFORM_NAME = "github"


def _look(settings: GithubSettings) -> Iterator[Finding]:
    if settings.secret is None:
        yield warning("has no token, so GitHub allows 60 requests an hour; give it token=${secrets.NAME}")


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=GithubSettings, look=_look)
"""Reports agents that cannot run, and agents without a token. GitHub is not called."""
