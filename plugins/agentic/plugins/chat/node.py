"""The node of an agent in an execution's graph; its thread is in SQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from agentic.core.agents.errors import OutputNotMetError, ThreadError, ThreadNotFoundError
from agentic.core.agents.executor import AgentExecutor
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentResponse, Emit
from agentic.core.agents.specs.spec_agent import SpecAgent
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.graph import RetryPolicy, WorkflowContext
from agentic.core.threads import in_thread

STOPPED = "stopped"
TRIES = RetryPolicy(max_attempts=4, first_delay_s=2.0, retry_on=(ThreadError,))
"""While another execution speaks in a kept thread. The agent itself retries its models."""


class ThreadTakenError(ThreadError):
    """Another execution has an open turn in a kept thread."""

    def __init__(self, thread_id: str, execution_id: str) -> None:
        super().__init__(
            f"execution {execution_id} has not ended its turn in thread {thread_id!r}; answer its requests "
            f"(`agentic requests list --run {execution_id}`), or cancel it"
        )
        self.thread_id = thread_id
        self.execution_id = execution_id


class ChatNode(AgentExecutor):
    """Answers the prompt of an execution.

    Args:
        agent: The agent.
        store: Where its threads are kept.
        kept_thread: Id of the thread that all executions continue; None for a new one each.
        user_id: The person of its threads.
        is_active: Whether an execution has not ended; blocks.
    """

    def __init__(
        self,
        agent: SpecAgent,
        store: ThreadStore,
        *,
        kept_thread: str | None,
        user_id: str | None,
        is_active: Callable[[str], bool],
    ) -> None:
        super().__init__(agent, id="answer", approval_s=agent.spec.approval_s, retry=TRIES)
        self._store = store
        self._kept_thread = kept_thread
        self._user_id = user_id
        self._is_active = is_active

    async def open_thread(self, ctx: WorkflowContext[Any, Any]) -> AgentThread:
        """Return the thread of an execution; see :class:`AgentExecutor`.

        Raises:
            ThreadTakenError: Another execution speaks in it.
        """
        name = self._kept_thread or thread_of(execution_of(ctx.run_id))
        try:
            thread = await AgentThread.load(name, self._store)
        except ThreadNotFoundError:
            facts = ThreadMetadata(agent=self.agent.name, user_id=self._user_id, created_at=time.time())
            return AgentThread(facts, thread_id=name, store=self._store)
        await self._free(thread, ctx.idempotency_key)
        return thread

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take a turn; one whose answer does not fit the schema has stopped, like one at a limit."""
        try:
            return await super().respond(given, thread, options, emit)
        except OutputNotMetError:  # its end is in the thread
            return await super().respond((), thread, options, emit)

    def accept(self, response: AgentResponse[Any]) -> AgentResponse[Any]:
        """Return the response also if it stopped: its use of models is stored, and the execution fails."""
        return response

    async def _free(self, thread: AgentThread, turn_id: str) -> None:
        """End the open turn of an execution that has ended without an answer."""
        turn = thread.turn
        if turn is None or turn.ended or turn.id == turn_id:
            return
        execution_id = execution_of(turn.id)
        if await in_thread(self._is_active, execution_id):
            raise ThreadTakenError(thread.id, execution_id)
        reason = "its execution ended before the answer"
        await thread.append(ThreadEntry(turn=turn.id, ended=STOPPED, reason=reason))


def execution_of(run_id: str) -> str:
    """Return the execution of a run, or of a turn, whose id begins with it."""
    return run_id.partition("/")[0]


def thread_of(execution_id: str) -> str:
    """Return the id of the thread of an execution with a new one."""
    return f"run-{execution_id}"


def kept_thread_of(agent_id: str) -> str:
    """Return the id of the thread that all executions of an agent continue."""
    return f"kept-{agent_id}"
