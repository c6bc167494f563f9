"""The port to background runs, and the pieces that every implementation gives."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentChunk, AgentResponse, Emit, ResponseStatus
from agentic.core.agents.threads.entries import ThreadTurn
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.threads.thread import AgentThread

NO_TURN = ThreadTurn("")


class BackgroundAgent(Protocol):
    """The side of an agent that background runs need."""

    name: str
    store: ThreadStore | None

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take a turn, or continue one; see :class:`~agentic.core.agents.Agent`."""
        ...


class BackgroundRuns(Protocol):
    """Runs agents away from their callers. A run is found by its token, in any process that reaches it."""

    async def submit(
        self, agent: BackgroundAgent, given: AgentInput, thread: AgentThread, options: RunOptions
    ) -> ContinuationToken:
        """Accept a run, and return at once.

        The same ``idempotency_key`` for the same thread gives the first one's run.

        Args:
            agent: The agent.
            given: A text, messages, or answers to the thread's pending requests. Empty continues the turn.
            thread: The conversation.
            options: Of the run.

        Raises:
            BackgroundSetupError: The agent, the thread or an option cannot be used there.
            TaskUnderWayError: A run works on the thread already.
            ThreadBusyError: The thread waits for answers.
            AnswerMismatchError: An answer belongs to no open request.
        """
        ...

    async def poll(self, agent: BackgroundAgent, token: ContinuationToken) -> AgentResponse[Any]:
        """Return the answer: ``in_progress`` with the text so far, or as a run of the agent gives it.

        Raises:
            TaskNotFoundError: The run is unknown.
            TaskFailedError: It failed.
        """
        ...

    def pieces(self, agent: BackgroundAgent, token: ContinuationToken) -> AsyncGenerator[AgentChunk, None]:
        """Iterate over the pieces after the token's, each once and with a token of its own; last the answer.

        Raises:
            TaskNotFoundError: The run is unknown.
            TaskFailedError: It failed.
            PiecesGoneError: Some of these pieces are not kept.
        """
        ...

    async def cancel(self, token: ContinuationToken, reason: str) -> bool:
        """Stop the run; False if it has ended. Its turn stays open: the agent can continue it.

        Raises:
            TaskNotFoundError: The run is unknown.
        """
        ...


def in_progress(token: ContinuationToken, text: str) -> AgentResponse[Any]:
    """Return the answer of a run that has not ended.

    Args:
        token: Of the run.
        text: Its text so far.
    """
    return AgentResponse(
        agent=token.agent,
        thread_id=token.thread_id,
        turn=token.turn,
        status=ResponseStatus.IN_PROGRESS,
        text=text,
        token=token,
    )


def cancelled(token: ContinuationToken, turn: ThreadTurn | None, reason: str) -> AgentResponse[Any]:
    """Return the answer of a run that was cancelled.

    Args:
        token: Of the run.
        turn: The turn as far as it came.
        reason: Of the cancellation.
    """
    turn = turn or NO_TURN
    return AgentResponse(
        agent=token.agent,
        thread_id=token.thread_id,
        turn=token.turn,
        status=ResponseStatus.STOPPED,
        text=turn.reply.text if turn.reply else "",
        usage=turn.usage,
        reason=f"cancelled: {reason}",
    )
