"""Platform executors whose platform is an API: a graph over a fetcher of the project."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NoReturn

from agentic.core.http.failures import Verdict, failure_of
from agentic.executors.base import AgentWork, BaseAgentExecutor

if TYPE_CHECKING:  # sqlalchemy is loaded when something is run, not when a class is defined
    from agentic.core.http import ApiSettings
    from agentic.executors.project_http import ProjectHttp
    from agentic.mappers import Database


class ApiAgentExecutor(BaseAgentExecutor):
    """Runs an agent that asks an API; a platform says with which settings, and which graph does it."""

    @abstractmethod
    def settings(self) -> ApiSettings:
        """Return the agent's config."""

    @abstractmethod
    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph that does the agent's work; what ``http`` has open is closed for it."""

    def account(self) -> str:
        """Return who asks, where the API counts by account; by default it counts by host."""
        return ""

    def verdict(self) -> Verdict:
        """Return what tells failures from answers; by default the rules for any site."""
        return failure_of

    def resource_of(self, url: str) -> str:  # noqa: ARG002 - for those who override it
        """Return which part of the API a URL is of, where it keeps a limit for each; by default none."""
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
        """Never called, as :meth:`work` gives a graph."""
        raise NotImplementedError
