"""Background runs in this process: for servers that live longer than their requests, and for tests."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Any

from agentic.core.agents.background.port import BackgroundAgent, cancelled, in_progress
from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.errors import (
    BackgroundSetupError,
    PiecesGoneError,
    TaskFailedError,
    TaskNotFoundError,
    TaskUnderWayError,
)
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentChunk, AgentResponse, ChunkKind
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.turns.inputs import check_input, parted
from agentic.core.errors import line_of
from agentic.core.ids import new_id
from agentic.core.types import TaskId

MAX_PIECES = 10_000
"""Kept of each run; of a longer one, the newest."""

MAX_RUNS = 1_000
"""Kept at a time; the answer read longest after its end is forgotten first."""


class ProcessBackgroundRuns:
    """Runs agents as tasks of the event loop, and keeps their pieces in memory.

    Pieces and answers end with the process. A thread with a store keeps each step, so that the agent can
    continue an interrupted turn: ``agent.run((), thread)``. All calls must come from one event loop.

    Args:
        max_runs: How many runs are kept.
        max_pieces: How many pieces of each run are kept.
        expires_s: Seconds after which a token is refused; None for never.
    """

    def __init__(
        self,
        *,
        max_runs: int = MAX_RUNS,
        max_pieces: int = MAX_PIECES,
        expires_s: float | None = None,
    ) -> None:
        self._max_runs = max_runs
        self._max_pieces = max_pieces
        self._expires_s = expires_s
        self._runs: dict[str, _Run] = {}

    async def submit(
        self, agent: BackgroundAgent, given: AgentInput, thread: AgentThread, options: RunOptions
    ) -> ContinuationToken:
        """Accept a run; see :class:`~agentic.core.agents.BackgroundRuns`."""
        task_id = task_name(thread.id, options.idempotency_key)
        if known := self._accepted(task_id, thread):
            return known
        async with thread.held():  # the end of another run decides which turn is next
            pass
        if known := self._accepted(task_id, thread):  # while this one waited
            return known
        messages, answers = parted(given)
        turn = check_input(thread, messages, answers, options.idempotency_key)
        self._make_room()
        token = new_token(agent.name, task_id, thread.id, turn, self._expires_s)
        run = self._runs[task_id] = _Run(token, thread, deque(maxlen=self._max_pieces))
        key = None if thread.find_turn(turn) else turn
        own = replace(options, allow_background=False, idempotency_key=options.idempotency_key or key)
        run.work = asyncio.create_task(
            run.do(agent, (*messages, *answers), own), name=f"background-{task_id}"
        )
        return token

    async def poll(self, agent: BackgroundAgent, token: ContinuationToken) -> AgentResponse[Any]:
        """Return the answer; see :class:`~agentic.core.agents.BackgroundRuns`."""
        del agent
        run = self._run(token)
        run.check()
        return in_progress(token, run.text) if run.response is None else run.response

    async def pieces(
        self, agent: BackgroundAgent, token: ContinuationToken
    ) -> AsyncGenerator[AgentChunk, None]:
        """Iterate over the pieces; see :class:`~agentic.core.agents.BackgroundRuns`."""
        del agent
        run, seen = self._run(token), token.sequence
        while True:
            changed = run.changed
            for piece in run.after(seen):
                seen = piece.sequence
                yield replace(piece, token=token.after(seen))
            if seen < run.count:  # there is more since
                continue
            if run.has_ended:
                run.check()
                return
            await changed.wait()

    async def cancel(self, token: ContinuationToken, reason: str) -> bool:
        """Stop the run; see :class:`~agentic.core.agents.BackgroundRuns`."""
        run = self._run(token)
        if run.has_ended or run.work is None:
            return False
        run.work.cancel()
        await asyncio.wait([run.work])
        if run.response is None and run.failure is None:
            run.end(cancelled(run.token, run.thread.find_turn(run.token.turn), reason))
            return True
        return False

    async def aclose(self) -> None:
        """Stop all runs; the agents can continue their turns."""
        for run in list(self._runs.values()):
            await self.cancel(run.token, "the process ends")

    def _accepted(self, task_id: str, thread: AgentThread) -> ContinuationToken | None:
        """Return the token of a known run; another one must not be at work in the thread."""
        if task_id in self._runs:
            return self._runs[task_id].token
        for known in self._runs.values():
            if known.token.thread_id == thread.id and not known.has_ended:
                raise TaskUnderWayError(thread.id, known.token.turn)
        return None

    def _run(self, token: ContinuationToken) -> _Run:
        if token.task_id not in self._runs:
            raise TaskNotFoundError(token.task_id, token.thread_id)
        return self._runs[token.task_id]

    def _make_room(self) -> None:
        if len(self._runs) < self._max_runs:
            return
        ended = [name for name, run in self._runs.items() if run.has_ended]
        if not ended:
            raise BackgroundSetupError(
                f"{len(self._runs)} background runs are in progress, the most of this process; wait for one, "
                "or raise max_runs"
            )
        del self._runs[min(ended, key=lambda name: self._runs[name].ended_at)]


@dataclass(slots=True)
class _Run:
    token: ContinuationToken
    thread: AgentThread
    kept: deque[AgentChunk]
    count: int = 0
    text: str = ""
    response: AgentResponse[Any] | None = None
    failure: BaseException | None = None
    ended_at: float = 0.0
    work: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def has_ended(self) -> bool:
        return self.response is not None or self.failure is not None

    def check(self) -> None:
        if self.failure is not None:
            reason = line_of(self.failure)
            raise TaskFailedError(self.token.agent, self.token.task_id, reason) from self.failure

    def after(self, seen: int) -> list[AgentChunk]:
        """Return the kept pieces after a number."""
        first = self.count - len(self.kept) + 1
        if seen + 1 < first:
            raise PiecesGoneError(self.token.task_id, seen, first)
        return [piece for piece in self.kept if piece.sequence > seen]

    async def do(self, agent: BackgroundAgent, given: AgentInput, options: RunOptions) -> None:
        try:
            async with self.thread.held():
                self.end(await agent.respond(given, self.thread, options, self.emit))
        except Exception as exc:  # the callers get it
            self.failure = exc
            self.ended_at = time.monotonic()
            self._notify()

    async def emit(self, piece: AgentChunk) -> None:
        self.count += 1
        self.kept.append(replace(piece, sequence=self.count))
        if not piece.path:
            if piece.kind is ChunkKind.TEXT:
                self.text += piece.text
            elif piece.kind is ChunkKind.RESTARTED or (piece.kind is ChunkKind.TOOL_STARTED):
                self.text = ""
            elif piece.kind is ChunkKind.MESSAGE and piece.message is not None:
                self.text = piece.message.text
        self._notify()

    def end(self, response: AgentResponse[Any]) -> None:
        self.count += 1
        self.kept.append(
            AgentChunk(
                kind=ChunkKind.FINISHED,
                author_name=self.token.agent,
                sequence=self.count,
                response=response,
            )
        )
        self.response = response
        self.ended_at = time.monotonic()
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def new_token(
    agent: str, task_id: str, thread_id: str, turn: str, expires_s: float | None
) -> ContinuationToken:
    """Return the token of a new run.

    Args:
        agent: Name of the agent.
        task_id: The run.
        thread_id: The conversation.
        turn: The turn that the run takes.
        expires_s: Seconds after which it is refused.
    """
    now = time.time()
    return ContinuationToken(
        task_id=TaskId(task_id),
        agent=agent,
        thread_id=thread_id,
        turn=turn,
        created_at=now,
        expires_at=None if expires_s is None else now + expires_s,
    )


def task_name(thread_id: str, idempotency_key: str | None) -> str:
    """Return the id of a run: a new one, or the same for the same thread and key."""
    if idempotency_key is None:
        return new_id()
    facts = f"{len(thread_id)}:{thread_id}{idempotency_key}"
    return hashlib.sha256(facts.encode(errors="surrogatepass")).hexdigest()[:32]


_shared = ProcessBackgroundRuns()


def shared_runs() -> ProcessBackgroundRuns:
    """Return the runs of agents that name no other place for theirs."""
    return _shared
