"""What ``agentic doctor`` says of the GitHub agents."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.hooks import Finding, warning
from agentic.executors.agents_doctor import AgentsDoctor
from agentic.plugins.github.settings import GithubSettings

PLATFORM_NAME = "github"


def _look(settings: GithubSettings) -> Iterator[Finding]:
    if settings.secret is None:
        yield warning("has no token, so GitHub answers it 60 times an hour; give it token=${secrets.NAME}")


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=GithubSettings, look=_look)
"""Tells of agents that cannot be run, and of those that have no token. GitHub is not asked."""
