"""A store of memories that is opened at its first use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentic.core.agents import AgentMemoryError, Memory, MemoryStore, ProcessMemoryStore
from agentic.core.agents.memory.later import LaterMemoryStore
from agentic.core.testing import MemoryStoreContract


class Server:
    """Counts how often it is opened and closed; it may be away."""

    def __init__(self) -> None:
        self.store = ProcessMemoryStore()
        self.opened = self.closed = 0
        self.is_away = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemoryStore]:
        await asyncio.sleep(0)
        if self.is_away:
            raise AgentMemoryError("it is away")
        self.opened += 1
        try:
            yield self.store
        finally:
            self.closed += 1


class TestLaterMemoryStore(MemoryStoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return LaterMemoryStore(Server().open)


async def test_it_is_opened_once_for_all_that_use_it_at_a_time_and_again_after_its_end() -> None:
    server = Server()
    store = LaterMemoryStore(server.open)
    assert server.opened == 0
    await asyncio.gather(*(store.put("host", "ada", Memory.of(f"fact {n}", 1.0)) for n in range(5)))
    assert (server.opened, server.closed) == (1, 0)
    await store.aclose()
    await store.aclose()
    assert (server.opened, server.closed) == (1, 1)
    assert len(await store.load("host", "ada")) == 5
    assert server.opened == 2


async def test_a_server_that_is_away_is_tried_again_at_the_next_use() -> None:
    server = Server()
    server.is_away = True
    store = LaterMemoryStore(server.open)
    with pytest.raises(AgentMemoryError, match="it is away"):
        await store.clear("host", "ada")
    server.is_away = False
    assert await store.clear("host", "ada") == 0
