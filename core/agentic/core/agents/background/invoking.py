"""Calls of agents that begin background runs, or continue with them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from agentic.core.agents.background.local import shared_runs
from agentic.core.agents.background.port import BackgroundAgent, BackgroundRuns, in_progress
from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.errors import BackgroundSetupError, ContinuationTokenError
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentChunk, AgentResponse, ResponseStatus
from agentic.core.agents.threads.thread import AgentThread


class BackgroundCalls:
    """The background calls of one agent.

    Args:
        agent: The agent.
        runs: Where its runs work; this process if omitted.
    """

    def __init__(self, agent: BackgroundAgent, runs: BackgroundRuns | None) -> None:
        self._agent = agent
        self._runs = runs or shared_runs()

    async def run(
        self, given: AgentInput, thread: AgentThread | None, options: RunOptions
    ) -> AgentResponse[Any]:
        """Begin a run, or return its answer."""
        token = options.continuation_token
        if token is None:
            return in_progress(await self._submit(given, thread, options), "")
        self._check(given, thread, token)
        response = await self._runs.poll(self._agent, token)
        await self._refresh(thread, response)
        return response

    async def run_stream(
        self, given: AgentInput, thread: AgentThread | None, options: RunOptions
    ) -> AsyncGenerator[AgentChunk, None]:
        """Begin a run, or continue with one, and yield its pieces."""
        token = options.continuation_token
        if token is None:
            token = await self._submit(given, thread, options)
        else:
            self._check(given, thread, token)
        async with aclosing(self._runs.pieces(self._agent, token)) as pieces:
            async for piece in pieces:
                await self._refresh(thread, piece.response)
                yield piece

    async def cancel(self, token: ContinuationToken, reason: str) -> bool:
        """Stop a run."""
        token.check(self._agent.name, time.time())
        return await self._runs.cancel(token, reason)

    async def _submit(
        self, given: AgentInput, thread: AgentThread | None, options: RunOptions
    ) -> ContinuationToken:
        if options.journal is not None:
            raise BackgroundSetupError(
                f"agent {self._agent.name!r} works in a graph, and a graph waits for its agents: leave "
                "allow_background out"
            )
        thread = thread or AgentThread.new(self._agent.name, store=self._agent.store)
        return await self._runs.submit(self._agent, given, thread, options)

    def _check(self, given: AgentInput, thread: AgentThread | None, token: ContinuationToken) -> None:
        if not (isinstance(given, (str, tuple, list)) and not given):
            raise ContinuationTokenError(
                "a token asks for the answer to an earlier input: give either an input or a token"
            )
        if thread is not None and thread.id != token.thread_id:
            raise ContinuationTokenError(
                f"the token belongs to thread {token.thread_id!r}, not {thread.id!r}; leave the thread out"
            )
        token.check(self._agent.name, time.time())

    async def _refresh(self, thread: AgentThread | None, response: AgentResponse[Any] | None) -> None:
        if thread is not None and response and response.status is not ResponseStatus.IN_PROGRESS:
            await thread.refresh()
