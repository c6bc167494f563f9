"""Background runs of agents as durable runs: they outlive every process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from agentic.core.agents import (
    AgentChunk,
    AgentInput,
    AgentResponse,
    AgentThread,
    BackgroundSetupError,
    BackgroundTask,
    ChunkKind,
    ContinuationToken,
    ResponseStatus,
    RunOptions,
    TaskFailedError,
    TaskNotFoundError,
)
from agentic.core.agents.background.kept import kept_messages, kept_pieces
from agentic.core.agents.background.local import new_token, task_name
from agentic.core.agents.background.port import NO_TURN, BackgroundAgent, cancelled, in_progress
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.turns.inputs import check_input, parted
from agentic.core.agents.workflow_agents import pending_request
from agentic.core.bus import BusUnavailableError, EventBus
from agentic.core.errors import line_of
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.ledger import RunRow, UnknownRunError
from agentic.core.llm.messages import ChatMessage
from agentic.core.logging import get_logger
from agentic.core.threads import in_thread
from agentic.executors.background.live_text import LiveText, live_text, text_piece
from agentic.executors.background.reaching import ReachedRuns, reached
from agentic.executors.durable.runs.service import RunService, Submission
from agentic.executors.runs import RunClient, current_client

log = get_logger(__name__)

FIRST_LOOK_S = 0.05
LAST_LOOK_S = 2.0
_UNSENT = ("output_type", "limits", "settings", "facts")


class DurableBackgroundRuns:
    """Runs one agent as a durable workflow, on workers or in this process.

    The thread is the log of the run: its messages, results and requests are numbered the same in every
    process, so each reader gets each of them once. With a bus, readers also get the text as it is made. That
    text is a preview: it may have gaps while the bus is away, and it begins again with ``restarted`` when
    another worker continues. The message that follows is whole.

    Args:
        workflow: Name of the agent's workflow, which :func:`~agentic.core.agents.background_workflow` makes:
            of a plugin, or ``package.module:factory``.
        runs: The client of the runs; this process's own if omitted.
        bus: Has the events of the workers.
        project: Name of the project, for events.
        expires_s: Seconds after which a token is refused; None for never.
    """

    def __init__(
        self,
        workflow: str,
        *,
        runs: RunClient | RunService | None = None,
        bus: EventBus | None = None,
        project: str = "default",
        expires_s: float | None = None,
    ) -> None:
        self._workflow = workflow
        self._chosen = runs
        self._bus = bus
        self._project = project
        self._expires_s = expires_s

    async def submit(
        self, agent: BackgroundAgent, given: AgentInput, thread: AgentThread, options: RunOptions
    ) -> ContinuationToken:
        """Accept a run; see :class:`~agentic.core.agents.BackgroundRuns`.

        Raises:
            BackgroundSetupError: The thread is not in a store, or an option cannot be sent to a worker.
            UnknownWorkflowError: No workflow has this name.
            LedgerUnavailableError: The ledger cannot be used; nothing was accepted.
        """
        _check(agent, thread, options)
        key = options.idempotency_key
        messages, answers = parted(given)
        await thread.ensure_kept()
        await thread.refresh()
        turn = check_input(thread, messages, answers, key)
        task_id = task_name(thread.id, key)
        task = BackgroundTask(
            agent=agent.name,
            thread_id=thread.id,
            turn=turn,
            input=_with_ids(messages, task_id),
            answers=answers,
            approval_s=options.approval_s,
        )
        seen = len(kept_pieces(agent.name, thread.entries, turn)) if key is None else 0
        token = new_token(agent.name, task_id, thread.id, turn, self._expires_s)
        token = token.after(seen, await self._end_of_stream())
        how = Submission(run_id=task_id, idempotency_key=None if key is None else task_id)
        await (await self._runs()).submit(self._workflow, task, how)
        return token

    async def poll(self, agent: BackgroundAgent, token: ContinuationToken) -> AgentResponse[Any]:
        """Return the answer; see :class:`~agentic.core.agents.BackgroundRuns`."""
        row = await self._row(token)
        if row.status is not RunStatus.RUNNING:
            return await self._ended(agent, token, row)
        turn = (await self._thread(agent, token)).find_turn(token.turn) or NO_TURN
        return in_progress(token, turn.reply.text if turn.reply else "")

    async def pieces(
        self, agent: BackgroundAgent, token: ContinuationToken
    ) -> AsyncGenerator[AgentChunk, None]:
        """Iterate over the pieces; see :class:`~agentic.core.agents.BackgroundRuns`.

        Text pieces have the number of the kept piece before them; their tokens differ.
        """
        pause_s = FIRST_LOOK_S
        async with live_text(self._bus, self._project, token.task_id, token.cursor) as live:
            while True:
                row = await self._row(token)  # first: the thread has all that an ended run has written
                kept = kept_pieces(agent.name, (await self._thread(agent, token)).entries, token.turn)
                for piece in kept[token.sequence :]:
                    token, pause_s = token.after(piece.sequence), FIRST_LOOK_S
                    yield replace(piece, token=token)
                if row.status is not RunStatus.RUNNING:
                    break
                async for piece in _until_news(live, token, pause_s):
                    token = piece.token or token
                    if piece.kind is not ChunkKind.STARTED:
                        yield piece
                pause_s = min(pause_s * 1.5, LAST_LOOK_S)
        if token.sequence <= len(kept):
            response = await self._ended(agent, token, row)
            token = token.after(len(kept) + 1)
            yield AgentChunk(
                kind=ChunkKind.FINISHED,
                author_name=agent.name,
                sequence=token.sequence,
                response=response,
                token=token,
            )

    async def cancel(self, token: ContinuationToken, reason: str) -> bool:
        """Stop the run; see :class:`~agentic.core.agents.BackgroundRuns`."""
        await self._row(token)
        return await (await self._runs()).handle(token.task_id).cancel(reason)

    async def _ended(
        self, agent: BackgroundAgent, token: ContinuationToken, row: RunRow
    ) -> AgentResponse[Any]:
        thread = await self._thread(agent, token)
        if row.status is RunStatus.COMPLETED:
            return await _answer(agent, thread, token)
        if row.status is RunStatus.CANCELLED:
            reason = row.cancel_reason or "by request"
            return cancelled(token, thread.find_turn(token.turn), reason)
        result = await (await self._runs()).handle(token.task_id).result()
        if row.status is RunStatus.WAITING_INPUT:
            pending = tuple(pending_request(asked) for asked in result.pending_requests)
            return _waiting(thread, token).model_copy(update={"pending": pending})
        raise TaskFailedError(token.agent, token.task_id, _reason(result)) from result.error

    async def _row(self, token: ContinuationToken) -> RunRow:
        try:
            row = await (await self._runs()).handle(token.task_id).row()
        except UnknownRunError as exc:
            raise TaskNotFoundError(token.task_id, token.thread_id) from exc
        if row.workflow != self._workflow:  # a token is not signed, and may name any run of the project
            raise TaskNotFoundError(token.task_id, token.thread_id)
        return row

    @staticmethod
    async def _thread(agent: BackgroundAgent, token: ContinuationToken) -> AgentThread:
        return await AgentThread.load(token.thread_id, _store_of(agent))

    async def _end_of_stream(self) -> int:
        try:
            return 0 if self._bus is None else (await self._bus.state()).last
        except BusUnavailableError as exc:
            log.warning("background.without_text", error=line_of(exc))
            return 0

    async def _runs(self) -> ReachedRuns:
        # The first call opens the database and starts a thread.
        return reached(await in_thread(current_client) if self._chosen is None else self._chosen)


async def _until_news(
    live: LiveText, token: ContinuationToken, timeout_s: float
) -> AsyncGenerator[AgentChunk, None]:
    """Yield the text that comes, until something else comes or the time is over.

    The last piece is then a ``started`` one, for its token.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + timeout_s
    while (event := await live.next(max(ends - loop.time(), 0.0))) is not None:
        piece = text_piece(event)
        is_ahead = piece is not None and piece.sequence > token.sequence
        if is_ahead and live.keep(event):  # the thread has a message that comes before it
            yield AgentChunk(kind=ChunkKind.STARTED, author_name=token.agent, token=token)
            return
        token = token.after(token.sequence, event.stream_sequence)
        if piece is None:
            yield AgentChunk(kind=ChunkKind.STARTED, author_name=token.agent, token=token)
            return
        if piece.sequence in (-1, token.sequence):  # else its message was read whole
            yield replace(piece, sequence=token.sequence, token=token)


