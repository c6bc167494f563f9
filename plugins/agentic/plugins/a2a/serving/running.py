"""Runs one task: the agent's turn, each step of it in the log as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, suppress
from typing import Any, cast

from pydantic import ValidationError

from agentic.core.agents import (
    Agent,
    AgentChunk,
    AgentThread,
    ContinuationToken,
    PendingRequest,
    RequestAnswer,
    RunOptions,
    ThreadEntry,
    ThreadMetadata,
    ThreadNotFoundError,
    ThreadStore,
)
from agentic.core.bus import BusError
from agentic.core.errors import line_of
from agentic.core.llm.messages import ChatMessage
from agentic.core.logging import get_logger
from agentic.plugins.a2a.serving.inputs import message_of
from agentic.plugins.a2a.serving.narrating import Narration, Told, status
from agentic.plugins.a2a.serving.pushing import PushNotifications
from agentic.plugins.a2a.tasks.entries import EntryKind, TaskEntry, TaskState, TaskView
from agentic.plugins.a2a.tasks.log import OpenTask, TaskChangedError, TaskKey, TaskLog, digest

log = get_logger(__name__)

FLUSH_S = 0.1
"""How long text waits for more before it becomes an event."""

MAX_TRIES = 5
"""How many servers may die at the same place of a task before it fails."""

PUSH_AGAIN_S = 2.0


class TaskRunner:
    """Works on tasks of an agent.

    Args:
        agent: The agent. With background runs, these do the work.
        name: Names its conversations.
        tasks: Its tasks.
        store: Of its threads.
        pushes: Tells callers about changes.
    """

    def __init__(
        self, agent: Agent[Any], name: str, tasks: TaskLog, store: ThreadStore, pushes: PushNotifications
    ) -> None:
        self._agent = agent
        self._name = name
        self._tasks = tasks
        self._store = store
        self._pushes = pushes
        self._begun: dict[str, int] = {}

    async def run(self, one: OpenTask) -> None:
        """Work on a task until it has ended or waits for its caller, and everybody knows.

        If another writer is first, it stops: the task was cancelled, or another server works on it.
        """
        view = await self._tasks.read(one.key)
        if view is None:
            await self._tasks.close(one)
            return
        if view.is_open:
            with suppress(TaskChangedError):
                await self._work(one.key, view)
        while (view := await self._tasks.read(one.key)) is not None:
            if view.is_open:
                return  # another server works on it, or its caller has written
            if await self._pushes.deliver(one.key, view):
                break
            await asyncio.sleep(PUSH_AGAIN_S)
        await self._tasks.close(one)

    async def hand_over(self, key: TaskKey) -> None:
        """Leave a task to another server, so that this one does not count as dead."""
        run = self._begun.pop(key.task, None)
        view = None if run is None else await self._tasks.read(key)
        if view is not None and not view.state.is_final and view.runs == run:
            await self._tasks.append(view, [TaskEntry(kind=EntryKind.HANDED, at=time.time(), run=view.runs)])

    async def _work(self, key: TaskKey, view: TaskView) -> None:
        log_of, thread = TaskWriter(self._tasks, view), await self._thread(view)
        await log_of.begin(len(thread.entries))
        if log_of.view.tries > MAX_TRIES:
            words = f"{MAX_TRIES} servers, one after the other, have died at the same place of this task"
            await log_of.write([status(TaskState.FAILED, words)])
            return
        self._begun[key.task] = log_of.view.runs
        taking = asyncio.create_task(self._turn(log_of, thread), name=f"a2a-task-{key.task}")
        watching = asyncio.create_task(self._until_others_write(key, log_of), name=f"a2a-watch-{key.task}")
        telling = asyncio.create_task(self._tell(key, log_of), name=f"a2a-push-{key.task}")
        try:
            await asyncio.wait({taking, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for work in (taking, watching, telling):
                work.cancel()
            await asyncio.wait({taking, watching, telling})
        del self._begun[key.task]
        await self._cancel_background(key, log_of.token)
        for work in (taking, watching, telling):
            if not work.cancelled() and (fault := work.exception()) is not None:
                raise fault

    async def _cancel_background(self, key: TaskKey, token: ContinuationToken | None) -> None:
        """Cancel the background run of a task that was cancelled."""
        if token is None:
            return
        view = await self._tasks.read(key)
        if view is not None and view.state is TaskState.CANCELED:
            await self._agent.cancel_background(token, "by the caller of its task")

    async def _turn(self, log_of: TaskWriter, thread: AgentThread) -> None:
        try:
            await self._take_turn(log_of, thread)
        except (TaskChangedError, BusError):
            raise  # it cannot be written
        except Exception as exc:  # agents are programs of others; the caller learns that it has failed
            log.warning("a2a.task_failed", task=log_of.view.facts.id, error=line_of(exc))
            await log_of.write([status(TaskState.FAILED, f"the agent failed ({type(exc).__name__})")])

    async def _take_turn(self, log_of: TaskWriter, thread: AgentThread) -> None:
        view = log_of.view
        other = await self._make_room(thread, view)
        if other is not None:
            reason = (
                f"the conversation waits for input in task {other}: answer it, cancel it, or begin another"
            )
            await log_of.write([status(TaskState.REJECTED, f"{reason} context")])
            return
        if view.state is not TaskState.WORKING:
            await log_of.write([status(TaskState.WORKING)])
        given = self._input(thread, view)
        in_background = self._agent.background is not None
        # A background run takes one input: the answers to requests are another one's.
        key = (
            f"{view.facts.id}.{len(view.messages)}"
            if in_background and len(view.messages) > 1
            else view.facts.id
        )
        options = RunOptions(idempotency_key=key, allow_background=in_background)
        narration = Narration()
        async with aclosing(cast(Any, self._agent.run_stream(given, thread, options=options))) as pieces:
            try:
                async for told in narrated(narration, pieces):
                    await log_of.write(told)
            finally:
                log_of.token = narration.token

    def _input(self, thread: AgentThread, view: TaskView) -> list[ChatMessage | RequestAnswer]:
        if thread.find_turn(view.facts.id) is None:
            return [message_of(body) for body in view.messages]
        open_ids = {request.id for request in thread.pending}  # the thread may have some answers already
        given = [
            RequestAnswer.model_validate(one) for body in view.unanswered for one in body.get("answers", ())
        ]
        return [answer for answer in given if answer.request_id in open_ids]

    async def _thread(self, view: TaskView) -> AgentThread:
        name = thread_id(self._name, view.facts.user, view.facts.context)
        try:
            return await AgentThread.load(name, self._store)
        except ThreadNotFoundError:
            facts = ThreadMetadata(
                agent=self._agent.name, user_id=view.facts.user or None, created_at=view.facts.created_at
            )
            return AgentThread(facts, thread_id=name, store=self._store)

    async def _make_room(self, thread: AgentThread, view: TaskView) -> str | None:
        """End the turn of a task that has ended; return the task whose turn is open, if there is one."""
        turn = thread.turn
        if turn is None or turn.ended is not None or turn.id == view.facts.id:
            return None
        key = self._tasks.key_of(view.facts.user, turn.id)
        other = None if key is None else await self._tasks.read(key)
        if other is not None and not other.state.is_final:
            return other.facts.id
        await thread.append(ThreadEntry(turn=turn.id, ended="stopped", reason="its task has ended"))
        return None

    async def _until_others_write(self, key: TaskKey, log_of: TaskWriter) -> None:
        own = log_of.view.runs
        async with aclosing(self._tasks.follow(key, log_of.view.count)) as entries:
            async for _, entry in entries:
                if entry.run != own:
                    return

    async def _tell(self, key: TaskKey, log_of: TaskWriter) -> None:
        while True:
            changed = log_of.changed
            await self._pushes.deliver(key, log_of.view)
            await changed.wait()


class TaskWriter:
    """Writes the entries of one run of a task.

    Args:
        tasks: The tasks.
        view: The task.

    Attributes:
        view: The task with all that was written.
        token: Of the background run that does the work, if one does.
        changed: Set, and replaced, when the state changes.
    """

    def __init__(self, tasks: TaskLog, view: TaskView) -> None:
        self._tasks = tasks
        self.view = view
        self.token: ContinuationToken | None = None
        self.changed = asyncio.Event()

    async def begin(self, place: int) -> None:
        """Note that this server works on the task: all others that do stop.

        Args:
            place: Entries of the agent's thread: they grow with its progress.
        """
        run = self.view.runs + 1
        entry = TaskEntry(kind=EntryKind.BEGUN, at=time.time(), run=run, body={"place": place})
        self.view = await self._tasks.append(self.view, [entry])

    async def write(self, told: Iterable[Told]) -> None:
        """Add events, all or none.

        Raises:
            TaskChangedError: Another writer was first.
        """
        now, run = time.time(), self.view.runs
        entries = [TaskEntry(kind=one.kind, at=now, run=run, body=one.body) for one in told]
        if not entries:
            return
        writing = asyncio.ensure_future(self._tasks.append(self.view, entries))
        try:
            self.view = await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            raise
        if any(entry.kind is EntryKind.STATUS for entry in entries):
            self.changed.set()
            self.changed = asyncio.Event()


async def narrated(narration: Narration, pieces: AsyncIterator[AgentChunk]) -> AsyncIterator[list[Told]]:
    """Iterate over the events of an answer. Text waits for more, but never for longer than 0.1 s.

    Args:
        narration: Makes the events.
        pieces: The answer.
    """
    flushed = time.monotonic()
    coming = _next(pieces)
    try:
        while True:
            left_s = max(flushed + FLUSH_S - time.monotonic(), 0.0) if narration.has_text else None
            await asyncio.wait({coming}, timeout=left_s)
            if not coming.done():
                yield list(narration.flush())
                flushed = time.monotonic()
                continue
            piece = coming.result()
            narration.token = piece.token or narration.token
            if piece.done and piece.response is not None:
                yield list(narration.end(piece.response))
                return
            coming = _next(pieces)
            had_text = narration.has_text
            told = list(narration.take(piece))
            if narration.has_text and not had_text:
                flushed = time.monotonic()
            if narration.is_full or (narration.has_text and time.monotonic() - flushed >= FLUSH_S):
                told += narration.flush()
                flushed = time.monotonic()
            if told:
                yield told
    finally:
        coming.cancel()
        await asyncio.wait([coming])


def _next(pieces: AsyncIterator[AgentChunk]) -> asyncio.Future[AgentChunk]:
    return asyncio.ensure_future(anext(pieces))


def requests_of(view: TaskView) -> list[PendingRequest]:
    """Return the requests that a task waits for."""
    found: list[PendingRequest] = []
    for one in view.requests:
        try:
            found.append(PendingRequest.model_validate(one))
        except ValidationError:
            continue
    return found


def thread_id(agent: str, user: str, context: str) -> str:
    """Return the id of the thread of a conversation: no caller can name the thread of another one."""
    return f"a2a-{digest('/'.join(map(digest, (agent, user, context))))}"
