"""Threads and memories in NATS buckets, and in the one in memory that has the same interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agentic.core.agents import (
    AgentThread,
    ChatAgent,
    KeyValueMemoryStore,
    KeyValueThreadStore,
    MemoryStore,
    MemoryThreadStore,
    ThreadStore,
)
from agentic.core.agents.memory.stored import BUCKET
from agentic.core.bus import MemoryKeyValue
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.llm import ScriptedModel
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.testing import MemoryStoreContract, ThreadStoreContract

pytestmark = pytest.mark.integration


class TestMemoryThreadStore(ThreadStoreContract):
    @pytest.fixture
    def store(self) -> ThreadStore:
        return MemoryThreadStore()


class TestInMemoryBucket(ThreadStoreContract):
    @pytest.fixture
    def store(self) -> ThreadStore:
        return KeyValueThreadStore(MemoryKeyValue())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nats_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Return the URL of an embedded server of this module's own."""
    home: Path = tmp_path_factory.mktemp("nats")
    async with ServiceSupervisor(home, [nats_service(home)]) as supervisor:
        yield supervisor.urls["nats"]


@pytest.mark.requirement("TH02", "TH06", "TH07", "NA13")
class TestNatsThreadStore(ThreadStoreContract):
    @pytest.fixture
    async def store(self, nats_url: str, request: pytest.FixtureRequest) -> AsyncIterator[ThreadStore]:
        async with KeyValueThreadStore.open(nats_url, project=request.node.name) as store:
            yield store


class TestMemoriesInMemoryBucket(MemoryStoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return KeyValueMemoryStore(MemoryKeyValue())


@pytest.mark.requirement("ME05", "NA14")
class TestNatsMemoryStore(MemoryStoreContract):
    @pytest.fixture
    async def store(self, nats_url: str, request: pytest.FixtureRequest) -> AsyncIterator[MemoryStore]:
        bus = NatsBus(nats_url)
        yield KeyValueMemoryStore(bus.bucket(BUCKET, project=request.node.name))
        await bus.aclose()


async def test_a_conversation_goes_on_from_the_server_in_another_process(nats_url: str) -> None:
    async with KeyValueThreadStore.open(nats_url, project="talk") as store:
        thread = ChatAgent(ScriptedModel([]), name="host", store=store).new_thread()
        await ChatAgent(ScriptedModel(["hello"]), name="host").run("hi", thread)
    async with KeyValueThreadStore.open(nats_url, project="talk") as store:
        again = await AgentThread.load(thread.id, store)
        await ChatAgent(ScriptedModel(["yes"]), name="host").run("still there?", again)
        assert [one.text for one in (await AgentThread.load(thread.id, store)).messages] == [
            "hi",
            "hello",
            "still there?",
            "yes",
        ]