async def _answer(
    agent: BackgroundAgent, thread: AgentThread, token: ContinuationToken
) -> AgentResponse[Any]:
    """Return the answer that the thread has: in the agent's type, and without a request to its model."""
    turn = thread.find_turn(token.turn)
    if turn is None or turn.ended is None:
        return _waiting(thread, token)
    response = await agent.respond((), thread, RunOptions(idempotency_key=token.turn), _drop)
    messages = tuple(kept_messages(thread.entries, token.turn))
    return response.model_copy(update={"messages": messages})


def _waiting(thread: AgentThread, token: ContinuationToken) -> AgentResponse[Any]:
    turn = thread.find_turn(token.turn) or NO_TURN
    return AgentResponse(
        agent=token.agent,
        thread_id=token.thread_id,
        turn=token.turn,
        status=ResponseStatus.NEEDS_INPUT,
        messages=tuple(kept_messages(thread.entries, token.turn)),
        text=turn.reply.text if turn.reply else "",
        usage=turn.usage,
        pending=turn.pending,
    )


def _check(agent: BackgroundAgent, thread: AgentThread, options: RunOptions) -> None:
    unfit = [name for name in _UNSENT if getattr(options, name) is not None]
    if unfit:
        raise BackgroundSetupError(
            f"the options {', '.join(unfit)} cannot be sent to a worker; give them to agent "
            f"{agent.name!r} itself"
        )
    _store_of(agent)
    if thread.store is None:
        raise BackgroundSetupError(
            f"thread {thread.id!r} is in this process only, and a worker could not find it; begin it with "
            "agent.new_thread(), or keep it with thread.save(store)"
        )


def _with_ids(messages: Sequence[ChatMessage], task_id: str) -> tuple[ChatMessage, ...]:
    """Return messages with ids: a worker recognizes by them whether a thread has them."""
    named = enumerate(messages, 1)
    return tuple(one if one.id else one.model_copy(update={"id": f"{task_id}.{n}"}) for n, one in named)


def _store_of(agent: BackgroundAgent) -> ThreadStore:
    if agent.store is None:
        raise BackgroundSetupError(
            f"agent {agent.name!r} has no store, and a worker could not find its threads: pass "
            "store=SqlThreadStore(...) or another one"
        )
    return agent.store


def _reason(result: RunResult) -> str:
    return "no reason is known" if result.error is None else line_of(result.error)


async def _drop(_: AgentChunk) -> None:
    """Take a piece that no reader wants."""
