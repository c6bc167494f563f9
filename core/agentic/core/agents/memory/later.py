"""A store of memories that is opened when it is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from agentic.core.agents.memory.records import Memory
from agentic.core.agents.memory.stored import MemoryStore

OpenMemories = Callable[[], AbstractAsyncContextManager[MemoryStore]]
"""Opens a store until the end of a block."""


class LaterMemoryStore:
    """Opens a store at its first use, and again after :meth:`aclose`; for one event loop at a time.

    A store that cannot be opened is tried again at the next use.

    Args:
        open_store: Opens it; raises :class:`AgentMemoryError` if it cannot be used.
    """

    def __init__(self, open_store: OpenMemories) -> None:
        self._open_store = open_store
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._store: MemoryStore | None = None

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return the memories of a person; see :class:`~agentic.core.agents.MemoryStore`."""
        return await (await self._opened()).load(agent, user_id)

    async def put(self, agent: str, user_id: str, memory: Memory) -> None:
        """Keep a memory; see :class:`~agentic.core.agents.MemoryStore`."""
        await (await self._opened()).put(agent, user_id, memory)

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`~agentic.core.agents.MemoryStore`."""
        return await (await self._opened()).clear(agent, user_id)

    async def aclose(self) -> None:
        """Close the store, if it is open."""
        async with self._opening:
            self._store = None
            await self._stack.aclose()

    async def _opened(self) -> MemoryStore:
        async with self._opening:
            if self._store is None:
                self._store = await self._stack.enter_async_context(self._open_store())
            return self._store
