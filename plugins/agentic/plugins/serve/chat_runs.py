"""Messages to agents: each is a durable run, found again by thread and key after any cut or crash."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentic.core.agents.agent import Agent
from agentic.core.agents.background.kept import kept_pieces
from agentic.core.agents.background.local import new_token, task_name
from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.errors import (
    TaskFailedError,
    TaskUnderWayError,
    ThreadConflictError,
    ThreadExistsError,
    ThreadMisfitError,
    ThreadNotFoundError,
)
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput, RequestAnswer
from agentic.core.agents.responses import AgentChunk, AgentResponse, ResponseStatus
from agentic.core.agents.threads.entries import ThreadMetadata
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.turns.inputs import parted, turn_of_key
from agentic.core.graph.model.result import RunStatus
from agentic.core.ids import new_id
from agentic.core.ledger import UnknownRunError
from agentic.executors.agents.talking import NotTalkingError, TalkingAgent
from agentic.executors.serving.project import ServedProject
from agentic.plugins.serve.api.endpoints import BadRequestError

MAX_ID_CHARS = 200

IsOwn = Callable[[RequestAnswer], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRun:
    """One input to an agent, and the run that answers it.

    Attributes:
        agent: The agent.
        token: Of the run, at its beginning.
        is_known: Whether the run had been accepted before.
    """

    agent: Agent[Any]
    token: ContinuationToken
    is_known: bool


class ChatRuns:
    """The conversations of a served project.

    Args:
        project: The project.
    """

    def __init__(self, project: ServedProject) -> None:
        self._project = project

    async def begin(
        self,
        name: str,
        given: AgentInput,
        *,
        thread_id: str | None = None,
        user_id: str | None = None,
        key: str | None = None,
    ) -> ChatRun:
        """Accept an input, and return at once; the same thread and key give the first one's run.

        Args:
            name: Of the agent.
            given: Messages, or answers to the requests of the thread.
            thread_id: The conversation; a new one if omitted or not known, the same for the same key.
            user_id: The person who speaks.
            key: Makes the call safe to repeat.

        Raises:
            UnknownAgentError: The project has no such agent.
            NotTalkingError: The agent, or the thread, takes no messages.
            ThreadMisfitError: The thread belongs to another agent or person.
            ThreadBusyError: The thread waits for answers.
            AnswerMismatchError: An answer belongs to no open request.
            BadRequestError: An id cannot be used.
            TaskUnderWayError: A run works on the thread already.
        """
        if key is not None:
            thread_id = thread_id or _thread_of(name, key)
        talking = await self._project.agents.find(name)
        if thread_id is None:
            thread = await self.thread(talking, None, user_id)
            return await self._accept(talking.agent, given, thread, None)
        async with self._project.agents.threads.beginning(thread_id):
            wanted = {one.request_id for one in parted(given)[1]}
            if key is not None:
                known = await self.known(name, thread_id, key, lambda one: one.request_id in wanted)
                if known is not None:
                    return known
            thread = await self.thread(talking, thread_id, user_id)
            await self._check_free(thread)
            return await self._accept(talking.agent, given, thread, key)

    async def _accept(
        self, agent: Agent[Any], given: AgentInput, thread: AgentThread, key: str | None
    ) -> ChatRun:
        first = _kept_count(agent, thread)
        options = RunOptions(allow_background=True, idempotency_key=key or new_id())
        response = await agent.run(given, thread, options=options)
        if response.token is None:
            raise NotTalkingError(agent.name, "it has no background runs")
        self._project.agents.threads.note(thread.id, response.token.task_id)
        token = response.token if not parted(given)[1] else response.token.after(first)
        return ChatRun(agent=agent, token=token, is_known=False)

    async def known(self, name: str, thread_id: str, key: str, is_own: IsOwn) -> ChatRun | None:
        """Return the run of a thread and a key, at its beginning; None if it does not exist.

        Args:
            name: Of the agent.
            thread_id: The conversation.
            key: As it was accepted.
            is_own: Whether an answer in the thread is one that the run has brought.

        Raises:
            UnknownAgentError: The project has no such agent.
            NotTalkingError: It takes no messages.
        """
        agent = await self._project.agents.get(name)
        task_id = task_name(thread_id, key)
        if agent.store is None or await self._status(task_id) is None:
            return None
        thread = await AgentThread.load(thread_id, agent.store)
        if thread.metadata.agent != agent.name:
            return None
        turn, first = _place_of(thread, key, is_own)
        token = new_token(agent.name, task_id, thread_id, turn, None)
        token = token.after(first, (await self._project.bus.state()).last)
        return ChatRun(agent=agent, token=token, is_known=True)

    async def thread(self, talking: TalkingAgent, thread_id: str | None, user_id: str | None) -> AgentThread:
        """Return a thread of an agent: a new one without an id, or if the id is not known.

        Raises:
            BadRequestError: An id cannot be used.
            NotTalkingError: It takes no messages.
            ThreadMisfitError: It belongs to another agent or person.
        """
        agent = talking.agent
        for what, text in (("thread_id", thread_id), ("user_id", user_id)):
            if text is not None and not (0 < len(text) <= MAX_ID_CHARS and text.isprintable()):
                raise BadRequestError(
                    f"{what} has 1 to {MAX_ID_CHARS} printable characters, not {text!r:.60}"
                )
        if thread_id is None or agent.store is None:
            return agent.new_thread(user_id=user_id)
        if thread_id.startswith(talking.reserved):
            raise NotTalkingError(
                agent.name, f"thread {thread_id!r} belongs to an execution; use another thread"
            )
        for _ in range(2):
            try:
                found = await AgentThread.load(thread_id, agent.store)
            except ThreadNotFoundError:
                facts = ThreadMetadata(agent=agent.name, user_id=user_id, created_at=time.time())
                found = AgentThread(facts, thread_id=thread_id, store=agent.store)
                try:
                    await found.ensure_kept()
                except ThreadExistsError:  # made by another call meanwhile
                    continue
            if found.metadata.agent != agent.name:
                raise ThreadMisfitError(found.id, agent.name, f"it belongs to agent {found.metadata.agent!r}")
            if user_id is not None and found.metadata.user_id != user_id:
                raise ThreadMisfitError(found.id, agent.name, "it belongs to another person")
            return found
        raise ThreadExistsError(thread_id)

    async def pieces(self, chat: ChatRun, token: ContinuationToken) -> AsyncGenerator[AgentChunk, None]:
        """Iterate over the pieces after a token, each once; the last one has the answer."""
        background = chat.agent.background
        if background is None:
            raise NotTalkingError(chat.agent.name, "it has no background runs")
        async with aclosing(background.pieces(chat.agent, token)) as found:
            async for piece in found:
                yield piece

    async def answer(self, agent: Agent[Any], token: ContinuationToken, wait_s: float) -> AgentResponse[Any]:
        """Return the answer of a run; ``in_progress`` if it has not ended in time.

        Raises:
            TaskNotFoundError: The run is not known.
            TaskFailedError: It failed.
        """
        if agent.background is None:
            raise NotTalkingError(agent.name, "it has no background runs")
        response = await agent.background.poll(agent, token)
        if response.status is ResponseStatus.IN_PROGRESS and wait_s > 0:
            try:
                await self._project.runs.handle(token.task_id).rest(wait_s)
            except TimeoutError:
                return response
            response = await agent.background.poll(agent, token)
        return response

    async def _check_free(self, thread: AgentThread) -> None:
        """Check that no run works on a thread; a turn whose run has ended early is continued.

        Raises:
            TaskUnderWayError: One does.
        """
        turn = thread.turn
        begun = [self._project.agents.threads.newest(thread.id)]
        if turn is not None and not turn.ended and not turn.pending:
            begun.append(task_name(thread.id, turn.id))
        for task_id in filter(None, begun):
            if await self._status(task_id) is RunStatus.RUNNING:
                raise TaskUnderWayError(thread.id, turn.id if turn else task_id)

    async def _status(self, task_id: str) -> RunStatus | None:
        try:
            return await self._project.runs.handle(task_id).status()
        except UnknownRunError:
            return None


def status_of_failure(error: TaskFailedError) -> int:
    """Return the status of a failed run: 409 if another one worked on the thread at the same time."""
    return 409 if isinstance(error.__cause__, TaskUnderWayError | ThreadConflictError) else 502


def _thread_of(name: str, key: str) -> str:
    """Return the id of the thread that a key begins."""
    return f"key-{task_name(name, key)}"


def _kept_count(agent: Agent[Any], thread: AgentThread) -> int:
    turn = thread.turn
    return 0 if turn is None else len(kept_pieces(agent.name, thread.entries, turn.id))


def _place_of(thread: AgentThread, key: str, is_own: IsOwn) -> tuple[str, int]:
    """Return the turn of a run, and the number of the turn's kept pieces before the input of the run."""
    for number, entry in enumerate(thread.entries):
        if any(map(is_own, entry.answers)):
            return entry.turn, len(kept_pieces("", thread.entries[:number], entry.turn))
    turn = thread.turn
    is_known = thread.find_turn(turn_of_key(thread, key)) is not None
    if turn is not None and turn.pending and not is_known:  # it brings answers, and has not begun
        return turn.id, len(kept_pieces("", thread.entries, turn.id))
    return turn_of_key(thread, key), 0
