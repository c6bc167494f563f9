"""Background runs of agents as durable runs: the contract, and the text that comes over the bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.databases import only_sqlite

from agentic.core.agents import (
    AgentChunk,
    AgentThread,
    BackgroundSetupError,
    BackgroundTask,
    ChatAgent,
    ChunkKind,
    InvokeOptions,
    TaskNotFoundError,
    ThreadStore,
    UsageLimits,
    background_workflow,
    tool,
)
from agentic.core.bus import EventBus
from agentic.core.bus.memory.bus import MemoryBus
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import RetryPolicy
from agentic.core.llm import ChatMessage, ModelDelta, ModelRequest, OverloadedError, ScriptedModel, ToolCall
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.testing.background_contract import (
    BEGIN,
    BackgroundRunsContract,
    Place,
    answer_to,
    pieces_of,
)
from agentic.executors import DurableBackgroundRuns
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.publish.live import LiveEvents
from agentic.mappers import Database, SqlThreadStore, add_project
from agentic.mappers.ledger.ledger import SqlLedger

pytestmark = pytest.mark.integration


class SpeakingModel(ScriptedModel):
    """Says its lines word by word, and waits for its listener before it ends a text."""

    is_heard: asyncio.Event

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        reply = await self.complete(request)
        for word in reply.text.split():
            yield ModelDelta(text=word if word.endswith(".") else f"{word} ")
        if reply.text:
            await self.is_heard.wait()
        yield ModelDelta(reply=reply)


class Workers:
    """Workers of this process, which learn the workflows of agents as they are made."""

    def __init__(self, runs: LocalRuns, flows: dict[str, Any], bus: EventBus | None) -> None:
        self.runs = runs
        self._flows = flows
        self._bus = bus

    def __call__(self, agent: ChatAgent[Any], *, retry: RetryPolicy | None = None) -> DurableBackgroundRuns:
        """Return the place of an agent's runs."""
        self._flows[agent.name] = lambda: background_workflow(agent, retry=retry)
        return DurableBackgroundRuns(agent.name, runs=self.runs, bus=self._bus, project="talk")


@pytest.fixture
def project_id(migrated_database: Database) -> str:
    with migrated_database.writing() as session:
        return add_project(session, "talk").id


@pytest.fixture
def store(migrated_database: Database, project_id: str) -> ThreadStore:
    return SqlThreadStore(migrated_database, project_id=project_id)


async def workers(
    stack: AsyncExitStack, database: Database, project_id: str, bus: EventBus | None
) -> Workers:
    """Start workers until the stack is closed."""
    flows: dict[str, Any] = {}
    tell = None
    if bus is not None:
        live = LiveEvents(lambda _: bus)
        stack.push_async_callback(live.aclose)
        tell = partial(live.tell, "talk")
    ledger = SqlLedger(database, project_id=project_id)
    runs = LocalRuns(ledger, WorkflowCatalog(flows), sweep_s=0.05, options={"tell": tell})
    return Workers(await stack.enter_async_context(runs), flows, bus)


@pytest.mark.requirement("BG01", "BG02", "BG03", "BG04", "BG05", "BG06", "BG07", "BG08")
class TestDurableBackgroundRuns(BackgroundRunsContract):
    @pytest.fixture
    def store(self, migrated_database: Database, project_id: str) -> ThreadStore:
        return SqlThreadStore(migrated_database, project_id=project_id)

    @pytest.fixture
    async def place(self, migrated_database: Database, project_id: str) -> AsyncIterator[Place]:
        async with AsyncExitStack() as stack:
            yield await workers(stack, migrated_database, project_id, None)


@only_sqlite
class TestDurableBackgroundRunsWithABus(TestDurableBackgroundRuns):
    @pytest.fixture
    async def place(self, migrated_database: Database, project_id: str) -> AsyncIterator[Place]:
        async with AsyncExitStack() as stack:
            yield await workers(stack, migrated_database, project_id, MemoryBus())


@pytest.fixture
async def place(migrated_database: Database, project_id: str) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield await workers(stack, migrated_database, project_id, None)


@pytest.fixture
async def nats_bus(tmp_path: Path) -> AsyncIterator[NatsBus]:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        bus = NatsBus(supervisor.urls["nats"])
        yield bus
        await bus.aclose()


@only_sqlite
async def test_the_text_comes_over_the_bus_and_a_reader_that_is_cut_gets_each_piece_once(
    migrated_database: Database, project_id: str, store: ThreadStore, nats_bus: NatsBus
) -> None:
    @tool
    async def read() -> str:
        """Read."""
        return "a page"

    call = ToolCall(id="1", name="read", arguments={})
    model = SpeakingModel([call, "A very long novel."])
    model.is_heard = asyncio.Event()
    agent = ChatAgent(model, name="writer", tools=[read], store=store)
    async with AsyncExitStack() as stack:
        at = await workers(stack, migrated_database, project_id, nats_bus)
        agent.background = at(agent)
        begun = await agent.invoke_with_background("Write!", options=BEGIN)
        found: list[AgentChunk] = []
        token = begun.token
        while not (found and found[-1].done):
            found += await pieces_of(agent, token, 1)
            token = found[-1].token
            if found[-1].text == "novel.":
                model.is_heard.set()
        whole = await pieces_of(agent, begun.token, 1_000)
    text = [piece.text for piece in found if piece.kind is ChunkKind.TEXT]
    assert text == ["A ", "very ", "long ", "novel."]
    kept = [(piece.sequence, piece.kind) for piece in found if piece.kind is not ChunkKind.TEXT]
    assert [number for number, _ in kept] == [1, 2, 3, 4]
    assert kept == [(piece.sequence, piece.kind) for piece in whole]  # without the text: it is a preview


