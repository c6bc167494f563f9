"""Memories in a Redis server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis
from structlog.testing import capture_logs
from tests.faults.executors.broker import Broker

from agentic.core.agents import AgentMemoryError, Memory, MemoryStore, RedisMemoryStore
from agentic.core.agents.memory.redis import KEY_PREFIX
from agentic.core.services import free_port
from agentic.core.testing import MemoryStoreContract

pytestmark = [pytest.mark.integration, pytest.mark.requirement("ST01")]


@pytest.fixture
async def store(url: str) -> AsyncIterator[RedisMemoryStore]:
    async with RedisMemoryStore.open(url, project="shop") as store:
        yield store


class TestRedisMemoryStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, store: RedisMemoryStore) -> MemoryStore:
        return store


async def test_a_person_is_one_key_that_never_expires(store: RedisMemoryStore, server: redis.Redis) -> None:
    for number in range(3):
        await store.put("host", "ada", Memory.of(f"fact {number}", 1.0))
    [key] = list(server.scan_iter())
    assert key.decode() == f"{KEY_PREFIX}{{shop}}:host:ada"
    assert server.ttl(key) == -1
    assert await store.clear("host", "ada") == 3
    assert list(server.scan_iter()) == []


async def test_projects_on_one_server_do_not_see_each_other(store: RedisMemoryStore, url: str) -> None:
    await store.put("host", "ada", Memory.of("secret", 1.0))
    async with RedisMemoryStore.open(url, project="other") as other:
        assert await other.load("host", "ada") == []
        assert await other.clear("host", "ada") == 0
    assert len(await store.load("host", "ada")) == 1


async def test_memories_outlive_the_server_process(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        async with RedisMemoryStore.open(broker.url(0)) as store:
            await store.put("host", "ada", Memory.of("Has a dog", 1.0))
            broker.kill()
            broker.start()
            assert [one.content for one in await store.load("host", "ada")] == ["Has a dog"]


async def test_damaged_and_foreign_values_are_errors(store: RedisMemoryStore, server: redis.Redis) -> None:
    await store.put("host", "ada", Memory.of("Has a dog", 1.0))
    [key] = list(server.scan_iter())
    server.hset(key, "x", "no json")
    with pytest.raises(AgentMemoryError, match="a stored memory of agent 'host' cannot be read"):
        await store.load("host", "ada")
    server.set(key, "not ours")
    with pytest.raises(AgentMemoryError, match="another program writes to keys of this project"):
        await store.put("host", "ada", Memory.of("Has a cat", 1.0))


async def test_a_server_that_is_not_there_is_an_error_without_its_password() -> None:
    url = f"redis://ada:hunter2@localhost:{free_port()}/0"
    with pytest.raises(AgentMemoryError, match="cannot be stored in redis://localhost") as caught:
        async with RedisMemoryStore.open(url):
            pass
    assert "hunter2" not in str(caught.value)


async def test_a_server_that_may_remove_memories_is_reported(tmp_path: Path) -> None:
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with Broker(tmp_path, *options) as broker, capture_logs() as logs:
        async with RedisMemoryStore.open(broker.url(0), project="shop"):
            pass
    assert [(one["event"], one["policy"]) for one in logs] == [("eviction.allowed", "allkeys-lru")]
