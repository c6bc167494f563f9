"""Memories that are kept: in this process, in a bucket, or in any other store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentic.core.agents.memory.extracting import MemoryExtractor, RuleExtractor
from agentic.core.agents.memory.provider import MemoryContext, MemoryScope
from agentic.core.agents.memory.records import AgentMemoryError, Memory, UserMemories
from agentic.core.bus import BusError, KeyValue, KeyWrite, token
from agentic.core.bus.kv import MAX_WRITES
from agentic.core.llm.messages import ChatMessage

BUCKET = "AGENTIC_MEMORY"
"""Keys: ``memory.AGENT.USER.ID``."""

_AGENT_ITSELF = ""


class MemoryStore(Protocol):
    """Keeps memories by agent and person; every store passes ``agentic.core.testing.MemoryStoreContract``.

    All methods raise :class:`AgentMemoryError` if the store cannot be used.
    """

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return the memories of a person, ``""`` for the agent itself; in no order."""
        ...

    async def put(self, agent: str, user_id: str, memory: Memory) -> None:
        """Keep a memory; one of the same id is replaced."""
        ...

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; return how many there were."""
        ...


class ProcessMemoryStore:
    """Keeps memories in this process."""

    def __init__(self) -> None:
        self._memories: dict[tuple[str, str], dict[str, Memory]] = {}

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return the memories of a person; see :class:`MemoryStore`."""
        return list(self._memories.get((agent, user_id), {}).values())

    async def put(self, agent: str, user_id: str, memory: Memory) -> None:
        """Keep a memory; see :class:`MemoryStore`."""
        self._memories.setdefault((agent, user_id), {})[memory.id] = memory

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`MemoryStore`."""
        return len(self._memories.pop((agent, user_id), {}))


class KeyValueMemoryStore:
    """Keeps the memories of one project in a bucket: of NATS, or in memory.

    Args:
        bucket: Of the project.
    """

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return the memories of a person; see :class:`MemoryStore`."""
        try:
            found = await self._bucket.get_many(await self._bucket.keys(f"{_prefix(agent, user_id)}.*"))
        except BusError as exc:
            raise AgentMemoryError(f"the memories of agent {agent!r} cannot be read: {exc}") from exc
        return [Memory.read(entry.value, f"a stored memory of agent {agent!r}") for entry in found.values()]

    async def put(self, agent: str, user_id: str, memory: Memory) -> None:
        """Keep a memory; see :class:`MemoryStore`."""
        try:
            await self._bucket.put(f"{_prefix(agent, user_id)}.{token(memory.id)}", memory.stored().encode())
        except BusError as exc:
            raise AgentMemoryError(f"a memory of agent {agent!r} cannot be kept: {exc}") from exc

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`MemoryStore`."""
        try:
            keys = list(await self._bucket.keys(f"{_prefix(agent, user_id)}.*"))
            for start in range(0, len(keys), MAX_WRITES):
                part = keys[start : start + MAX_WRITES]
                await self._bucket.write([KeyWrite(key=key, value=None) for key in part])
        except BusError as exc:
            raise AgentMemoryError(f"the memories of agent {agent!r} cannot be removed: {exc}") from exc
        return len(keys)


class StoredMemoryProvider:
    """Puts the most important memories of a person before each turn, and keeps the facts of a turn.

    Args:
        store: Where they are kept.
        extractor: Finds them in a turn; by rules if omitted.
        learns: Whether turns are searched; without, only :meth:`store_memory` adds memories.
        max_memories: Memories in a turn.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        extractor: MemoryExtractor | None = None,
        learns: bool = True,
        max_memories: int = 20,
    ) -> None:
        self._store = store
        self._extractor = (extractor or RuleExtractor()) if learns else None
        self._max_memories = max_memories

    async def before_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> MemoryContext:
        """Return the most important memories; see :class:`~agentic.core.agents.MemoryProvider`."""
        del messages
        found = await self.get_memories(scope.agent, scope.user_id)
        return MemoryContext(
            extra_instructions=found.to_context_string(self._max_memories),
            retrieved_memories=tuple(found.most_important(self._max_memories)),
        )

    async def after_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> None:
        """Keep the facts of a turn; see :class:`~agentic.core.agents.MemoryProvider`."""
        if self._extractor is None:
            return
        for memory in await self._extractor.extract(messages):
            await self.store_memory(scope.agent, scope.user_id, memory)

    async def get_memories(self, agent: str, user_id: str | None) -> UserMemories:
        """Return all memories of a person."""
        return UserMemories(tuple(await self._store.load(agent, user_id or _AGENT_ITSELF)))

    async def store_memory(self, agent: str, user_id: str | None, memory: Memory) -> None:
        """Keep a memory."""
        await self._store.put(agent, user_id or _AGENT_ITSELF, memory)

    async def clear_memories(self, agent: str, user_id: str | None) -> int:
        """Forget a person."""
        return await self._store.clear(agent, user_id or _AGENT_ITSELF)


class InMemoryProvider(StoredMemoryProvider):
    """Memories of this process, for tests and small programs.

    Args:
        extractor: Finds them in a turn; by rules if omitted.
        max_memories: Memories in a turn.
    """

    def __init__(self, *, extractor: MemoryExtractor | None = None, max_memories: int = 20) -> None:
        super().__init__(ProcessMemoryStore(), extractor=extractor, max_memories=max_memories)


class NatsMemoryProvider(StoredMemoryProvider):
    """Memories in a bucket.

    Args:
        bucket: Of the project: ``bus.bucket(BUCKET, project=...)``.
        extractor: Finds them in a turn; by rules if omitted.
        max_memories: Memories in a turn.
    """

    def __init__(
        self, bucket: KeyValue, *, extractor: MemoryExtractor | None = None, max_memories: int = 20
    ) -> None:
        super().__init__(KeyValueMemoryStore(bucket), extractor=extractor, max_memories=max_memories)


class NoOpMemoryProvider:
    """Remembers nothing."""

    async def before_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> MemoryContext:
        """Return nothing."""
        del scope, messages
        return MemoryContext()

    async def after_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> None:
        """Keep nothing."""

    async def get_memories(self, agent: str, user_id: str | None) -> UserMemories:
        """Return nothing."""
        del agent, user_id
        return UserMemories()

    async def store_memory(self, agent: str, user_id: str | None, memory: Memory) -> None:
        """Keep nothing."""

    async def clear_memories(self, agent: str, user_id: str | None) -> int:
        """Return 0."""
        del agent, user_id
        return 0


def _prefix(agent: str, user_id: str) -> str:
    # A token never ends with "=", so no person is taken for the agent itself.
    return f"memory.{token(agent)}.{token(user_id) if user_id else '='}"
