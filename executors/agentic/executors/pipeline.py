"""Platform executors whose agents are pipelines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from agentic.core.types import JSONValue
from agentic.executors.base import BaseAgentExecutor

if TYPE_CHECKING:  # the engine and sqlalchemy are loaded when something is run, not when a class is defined
    from sqlalchemy.orm import Session

    from agentic.core.pipeline import CrawledPage, PipelineSpec
    from agentic.core.types import SaveCounts
    from agentic.mappers import Database


class PipelineAgentExecutor(BaseAgentExecutor):
    """Runs an agent that is a pipeline; a platform says which one, and how its pages become rows.

    A crawl belongs to the execution: a new execution crawls anew, the same one run again goes on where it
    was. Its pages are stored while it goes on, all else at the end by ``save_results``.
    """

    _database: Database | None = None

    @abstractmethod
    def pipeline(self) -> PipelineSpec:
        """Return the agent's pipeline, checked against the installed actors."""

    @abstractmethod
    def inputs(self) -> Mapping[str, JSONValue]:
        """Return the inputs the agent gives it."""

    @abstractmethod
    def save_pages(self, session: Session, pipeline: str, pages: Sequence[CrawledPage]) -> SaveCounts:
        """Store pages of a crawl; called off the event loop, in the transaction that marks them done."""

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, its pipeline's name, and every input.

        Raises:
            PipelineInputError: The inputs are not those the pipeline declares.
        """
        from agentic.core.pipeline import read_inputs
        from agentic.mappers import Database

        spec = self.pipeline()
        # The crawl commits on connections of its own, to the database this execution is recorded in.
        url = self.db_session.get_bind().engine.url
        self._database = Database(url.render_as_string(hide_password=False))
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "pipeline": spec.name,
            "inputs": read_inputs(spec, self.inputs()),
        }

    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        """Run the pipeline; return its :class:`~agentic.core.pipeline.PipelineResult` as data."""
        from agentic.core.hooks import get_registry
        from agentic.core.http import open_fetcher
        from agentic.core.pipeline import PipelineServices, compile_pipeline
        from agentic.mappers.frontier import SqlCrawlStore

        spec = self.pipeline()
        frontier = SqlCrawlStore(
            cast("Database", self._database),
            project_id=self.agent.project_id,
            run=self.execution_id,
            save=lambda session, pages: self.save_pages(session, spec.name, pages),
        )
        async with open_fetcher(spec.http) as fetcher:
            services = PipelineServices(http=fetcher, frontier=frontier)
            workflow = compile_pipeline(spec, get_registry().actors, services)
            run = await self.run_workflow(workflow, state["inputs"])
        return run.output(dict)

    async def cleanup(self) -> None:
        """Close the connections of the crawl."""
        if self._database is not None:
            self._database.dispose()
