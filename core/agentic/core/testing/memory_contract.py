"""The contract of every store of memories."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.agents.memory.records import Memory, MemoryCategory
from agentic.core.agents.memory.stored import MemoryStore

ODD_NAMES = ("=", "a.b", "two words", "*", ">", "Zoë 漢字 🐍", "_", "'; DROP TABLE memories; --")


class MemoryStoreContract:
    """Inherit it, and define the fixture ``store``: an empty store."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        """Return the store to test."""
        raise NotImplementedError

    async def test_memories_come_back_as_they_were(self, store: MemoryStore) -> None:
        kept = [
            Memory.of(
                f"fact {number} 漢字", 1.5, category=category, importance=0.25, metadata={"n": [number]}
            )
            for number, category in enumerate(MemoryCategory)
        ]
        for memory in kept:
            await store.put("host", "ada", memory)
        assert sorted(await store.load("host", "ada"), key=lambda one: one.content) == kept

    async def test_a_memory_of_the_same_id_is_replaced(self, store: MemoryStore) -> None:
        await store.put("host", "ada", Memory.of("Likes tea", 1.0))
        await store.put("host", "ada", Memory.of("likes  TEA", 2.0, importance=0.9))
        (found,) = await store.load("host", "ada")
        assert (found.content, found.created_at, found.importance) == ("likes  TEA", 2.0, 0.9)

    async def test_people_and_agents_are_apart(self, store: MemoryStore) -> None:
        for agent in ("host", "guide"):
            for user in ("ada", "bob", ""):
                await store.put(agent, user, Memory.of(f"{agent} {user}", 1.0))
        assert await store.clear("host", "ada") == 1
        assert await store.clear("host", "ada") == 0
        assert await store.load("host", "ada") == []
        left = [
            one.content
            for agent in ("host", "guide")
            for user in ("ada", "bob", "")
            for one in await store.load(agent, user)
        ]
        assert left == ["host bob", "host", "guide ada", "guide bob", "guide"]

    async def test_no_person_is_taken_for_the_agent_itself(self, store: MemoryStore) -> None:
        await store.put("host", "", Memory.of("of the agent", 1.0))
        for odd in ODD_NAMES:
            assert await store.load("host", odd) == []

    async def test_many_writers_lose_nothing(self, store: MemoryStore) -> None:
        await asyncio.gather(
            *(store.put("host", "ada", Memory.of(f"fact {number}", 1.0)) for number in range(20))
        )
        assert len(await store.load("host", "ada")) == 20

    @pytest.mark.parametrize("odd", ODD_NAMES)
    async def test_names_can_be_any_text(self, store: MemoryStore, odd: str) -> None:
        await store.put(odd, odd, Memory.of(odd, 1.0))
        assert [one.content for one in await store.load(odd, odd)] == [odd]
        assert await store.load("other", odd) == []
        assert await store.clear(odd, odd) == 1
