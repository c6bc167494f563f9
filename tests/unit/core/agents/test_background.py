"""Background runs in this process, and their tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.agents import (
    BackgroundSetupError,
    ChatAgent,
    ChunkKind,
    ContinuationToken,
    ContinuationTokenError,
    Guard,
    MemoryThreadStore,
    PiecesGoneError,
    ProcessBackgroundRuns,
    ResponseStatus,
    TaskUnderWayError,
    ThreadStore,
    tool,
)
from agentic.core.agents.agent import last_response
from agentic.core.llm import ChatMessage, ScriptedModel, ToolCall
from agentic.core.testing.background_contract import (
    BEGIN,
    BackgroundRunsContract,
    Place,
    answer_to,
    pieces_of,
    resume,
)
from agentic.core.types import TaskId


@pytest.mark.requirement("BG01", "BG02", "BG03", "BG04", "BG06", "BG07", "BG08")
class TestProcessBackgroundRuns(BackgroundRunsContract):
    @pytest.fixture
    async def runs(self) -> AsyncIterator[ProcessBackgroundRuns]:
        made = ProcessBackgroundRuns()
        yield made
        await made.aclose()

    @pytest.fixture
    def place(self, runs: ProcessBackgroundRuns) -> Place:
        return lambda _: runs

    @pytest.fixture
    def store(self) -> ThreadStore:
        return MemoryThreadStore()

    async def test_text_comes_in_pieces_and_a_poll_has_the_text_so_far(self) -> None:
        agent = ChatAgent(ScriptedModel(["A long novel."]), name="writer")
        begun = await agent.invoke_with_background("Write!", options=BEGIN)
        whole = await pieces_of(agent, begun.token, 1_000)
        text = [piece.text for piece in whole if piece.kind is ChunkKind.TEXT]
        assert "".join(text) == "A long novel."
        for number, piece in enumerate(whole, 1):
            assert (piece.sequence, piece.token and piece.token.sequence) == (number, number)

    async def test_a_stream_begins_a_run_and_its_end_does_not_end_it(self) -> None:
        is_free = asyncio.Event()

        @tool
        async def read() -> str:
            """Read."""
            await is_free.wait()
            return "a page"

        model = ScriptedModel([ToolCall(id="1", name="read", arguments={}), "Read."])
        agent = ChatAgent(model, name="reader", tools=[read])
        stream = agent.invoke_stream_with_background("Read!", options=BEGIN)
        token = None
        async for piece in stream:
            token = piece.token
            if piece.kind is ChunkKind.TOOL_STARTED:
                break
        await stream.aclose()  # type: ignore[attr-defined]  # an async generator
        is_free.set()
        answer = await last_response(agent.invoke_stream_with_background(options=resume(token)))
        assert answer.text == "Read."

    async def test_without_the_option_it_is_an_ordinary_call(self) -> None:
        agent = ChatAgent(ScriptedModel(["Hello."]), name="host")
        assert (await agent.invoke_with_background("Hi")).text == "Hello."

    async def test_two_runs_on_one_thread_are_refused(self) -> None:
        is_free = asyncio.Event()

        @tool
        async def read() -> str:
            """Read."""
            await is_free.wait()
            return "a page"

        model = ScriptedModel([ToolCall(id="1", name="read", arguments={}), "Read."])
        agent = ChatAgent(model, name="reader", tools=[read])
        thread = agent.new_thread()
        begun = await agent.invoke_with_background("Read!", thread, BEGIN)
        with pytest.raises(TaskUnderWayError):
            await agent.invoke_with_background("Again!", thread, BEGIN)
        is_free.set()
        assert (await answer_to(agent, begun.token)).text == "Read."

    @pytest.mark.parametrize("key", [None, "order-1"])
    async def test_runs_that_wait_for_the_same_thread_are_accepted_once(self, key: str | None) -> None:
        is_free = asyncio.Event()

        @tool
        async def read() -> str:
            """Read."""
            await is_free.wait()
            return "a page"

        model = ScriptedModel([ToolCall(id="1", name="read", arguments={}), "Read.", "Again.", "Once more."])
        agent = ChatAgent(model, name="reader", tools=[read])
        thread = agent.new_thread()
        first = asyncio.create_task(agent.run("Read!", thread))
        begin = replace(BEGIN, idempotency_key=key)
        waiting = [
            asyncio.create_task(agent.invoke_with_background("Again!", thread, begin)) for _ in range(2)
        ]
        await asyncio.sleep(0)
        is_free.set()
        await first
        begun = await waiting[0]
        if key is None:
            with pytest.raises(TaskUnderWayError):
                await waiting[1]
        else:
            assert (await waiting[1]).token == begun.token
        assert (await answer_to(agent, begun.token)).text == "Again."
        assert [message.text for message in thread.messages if message.role == "user"] == ["Read!", "Again!"]

    async def test_a_run_keeps_its_newest_pieces_and_says_what_is_gone(self) -> None:
        agent = ChatAgent(ScriptedModel(["A long novel."]), name="writer")
        agent.background = ProcessBackgroundRuns(max_pieces=2)
        begun = await agent.invoke_with_background("Write!", options=BEGIN)
        assert begun.token is not None
        response = await agent.invoke_with_background(options=resume(begun.token))
        while response.status is ResponseStatus.IN_PROGRESS:
            await asyncio.sleep(0)
            response = await agent.invoke_with_background(options=resume(begun.token))
        assert response.text == "A long novel."
        with pytest.raises(PiecesGoneError, match="poll"):
            await pieces_of(agent, begun.token, 1)
        newest = await pieces_of(agent, begun.token.after(2), 10)
        assert newest[-1].done

    async def test_runs_that_have_ended_make_room_and_others_do_not(self) -> None:
        is_free = asyncio.Event()

        @tool
        async def read() -> str:
            """Read."""
            await is_free.wait()
            return "a page"

        call = ToolCall(id="1", name="read", arguments={})
        agent = ChatAgent(ScriptedModel([call, "One.", "Two."]), name="reader", tools=[read])
        agent.background = ProcessBackgroundRuns(max_runs=1)
        first = await agent.invoke_with_background("Read!", options=BEGIN)
        with pytest.raises(BackgroundSetupError, match="1 background runs"):
            await agent.invoke_with_background("More!", options=BEGIN)
        is_free.set()
        assert (await answer_to(agent, first.token)).text == "One."
        second = await agent.invoke_with_background("More!", options=BEGIN)
        assert (await answer_to(agent, second.token)).text == "Two."

    async def test_a_run_that_never_began_can_be_cancelled(self) -> None:
        agent = ChatAgent(ScriptedModel(["Hello."]), name="host")
        begun = await agent.invoke_with_background("Hi", options=BEGIN)
        assert begun.token is not None
        assert await agent.cancel_background(begun.token)
        pieces = await pieces_of(agent, begun.token, 10)
        assert [piece.response and piece.response.status for piece in pieces] == [ResponseStatus.STOPPED]


tokens = st.builds(
    ContinuationToken,
    task_id=st.text(),
    agent=st.text(),
    thread_id=st.text(),
    turn=st.text(),
    sequence=st.integers(min_value=0, max_value=2**53),
    cursor=st.integers(min_value=0, max_value=2**53),
    created_at=st.floats(allow_nan=False, allow_infinity=False),
    expires_at=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


@pytest.mark.requirement("BG01")
@given(tokens)
def test_a_token_comes_back_from_its_text(token: ContinuationToken) -> None:
    text = token.encode()
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert ContinuationToken.decode(text) == token


@given(st.text() | st.binary().map(lambda content: content.hex()))
def test_text_that_is_not_a_token_is_refused(text: str) -> None:
    with pytest.raises(ContinuationTokenError):
        ContinuationToken.decode(text)


def test_a_token_of_another_version_is_refused_with_the_field() -> None:
    token = ContinuationToken(task_id=TaskId("t"), agent="a", thread_id="x", turn="1", created_at=0.0)
    later = token.model_copy(update={"version": 2})
    with pytest.raises(ContinuationTokenError, match="version"):
        ContinuationToken.decode(later.encode())


async def test_an_input_is_in_the_thread_only_after_its_guards_have_judged_it() -> None:
    class Dying(Guard):
        async def check_input(self, messages: Sequence[ChatMessage]) -> str | None:
            raise OSError(f"the process dies before it has judged {len(messages)} messages")

    agent = ChatAgent(ScriptedModel(["Hello."]), name="host", guards=[Dying()])
    thread = agent.new_thread()
    with pytest.raises(OSError, match="dies"):
        await agent.run("Hi", thread)
    assert thread.entries == []
