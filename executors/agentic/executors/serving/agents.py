"""The agents of a served project that take messages."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentic.core.agents.agent import Agent
from agentic.core.bus import Bus
from agentic.core.threads import in_thread
from agentic.executors.agents.talking import TalkingAgent, make_talking, talk_name
from agentic.executors.background.runs import DurableBackgroundRuns
from agentic.executors.durable.runs.service import RunService
from agentic.mappers import AgentModel, Database, find_agent

MAX_THREADS = 10_000
MAX_KEPT = 64
"""Agents that are kept ready; each may have open connections to its models."""


class ThreadRuns:
    """The newest run of each thread that this process has begun: a second one at the same time is refused."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, str] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}
        self._callers: Counter[str] = Counter()

    @asynccontextmanager
    async def beginning(self, thread_id: str) -> AsyncIterator[None]:
        """Let one call at a time begin a run of a thread: the next one sees it."""
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        self._callers[thread_id] += 1
        try:
            async with lock:
                yield
        finally:
            self._callers[thread_id] -= 1
            if not self._callers[thread_id]:
                del self._callers[thread_id], self._locks[thread_id]

    def note(self, thread_id: str, run_id: str) -> None:
        """Remember the newest run of a thread."""
        self._newest[thread_id] = run_id
        while len(self._newest) > MAX_THREADS:
            self._newest.popitem(last=False)

    def newest(self, thread_id: str) -> str:
        """Return the newest run of a thread; "" if this process has begun none."""
        return self._newest.get(thread_id, "")


class ServedAgents:
    """Makes agents ready for messages, by name.

    Attributes:
        threads: The runs of their threads.

    Args:
        database: Has them.
        project: Name of their project.
        project_id: Its id.
        runs: Does their work.
        bus: Has the text of their answers as it is made.
    """

    def __init__(self, database: Database, project: str, project_id: str, runs: RunService, bus: Bus) -> None:
        self._database = database
        self._project = project
        self._project_id = project_id
        self._runs = runs
        self._bus = bus
        self.threads = ThreadRuns()
        self._ready: OrderedDict[str, TalkingAgent] = OrderedDict()
        self._making = asyncio.Lock()

    async def get(self, name: str) -> Agent[Any]:
        """Return an agent. Its background runs are durable: use ``RunOptions(allow_background=True)``.

        Raises as :meth:`find`.
        """
        return (await self.find(name)).agent

    async def find(self, name: str) -> TalkingAgent:
        """Return an agent with the facts that its platform gives.

        Args:
            name: Of its row.

        Raises:
            UnknownAgentError: The project has no such agent.
            NotTalkingError: It takes no messages.
            AgentConfigError: Its config cannot be used.
        """
        row = await in_thread(self._find, name)
        key = talk_name(row) if row.disabled_at is None else ""
        async with self._making:
            if key not in self._ready:
                made = await in_thread(make_talking, row, self._database)
                made.agent.background = DurableBackgroundRuns(
                    key, runs=self._runs, bus=self._bus, project=self._project
                )
                self._ready[key] = made
                await self._make_room()
            self._ready.move_to_end(key)
            return self._ready[key]

    async def aclose(self) -> None:
        """Close the connections of all agents."""
        while self._ready:
            await self._ready.popitem()[1].close()

    async def _make_room(self) -> None:
        while len(self._ready) > MAX_KEPT:
            await self._ready.popitem(last=False)[1].close()

    def _find(self, name: str) -> AgentModel:
        with self._database.reading() as session:
            return find_agent(session, self._project_id, name)
