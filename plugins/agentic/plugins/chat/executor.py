"""Runs chat agents, and reports on them to ``agentic doctor``."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from agentic.core.agents.specs.loading import spec_faults, usable_name
from agentic.core.agents.specs.spec_agent import SpecAgent
from agentic.core.agents.tools.actors import ContextOf
from agentic.core.graph import WorkflowBuilder
from agentic.core.http import HttpPolicy
from agentic.core.pipeline import Judgement
from agentic.core.settings import load_settings
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents.actor_resources import ActorResources
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.base import AgentWork
from agentic.mappers import SqlThreadStore
from agentic.plugins.chat.memories import project_stores
from agentic.plugins.chat.node import STOPPED, ChatNode, kept_thread_of
from agentic.plugins.chat.settings import ChatSettings
from agentic.plugins.chat.turns import results_of

if TYPE_CHECKING:
    from agentic.mappers import AgentModel, Database

PLATFORM_NAME = "chat"
ModelT = TypeVar("ModelT", bound=BaseModel)


class ChatAgentExecutor(BaseAgentExecutor):
    """Asks an agent the prompt of its config; config: :class:`ChatSettings`."""

    _stopped: str | None = None

    @cached_property
    def settings(self) -> ChatSettings:
        """The agent's config."""
        return self.read_config(ChatSettings)

    @property
    def prompt(self) -> str:
        """The input of an execution."""
        return self.settings.prompt or (self.agent.goals or "").strip()

    def read_config(self, model: type[ModelT]) -> ModelT:
        """Return the agent's config as ``model``; see :class:`BaseAgentExecutor`.

        Raises:
            AgentConfigError: It is invalid; each fault has its place and the next step.
        """
        try:
            return model.model_validate(self.agent.config)
        except ValidationError as exc:
            faults = spec_faults(exc, self.agent.config, ChatSettings)
            raise self._misconfigured(*map(str, faults)) from None

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and the prompt.

        Raises:
            AgentConfigError: It has neither a prompt nor goals.
        """
        if not self.prompt:
            raise self._misconfigured(
                "an execution has nothing to ask: set 'prompt', or goals (`agentic chat` needs neither)"
            )
        return {"agent_name": self.agent.agent_name, "goals": self.goals, "prompt": self.prompt}

    def work(self, database: Database) -> AgentWork:
        """Return a graph of one node, the agent."""
        row, settings = self.agent, self.settings
        resources = ActorResources(database, row.project_id, HttpPolicy(), load_settings())
        agent = make_agent(row, settings, database, resources.context)

        async def close() -> None:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(resources.aclose)
                stack.push_async_callback(agent.aclose)

        node = ChatNode(
            agent,
            SqlThreadStore(database, project_id=row.project_id),
            kept_thread=kept_thread_of(row.id) if settings.thread == "kept" else None,
            user_id=settings.user,
            is_active=partial(is_active, database, row.project_id),
        )
        return AgentWork(
            workflow=WorkflowBuilder("chat", version="1").set_start(node).build(),
            message_of=lambda state: state["prompt"],
            results_of=partial(results_of, agent=row.agent_name, model=settings.model, user_id=settings.user),
            close=close,
        )

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the turn; one that stopped has failed."""
        if results.get("status") == STOPPED:
            self._stopped = str(results.get("reason") or "it stopped")
        return super().save_results(results)

    @property
    def judgement(self) -> Judgement:
        """The verdict on the turn: a turn without an answer has failed."""
        if self._stopped is None:
            return super().judgement
        return Judgement(outcome="failed", reason=f"the agent stopped without an answer: {self._stopped}")

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, because :meth:`work` returns a graph."""
        raise NotImplementedError


def make_agent(
    row: AgentModel, settings: ChatSettings, database: Database, context: ContextOf | None = None
) -> SpecAgent:
    """Return the agent of a row, with the secrets, threads and memories of its project.

    Args:
        row: The agent.
        settings: Its config.
        database: Holds its project.
        context: Services of the actors and pipelines among its tools.

    Raises:
        MemorySetupError: The server of its memory is not named.
    """
    from agentic.mappers.vault.keys import SecretKeys
    from agentic.mappers.vault.vault import SqlSecrets

    return SpecAgent(
        settings,
        name=usable_name(row.agent_name),
        secrets=SqlSecrets(database, row.project_id, SecretKeys.configured(load_settings())),
        store=SqlThreadStore(database, project_id=row.project_id),
        memories=project_stores(settings, row, database),
        context=context,
    )


def is_active(database: Database, project_id: str, execution_id: str) -> bool:
    """Whether an execution of a project has not ended; blocks."""
    from agentic.mappers import ExecutionStatus, UnknownExecutionError, find_execution

    with database.reading() as session:
        try:
            status = find_execution(session, project_id, execution_id).status
        except UnknownExecutionError:
            return False
    return status in {ExecutionStatus.QUEUED, ExecutionStatus.RUNNING}


doctor = AgentsDoctor(platform=PLATFORM_NAME, settings=ChatSettings)
