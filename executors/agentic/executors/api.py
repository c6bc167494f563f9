"""Platform executors for APIs: a graph over the project's fetcher."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NoReturn

from agentic.core.http.failures import Verdict, failure_of
from agentic.executors.base import AgentWork, BaseAgentExecutor

if TYPE_CHECKING:  # sqlalchemy is loaded when an agent runs, not when a class is defined
    from agentic.core.http import ApiSettings
    from agentic.executors.project_http import ProjectHttp
    from agentic.mappers import Database


class ApiAgentExecutor(BaseAgentExecutor):
    """Runs an agent that calls an API; a platform defines its settings and its graph."""

    @abstractmethod
    def settings(self) -> ApiSettings:
        """Return the agent's config."""

    @abstractmethod
    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph that does the agent's work; ``http`` is closed for it."""

    def account(self) -> str:
        """Return the account, if the API counts requests by account; by default it counts by host."""
        return ""

    def verdict(self) -> Verdict:
        """Return the rules that separate failures from responses; by default the general ones."""
        return failure_of

    def resource_of(self, url: str) -> str:  # noqa: ARG002 - for overrides
        """Return a URL's part of the API, if each part has its own limit; by default none."""
        return ""

    def work(self, database: Database) -> AgentWork:
        """Return the graph of the platform, with its fetcher."""
        from dataclasses import replace

        from agentic.core.settings import load_settings
        from agentic.executors.project_http import ProjectHttp

        http = ProjectHttp(
            database,
            self.agent.project_id,
            self.settings().policy(),
            load_settings(),
            account=self.account(),
            verdict=self.verdict(),
            resource_of=self.resource_of,
        )
        return replace(self.graph(http), close=http.aclose)

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, because :meth:`work` returns a graph."""
        raise NotImplementedError
