"""An agent: it answers messages in threads."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

from agentic.core.agents.background.invoking import BackgroundCalls
from agentic.core.agents.background.port import BackgroundRuns
from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.options import DEFAULT_OPTIONS, RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import (
    AgentChunk,
    AgentResponse,
    AgentStoppedError,
    ChunkKind,
    Emit,
    OutputT,
    ResponseStatus,
)
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.agents import AgentTool
from agentic.core.agents.tools.tool import Approval, Tool

if TYPE_CHECKING:
    from agentic.core.graph import Executor, Workflow

_QUEUED = 256  # pieces that wait for a slow reader; then the agent waits, too


class Agent(ABC, Generic[OutputT]):
    """Answers messages in threads. It holds configuration only, and serves any number of threads at a time.

    Attributes:
        name: 1 to 64 letters, digits, ``_`` or ``-``: models see it when the agent is a tool.
        description: Its use; for models that choose among agents.
        store: Where new threads are kept; None for this process.
        background: Where its background runs work; None for tasks of this process.
    """

    name: str
    description: str = ""
    store: ThreadStore | None = None
    background: BackgroundRuns | None = None

    @property
    def id(self) -> str:
        """Its name."""
        return self.name

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that it can call."""
        return ()

    @property
    def workflows(self) -> Sequence[Workflow]:
        """The workflows that it runs as parts of the run of a graph."""
        return ()

    @abstractmethod
    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[OutputT]:
        """Take a turn, or continue one; for subclasses.

        Args:
            given: The input.
            thread: The conversation; everything is added to it as it comes.
            options: Of this run.
            emit: Takes the pieces; the last one, ``finished``, is not its business.

        Returns:
            The answer, also if it is not whole.
        """

    async def run(
        self, given: AgentInput = (), thread: AgentThread | None = None, *, options: RunOptions | None = None
    ) -> AgentResponse[OutputT]:
        """Answer messages.

        Args:
            given: A text, messages, or answers to the thread's pending requests. Empty continues a turn that
                was interrupted.
            thread: The conversation; a new one if omitted. Runs of one thread object take their turns one
                after the other.
            options: Of this run.

        Returns:
            The answer; with ``status`` ``needs_input`` if the agent waits for answers.

        Raises:
            AgentStoppedError: A limit, a guard or a refusal ended the turn. The error has the partial answer.
            ThreadBusyError: The thread waits for answers.
            ThreadInUseError: The run that has the thread waits for this one (a tool of its agent asks for
                it), or works in another event loop.
            ThreadMisfitError: It belongs to another agent.
            ModelError: The model failed; ``run((), thread)`` continues the turn.
        """
        options = options or DEFAULT_OPTIONS
        if options.is_background:
            response = await self._background.run(given, thread, options)
        else:
            response = await self._respond(given, thread, options, _drop)
        if response.status is ResponseStatus.STOPPED:
            raise AgentStoppedError(self.name, response)
        return response

    async def run_stream(
        self, given: AgentInput = (), thread: AgentThread | None = None, *, options: RunOptions | None = None
    ) -> AsyncIterator[AgentChunk]:
        """Answer messages, and yield the answer in pieces as it is made; see :meth:`run`.

        The last piece has the whole answer in ``response``. A turn that stopped is such an answer, too.

        Read the pieces to the end, or close the stream, before you await another run in the same thread: it
        waits for the end of this one, and this one waits for its reader when 256 pieces are unread.
        """
        options = options or DEFAULT_OPTIONS
        if options.is_background:
            async with aclosing(self._background.run_stream(given, thread, options)) as kept:
                async for one in kept:
                    yield one
            return
        pieces: asyncio.Queue[AgentChunk | None] = asyncio.Queue(_QUEUED)
        number = 0

        async def work() -> AgentResponse[OutputT]:
            try:
                return await self._respond(given, thread, options, pieces.put)
            finally:
                await pieces.put(None)

        working = asyncio.create_task(work())
        try:
            while (piece := await pieces.get()) is not None:
                number += 1
                piece.sequence = number  # type: ignore[misc]  # numbered where it leaves
                yield piece
            response = await working
            yield AgentChunk(
                kind=ChunkKind.FINISHED,
                author_name=self.name,
                path=options.path,
                sequence=number + 1,
                response=response,
            )
        finally:
            if not working.done():
                while not pieces.empty():  # a full queue would hold the agent up for ever
                    pieces.get_nowait()
                working.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await working

    async def _respond(
        self, given: AgentInput, thread: AgentThread | None, options: RunOptions, emit: Emit
    ) -> AgentResponse[OutputT]:
        thread = thread or self.new_thread()
        async with thread.held():
            return await self.respond(given, thread, options, emit)

    async def invoke(
        self, given: AgentInput = (), thread: AgentThread | None = None, *, options: RunOptions | None = None
    ) -> AgentResponse[OutputT]:
        """Do as :meth:`run`."""
        return await self.run(given, thread, options=options)

    async def invoke_with_background(
        self, given: AgentInput = (), thread: AgentThread | None = None, options: RunOptions | None = None
    ) -> AgentResponse[OutputT]:
        """Start a background run, or ask for its answer.

        With ``allow_background``, the run begins elsewhere, and the response is ``in_progress`` and has a
        ``token``. With ``continuation_token``, the response is ``in_progress`` again, or the answer.
        Without either this is :meth:`run`.

        Args:
            given: As for :meth:`run`; nothing with a token.
            thread: The conversation; not needed with a token. One with a store gets the new entries.
            options: Of this run.

        Raises:
            AgentStoppedError: As by :meth:`run`; or the run was cancelled.
            BackgroundSetupError: The agent, the thread or an option cannot be used in a background run.
            ContinuationTokenError: The token is of another agent, or has expired.
            TaskUnderWayError: A background run works on the thread already.
            TaskNotFoundError: No such run is known.
            TaskFailedError: The run failed.
        """
        return await self.run(given, thread, options=options)

    def invoke_stream_with_background(
        self, given: AgentInput = (), thread: AgentThread | None = None, options: RunOptions | None = None
    ) -> AsyncIterator[AgentChunk]:
        """Start a background run, or continue to read it, in pieces; see :meth:`invoke_with_background`.

        Each piece has a ``token``, and a reader that was cut off continues with the last one it has. The end
        of a reader does not end the run.

        Raises:
            PiecesGoneError: The run does not keep pieces that follow the token's.
        """
        return self.run_stream(given, thread, options=options)

    async def cancel_background(self, token: ContinuationToken, reason: str = "by its caller") -> bool:
        """Stop a background run; False if it has ended. ``run((), thread)`` continues its turn.

        Args:
            token: Of the run.
            reason: For readers of the answer.

        Raises:
            ContinuationTokenError: The token is of another agent, or has expired.
            TaskNotFoundError: No such run is known.
        """
        return await self._background.cancel(token, reason)

    @property
    def _background(self) -> BackgroundCalls:
        return BackgroundCalls(self, self.background)

    def as_executor(self) -> Executor:
        """Return a node of a graph that is this agent; see :class:`AgentExecutor` for its options."""
        # By name, because an agent executor is made of an agent.
        made: Executor = import_module("agentic.core.agents.executor").AgentExecutor(self)
        return made

    def as_tool(
        self, *, name: str | None = None, description: str | None = None, approval: Approval = "never"
    ) -> Tool:
        """Return this agent as a tool of another one.

        Args:
            name: Its own if omitted.
            description: Its own if omitted.
            approval: Whether a person must approve a call.
        """
        return AgentTool(self, name=name, description=description, approval=approval)

    async def run_once(self, given: AgentInput) -> str:
        """Return the text of the answer to one message, in a thread of its own."""
        return (await self.run(given)).text

    def new_thread(self, *, user_id: str | None = None, title: str = "") -> AgentThread:
        """Return an empty thread of this agent.

        Args:
            user_id: The person who speaks.
            title: A few words for lists.
        """
        return AgentThread.new(self.name, user_id=user_id, store=self.store, title=title)

    get_new_thread = new_thread


async def last_response(pieces: AsyncIterator[AgentChunk]) -> AgentResponse[Any]:
    """Read a stream to its end, and return the answer."""
    found: AgentResponse[Any] | None = None
    async with aclosing(pieces) as stream:  # type: ignore[type-var]  # an async generator
        async for piece in stream:
            found = piece.response if piece.done else found
    if found is None:
        raise ValueError("the stream ended without an answer")
    return found


async def _drop(_: AgentChunk) -> None:
    """Take a piece that no reader wants."""
