"""Runs GitHub agents, and reports on them to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agentic.core.hooks import Finding, warning
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.api import ApiAgentExecutor
from agentic.executors.base import AgentWork
from agentic.plugins.github.client import GithubClient
from agentic.plugins.github.items import Found, GithubQuery
from agentic.plugins.github.judging import GithubVerdict, resource_of
from agentic.plugins.github.settings import GithubSettings
from agentic.plugins.github.workflow import github_workflow

if TYPE_CHECKING:
    from agentic.core.http.failures import Verdict
    from agentic.executors.project_http import ProjectHttp


class GithubAgentExecutor(ApiAgentExecutor):
    """Reads repositories, issues, releases or a search; config: :class:`GithubSettings`."""

    def settings(self) -> GithubSettings:
        """Return the agent's config."""
        return self.read_config(GithubSettings)

    def account(self) -> str:
        """Return the name of the token: GitHub counts by account, or by address without one."""
        secret = self.settings().secret
        return f"github/{secret}" if secret else ""

    def verdict(self) -> Verdict:
        """Return GitHub's own rules."""
        return GithubVerdict(self.settings().base_url)

    def resource_of(self, url: str) -> str:
        """Return the GitHub limit that a request counts against."""
        return resource_of(self.settings().base_url, url)

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and its query."""
        query = query_of(self.settings(), datetime.now(UTC))
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "query": query.model_dump(mode="json", exclude_none=True),
        }

    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph; ``repos``, ``issues`` and ``releases`` are stored, ``warnings`` reported."""
        settings = self.settings()
        connect = nullcontext(http.fetcher)
        client = GithubClient(settings.base_url, lambda: connect, settings.secret, http.secrets.secret)
        return AgentWork(
            workflow=github_workflow(client, settings.max_wait_s),
            message_of=lambda state: GithubQuery.model_validate(state["query"]),
            results_of=lambda found: Found.model_dump(found, mode="json", exclude_defaults=True),
        )


def query_of(settings: GithubSettings, now: datetime) -> GithubQuery:
    """Return the query; ``days`` count back from ``now``."""
    since = now - timedelta(days=settings.days) if settings.days else settings.since
    return GithubQuery(
        mode=settings.mode,
        repos=settings.repos,
        query=settings.query,
        kind=settings.kind,
        sort=settings.sort,
        order=settings.order,
        state=settings.state,
        since=since,
        limit=settings.limit,
    )


PLATFORM_NAME = "github"


def _look(settings: GithubSettings) -> Iterator[Finding]:
    if settings.secret is None:
        yield warning("has no token, so GitHub allows 60 requests an hour; give it token=${secrets.NAME}")


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=GithubSettings, look=_look)
"""Reports agents that cannot run, and agents without a token. GitHub is not called."""
