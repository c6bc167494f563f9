"""Conversations with agents of a project, for servers: each turn is a durable run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentic.core.agents.agent import Agent
from agentic.core.agents.background.executor import BackgroundAgentExecutor, BackgroundTask
from agentic.core.agents.errors import OutputNotMetError, ThreadConflictError
from agentic.core.agents.executor import AgentExecutorResponse
from agentic.core.agents.responses import AgentResponse, ResponseStatus
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.graph import RetryPolicy, WorkflowBuilder, WorkflowContext, handler
from agentic.core.hooks import get_registry
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.core.llm.messages import ChatRole
from agentic.core.types import RunId
from agentic.executors.agents.repository import TALK_KIND, AgentRepository
from agentic.executors.durable.errors import UnknownWorkflowError
from agentic.executors.durable.runs.catalog import Builder, RegisteredWorkflow, RunHooks
from agentic.executors.errors import AgentNotRunnableError
from agentic.mappers import AgentModel, Database, content_hash, find_agent
from agentic.mappers.errors import UnknownAgentError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

TRIES = RetryPolicy(max_attempts=3, first_delay_s=0.5, retry_on=(ThreadConflictError,))
"""The agent itself retries its models."""

StoreTurn = Callable[["Session", AgentResponse[Any], str, str | None], None]
"""Stores an ended turn as a row; gets the response, the text of the input, and the person."""


class NotTalkingError(AgentNotRunnableError, LookupError):
    """An agent takes no messages: its platform only runs it, or it is disabled."""

    def __init__(self, agent_name: str, reason: str) -> None:
        super().__init__(f"agent {agent_name!r} takes no messages: {reason}")
        self.agent_name = agent_name


async def _nothing() -> None:
    """Close nothing."""


def _drop(session: Session, response: AgentResponse[Any], prompt: str, user_id: str | None) -> None:
    """Store nothing."""
    del session, response, prompt, user_id


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkingAgent:
    """An agent that its platform has made of a row: the value of ``Platform.talk``.

    Attributes:
        agent: The agent; its threads are in the database.
        store_turn: Stores a turn that has ended, in the transaction that ends its run.
        close: Closes the connections of its models and tools.
        reserved: Beginnings of the ids of threads that take no messages: they belong to executions.
    """

    agent: Agent[Any]
    store_turn: StoreTurn = _drop
    close: Callable[[], Awaitable[None]] = _nothing
    reserved: tuple[str, ...] = ()


def talk_name(row: AgentModel) -> str:
    """Return the name of an agent's conversations in the catalog, for its current config."""
    config = content_hash({"config": row.config, "goals": row.goals})
    return f"{TALK_KIND}:{row.agent_platform}:{row.id}:{config[:12]}"


def can_talk(row: AgentModel) -> bool:
    """Whether an agent takes messages."""
    platform = get_registry().platforms.get(row.agent_platform)
    return row.disabled_at is None and platform is not None and platform.talk is not None


def make_talking(row: AgentModel, database: Database) -> TalkingAgent:
    """Return the agent of a row.

    Raises:
        NotTalkingError: It takes no messages.
        AgentConfigError: Its config cannot be used.
        UnknownPlatformError: No plugin provides its platform.
    """
    if row.disabled_at is not None:
        raise NotTalkingError(row.agent_name, f"it is disabled; `agentic agents enable {row.agent_name}`")
    talk = get_registry().platform(row.agent_platform).talk
    if talk is None:
        raise NotTalkingError(
            row.agent_name, f"agents of the platform {row.agent_platform!r} only run; start an execution"
        )
    made: TalkingAgent = talk(row, database)
    return made


def talk_builder(
    database: Database, project_id: str, worker: str, queue_of: Callable[[str], str] | None = None
) -> Builder:
    """Return the builder of the conversations of a project's agents.

    Args:
        database: Has the agents.
        project_id: Owns them; agents of other projects are not found.
        worker: Name of this process.
        queue_of: Routes platforms.
    """

    def build(rest: str) -> RegisteredWorkflow:
        name, parts = f"{TALK_KIND}:{rest}", rest.split(":")
        if len(parts) != 3:
            raise UnknownWorkflowError(name, "the name of a conversation is talk:PLATFORM:ID:CONFIG")
        platform, agent_id, _ = parts
        try:
            with database.reading() as session:
                row = find_agent(session, project_id, agent_id)
            talking = make_talking(row, database)
        except (AgentNotRunnableError, UnknownAgentError) as exc:
            raise UnknownWorkflowError(name, str(exc)) from exc
        repository = AgentRepository(database, project_id, agent_id, worker)
        node = TalkNode(talking)

        def context(run_id: RunId) -> dict[str, str]:
            return {"run_id": run_id, "agent_id": agent_id, "platform": platform}

        hooks = RunHooks(clean=repository.clean, context=context, secrets=repository.secrets)
        workflow = WorkflowBuilder(f"talk.{platform}", version="1").set_start(node).build()
        queue = DEFAULT_QUEUE if queue_of is None else queue_of(platform)
        return RegisteredWorkflow(workflow, hooks, queue, talking.close)

    return build


class TalkNode(BackgroundAgentExecutor):
    """Takes a turn of an agent, and stores it as a row when it has ended.

    Args:
        talking: The agent.
    """

    def __init__(self, talking: TalkingAgent) -> None:
        super().__init__(talking.agent, retry=TRIES)
        self._store_turn = talking.store_turn

    @handler
    async def on_task(self, task: BackgroundTask, ctx: WorkflowContext[Any, Any]) -> AgentExecutorResponse:
        """Take the turn, or continue it; one whose answer does not fit the schema has stopped."""
        try:
            answered = await super().on_task(task, ctx)
        except OutputNotMetError:  # its end is in the thread
            answered = await super().on_task(task, ctx)
        response = answered.agent_response
        if response.status in (ResponseStatus.COMPLETE, ResponseStatus.STOPPED):
            thread = await AgentThread.load(response.thread_id, self._store)
            prompt, user_id = _prompt_of(thread, response.turn), thread.metadata.user_id
            ctx.on_commit(lambda session: self._store_turn(session, response, prompt, user_id))
        return answered


def _prompt_of(thread: AgentThread, turn_id: str) -> str:
    """Return the text of the last message in a turn's input; others may be an earlier conversation."""
    turn = thread.find_turn(turn_id)
    messages = () if turn is None else turn.messages
    return next((one.text for one in reversed(messages) if one.role is ChatRole.USER), "")