@only_sqlite
async def test_a_worker_that_goes_on_announces_that_the_text_begins_again(
    migrated_database: Database, project_id: str, store: ThreadStore
) -> None:
    model = SpeakingModel([OverloadedError("a:b", "busy"), "Now."])
    model.is_heard = asyncio.Event()
    agent = ChatAgent(model, name="writer", store=store)
    again = RetryPolicy(max_attempts=2, first_delay_s=0)
    async with AsyncExitStack() as stack:
        at = await workers(stack, migrated_database, project_id, MemoryBus())
        agent.background = at(agent, retry=again)
        begun = await agent.invoke_with_background("Write!", options=BEGIN)
        stream = agent.invoke_stream_with_background(options=InvokeOptions(continuation_token=begun.token))
        kinds = []
        async for piece in stream:
            kinds.append(piece.kind)
            if piece.kind is ChunkKind.TEXT:
                model.is_heard.set()
    assert kinds == [ChunkKind.RESTARTED, ChunkKind.TEXT, ChunkKind.MESSAGE, ChunkKind.FINISHED]


@only_sqlite
async def test_a_thread_or_an_option_that_workers_cannot_have_is_refused_early(
    place: Place, store: ThreadStore
) -> None:
    agent = ChatAgent(ScriptedModel(["Hello."]), name="host", store=store)
    agent.background = place(agent)
    with pytest.raises(BackgroundSetupError, match=r"limits cannot be sent .* 'host'"):
        await agent.invoke_with_background(
            "Hi", options=InvokeOptions(allow_background=True, limits=UsageLimits())
        )
    with pytest.raises(BackgroundSetupError, match=r"thread\.save"):
        await agent.invoke_with_background("Hi", AgentThread.new("host"), BEGIN)
    homeless = ChatAgent(ScriptedModel(["Hello."]), name="host", background=agent.background)
    with pytest.raises(BackgroundSetupError, match="no store"):
        await homeless.invoke_with_background("Hi", options=BEGIN)
    with pytest.raises(BackgroundSetupError, match="no store"):
        background_workflow(homeless)


@only_sqlite
async def test_a_second_run_on_a_thread_fails_and_leaves_the_first_alone(
    place: Place, store: ThreadStore
) -> None:
    begins, is_free = asyncio.Event(), asyncio.Event()

    @tool
    async def read() -> str:
        """Read."""
        begins.set()
        await is_free.wait()
        return "a page"

    model = ScriptedModel([ToolCall(id="1", name="read", arguments={}), "Read."])
    agent = ChatAgent(model, name="reader", tools=[read], store=store)
    agent.background = place(agent)
    assert isinstance(place, Workers)
    thread = agent.new_thread()
    first = await agent.invoke_with_background("Read!", thread, BEGIN)
    await begins.wait()
    # As a submitter does that has read the thread before the first run began.
    task = BackgroundTask(
        agent="reader", thread_id=thread.id, turn="other", input=(ChatMessage.user("Hurry!"),)
    )
    second = await place.runs.submit("reader", task)
    result = await second.result(timeout_s=30)
    assert "a background run takes turn" in str(result.error)
    is_free.set()
    answer = await answer_to(agent, first.token)
    assert answer.text == "Read."


@only_sqlite
async def test_a_token_never_reaches_runs_of_other_workflows(place: Place, store: ThreadStore) -> None:
    writer = ChatAgent(ScriptedModel(["A novel."]), name="writer", store=store)
    reader = ChatAgent(ScriptedModel(["Read."]), name="reader", store=store)
    writer.background, reader.background = place(writer), place(reader)
    begun = await writer.invoke_with_background("Write!", options=BEGIN)
    assert begun.token is not None
    forged = begun.token.model_copy(update={"agent": "reader"})
    with pytest.raises(TaskNotFoundError):
        await reader.cancel_background(forged)
    assert (await answer_to(writer, begun.token)).text == "A novel."


@only_sqlite
async def test_text_of_a_message_that_was_read_whole_does_not_come_after_it(
    migrated_database: Database, project_id: str, store: ThreadStore
) -> None:
    is_called, is_open = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        is_called.set()
        await is_open.wait()
        return "open"

    model = SpeakingModel([ChatMessage.assistant("I look.", ToolCall(id="1", name="wait")), "It is open."])
    model.is_heard = asyncio.Event()
    model.is_heard.set()
    async with AsyncExitStack() as stack:
        place = await workers(stack, migrated_database, project_id, MemoryBus())
        agent = ChatAgent(model, name="writer", tools=[wait], store=store)
        agent.background = place(agent)
        begun = await agent.run("Is it open?", options=InvokeOptions(allow_background=True))
        assert begun.token is not None
        await is_called.wait()
        pieces: list[AgentChunk] = []
        async for piece in agent.run_stream(options=InvokeOptions(continuation_token=begun.token)):
            pieces.append(piece)
            is_open.set()
    kept = [piece.kind for piece in pieces if piece.kind is not ChunkKind.TEXT]
    assert kept == [ChunkKind.MESSAGE, ChunkKind.TOOL_FINISHED, ChunkKind.MESSAGE, ChunkKind.FINISHED]
    text = "".join(piece.text for piece in pieces if piece.kind is ChunkKind.TEXT)
    assert "It is open.".startswith(text)
