"""Agents as workflows of the catalog: each agent has one name, and its runs are its executions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from agentic.core.hooks import get_registry
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.core.settings import Settings
from agentic.core.types import RunId
from agentic.executors.agents.repository import TALK_KIND, AgentRepository
from agentic.executors.agents.workflow import agent_workflow
from agentic.executors.durable.errors import UnknownWorkflowError
from agentic.executors.durable.runs.catalog import Builder, RegisteredWorkflow, RunHooks, WorkflowCatalog
from agentic.executors.errors import AgentNotRunnableError
from agentic.mappers import AgentModel, Database, content_hash

KIND = "agent"

QueueOf = Callable[[str], str]
"""Route -> the queue of its agents; a route is a platform, or ``web.browser``."""


def flow_name(agent: AgentModel) -> str:
    """Return an agent's name in the catalog, for its current config.

    It has the platform for readers, and the config's hash, because the agent's graph may depend on it.
    """
    config = content_hash({"config": agent.config, "goals": agent.goals})
    return f"{KIND}:{agent.agent_platform}:{agent.id}:{config[:12]}"


def flow_builder(
    database: Database,
    project_id: str,
    worker: str,
    queue_of: QueueOf | None = None,
    *,
    log_level: int = logging.ERROR,
) -> Builder:
    """Return the builder of a project's agent workflows.

    Args:
        database: Has the agents.
        project_id: Owns them; executions of other projects' agents fail, as if the agent were removed.
        worker: Name of this process.
        queue_of: Routes platforms.
        log_level: Log level of failed executions.
    """

    def build(rest: str) -> RegisteredWorkflow:
        parts = rest.split(":")
        if len(parts) != 3:
            raise UnknownWorkflowError(f"{KIND}:{rest}", "the name of an agent is agent:PLATFORM:ID:CONFIG")
        platform, agent_id, _ = parts
        repository = AgentRepository(database, project_id, agent_id, worker, log_level)
        try:
            work = repository.work()
        except AgentNotRunnableError as exc:
            raise UnknownWorkflowError(f"{KIND}:{rest}", str(exc)) from exc

        def context(run_id: RunId) -> Mapping[str, str]:
            execution_id = run_id.partition("/")[0]
            return {"execution_id": execution_id, "agent_id": agent_id, "platform": platform}

        return RegisteredWorkflow(
            agent_workflow(repository, platform, work),
            RunHooks(
                clean=repository.clean,
                on_rest=repository.on_rest,
                context=context,
                secrets=repository.secrets,
            ),
            DEFAULT_QUEUE if queue_of is None else queue_of(repository.route() or platform),
            None if work is None else work.close,
        )

    return build


def make_catalog(
    settings: Settings, database: Database, project_id: str, worker: str, queue_of: QueueOf | None = None
) -> WorkflowCatalog:
    """Return the catalog: workflows of plugins and trusted modules, a project's agents, talks with them.

    Args:
        settings: Name the trusted modules.
        database: Has the agents.
        project_id: Owns them.
        worker: Name of this process.
        queue_of: Routes platforms.
    """

    def build_talk(rest: str) -> RegisteredWorkflow:
        # Most workers have no talks, and would load the agents and the port to models for them.
        from agentic.executors.agents.talking import talk_builder

        return talk_builder(database, project_id, worker, queue_of)(rest)

    builders: dict[str, Builder] = {
        KIND: flow_builder(database, project_id, worker, queue_of),
        TALK_KIND: build_talk,
    }
    return WorkflowCatalog(get_registry().workflows, settings.workflow_modules, builders)
