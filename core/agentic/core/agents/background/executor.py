"""An agent as a durable workflow: any worker takes its turn, or continues it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.agent import Agent
from agentic.core.agents.background.kept import kept_pieces
from agentic.core.agents.errors import BackgroundSetupError, TaskUnderWayError
from agentic.core.agents.executor import (
    UPDATE,
    AgentExecutorResponse,
    ContextJournal,
    answer_events,
    events_of,
    input_event,
)
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import PendingRequest, RequestAnswer
from agentic.core.agents.responses import AgentChunk, ChunkKind
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.graph import (
    CustomEvent,
    Executor,
    RunResult,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    handler,
)
from agentic.core.graph.model.policies import ONCE, RetryPolicy
from agentic.core.llm.messages import ChatMessage
from agentic.core.types import JSONValue


class BackgroundTask(BaseModel):
    """The work that a background run gives to a worker. The conversation is in the thread."""

    __wire_name__ = "agentic.agents.BackgroundTask"

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = Field(description="Name of the agent.")
    thread_id: str
    turn: str = Field(description="Id of the turn.")
    input: tuple[ChatMessage, ...] = ()
    answers: tuple[RequestAnswer, ...] = ()
    approval_s: float | None = None


class BackgroundAgentExecutor(Executor):
    """An agent that works on threads of a store.

    Each reply and each result is kept twice before the next step: as an effect of the run, and in the thread.
    A worker that dies loses neither; the next one reads the thread, and finds in the run the effect that the
    thread lacks. Requests to people end the run: they are in the answer, and another run takes the answers.

    Args:
        agent: With a store that all workers reach.
        retry: How often a failing run is tried; effects of earlier tries are kept.

    Raises:
        BackgroundSetupError: The agent has no store.
    """

    def __init__(self, agent: Agent[Any], *, retry: RetryPolicy | None = None) -> None:
        super().__init__(agent.name, retry=retry or ONCE)
        if agent.store is None:
            raise BackgroundSetupError(
                f"agent {agent.name!r} has no store, so a worker could not find its threads: pass "
                "store=SqlThreadStore(...) or another one"
            )
        self.agent = agent
        self._store = agent.store

    @handler
    async def on_task(self, task: BackgroundTask, ctx: WorkflowContext[Any, Any]) -> AgentExecutorResponse:
        """Take the turn, or continue it."""
        if task.agent != self.agent.name:
            raise BackgroundSetupError(
                f"this workflow runs agent {self.agent.name!r}, not {task.agent!r}: name the other workflow"
            )
        thread = await AgentThread.load(task.thread_id, self._store)
        begun = await ctx.once("background.begun", lambda: len(thread.entries))
        # Entries that came since may be another run's: then the input is still to be taken.
        is_new = len(thread.entries) == begun or not _is_taken(task, thread)
        last = thread.turn
        if is_new and last is not None and (last.id != task.turn) is (last.ended is None):
            raise TaskUnderWayError(thread.id, last.id)  # another run works on it, or has ended its turn
        given: tuple[ChatMessage | RequestAnswer, ...] = (*task.input, *task.answers) if is_new else ()
        # An open turn takes the input: with its own id as the key, it would take the input as known.
        key = None if is_new and thread.find_turn(task.turn) else task.turn

        places = _Places(thread, task.turn)

        async def emit(piece: AgentChunk) -> None:
            for event in _events(piece, places.of(piece)):
                await ctx.add_event(event)

        if task.input and is_new:
            await ctx.add_event(input_event(self.agent.name, task.input))
        if not is_new or ctx.attempt > 1:  # a reader may have half of a text
            await emit(AgentChunk(kind=ChunkKind.RESTARTED, author_name=self.agent.name))
        options = RunOptions(idempotency_key=key, approval_s=task.approval_s, journal=BackgroundJournal(ctx))
        response = await self.agent.respond(given, thread, options, emit)
        for event in answer_events(response):
            await ctx.add_event(event)
        # The messages are in the thread.
        kept = response.stored().model_copy(update={"messages": ()})
        return AgentExecutorResponse(executor_id=self.id, agent_response=kept)


def _is_taken(task: BackgroundTask, thread: AgentThread) -> bool:
    """Whether a thread has the input of a run."""
    turn = thread.find_turn(task.turn)
    if turn is None:
        return False
    known = {message.id for message in turn.messages}
    is_said = all(message.id in known for message in task.input if message.id is not None)
    return is_said and all(one.request_id in (turn.answers or {}) for one in task.answers)


class _Places:
    """Says where each piece of text belongs, so that readers use none twice, too early or too late.

    Args:
        thread: The conversation.
        turn: Id of the turn.
    """

    def __init__(self, thread: AgentThread, turn: str) -> None:
        self._thread = thread
        self._turn = turn
        self._seen = -1
        self._after = 0
        self._at = 0

    def of(self, piece: AgentChunk) -> dict[str, JSONValue]:
        """Return the kept pieces before a piece of text, and the characters of its message before it."""
        if piece.path:
            return {}
        if self._seen != len(self._thread.entries):
            self._seen = len(self._thread.entries)
            self._after = len(kept_pieces("", self._thread.entries, self._turn))
            self._at = 0
        if piece.kind is ChunkKind.RESTARTED:
            self._at = 0
        found: dict[str, JSONValue] = {"after": self._after, "at": self._at}
        if piece.kind is ChunkKind.TEXT:
            self._at += len(piece.text)
        return found


def _events(piece: AgentChunk, place: Mapping[str, JSONValue]) -> Iterator[CustomEvent]:
    for event in events_of(piece):
        yield CustomEvent(type=event.type, data={**event.data, **place}) if event.type == UPDATE else event
    if piece.kind is ChunkKind.MESSAGE:  # readers find it in the thread
        facts: dict[str, JSONValue] = {
            "agent": piece.author_name,
            "path": list(piece.path),
            "kind": "message",
        }
        yield CustomEvent(type=UPDATE, data=facts)


class BackgroundJournal:
    """Keeps the effects in the run, and leaves requests to the thread.

    Args:
        ctx: Of the activation.
    """

    takes_text = True

    def __init__(self, ctx: WorkflowContext[Any, Any]) -> None:
        self._effects = ContextJournal(ctx)

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Run an effect once; see :class:`~agentic.core.agents.journal.EffectJournal`."""
        return await self._effects.once(key, effect)

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> None:
        """Return nothing: the answers come with another run."""
        del requests, part

    async def run_workflow(
        self, key: str, workflow: Workflow, message: object, *, is_kept: bool = True
    ) -> RunResult:
        """Run a workflow as a sub-run; its requests are the run's."""
        return await self._effects.run_workflow(key, workflow, message, is_kept=is_kept)


def background_workflow(
    agent: Agent[Any],
    *,
    version: str = "1",
    retry: RetryPolicy | None = None,
    config: WorkflowConfig | None = None,
) -> Workflow:
    """Return the workflow that runs an agent in the background, on workers.

    Give its factory to workers as any durable workflow: by a plugin, or in a module that
    ``AGENTIC_WORKFLOW_MODULES`` names.

    Args:
        agent: With a store that all workers reach.
        version: Of the workflow; see :class:`~agentic.core.WorkflowBuilder`.
        retry: How often a failing run is tried.
        config: Of its runs.

    Raises:
        BackgroundSetupError: The agent has no store.
    """
    node = BackgroundAgentExecutor(agent, retry=retry)
    return WorkflowBuilder(f"background-{agent.name}", version=version, config=config).set_start(node).build()
