"""The contract of every place where background runs work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from agentic.core.agents import (
    AgentChunk,
    AgentResponse,
    AgentStoppedError,
    AgentThread,
    BackgroundRuns,
    ChatAgent,
    ChunkKind,
    ContinuationToken,
    ContinuationTokenError,
    InvokeOptions,
    RequestAnswer,
    ResponseStatus,
    TaskFailedError,
    TaskNotFoundError,
    ThreadBusyError,
    ThreadStore,
    tool,
)
from agentic.core.agents.agent import last_response
from agentic.core.llm import FunctionModel, ModelRequest, OverloadedError, ScriptedModel, ScriptLine, ToolCall

BEGIN = InvokeOptions(allow_background=True)
KEPT = (ChunkKind.MESSAGE, ChunkKind.TOOL_FINISHED, ChunkKind.REQUEST, ChunkKind.FINISHED)
"""Pieces that every place keeps."""

Place = Callable[[ChatAgent[Any]], BackgroundRuns]
"""Makes the place of an agent's runs."""


class PriceCheck(BaseModel):
    """An answer with a type."""

    is_bargain: bool


def resume(token: ContinuationToken | None) -> InvokeOptions:
    """Return the options that continue with a token, after it was sent somewhere as text."""
    assert token is not None
    return InvokeOptions(continuation_token=ContinuationToken.decode(token.encode()))


async def pieces_of(agent: ChatAgent[Any], token: ContinuationToken | None, count: int) -> list[AgentChunk]:
    """Return the next pieces, at most ``count``, as a reader does that is then cut off."""
    found: list[AgentChunk] = []
    stream = agent.invoke_stream_with_background(options=resume(token))
    async for piece in stream:
        found.append(piece)
        if len(found) == count:
            break
    await stream.aclose()  # type: ignore[attr-defined]  # an async generator
    return found


async def answer_to(agent: ChatAgent[Any], token: ContinuationToken | None) -> AgentResponse[Any]:
    """Wait for the end of a run, and return its answer by another call."""
    await last_response(agent.invoke_stream_with_background(options=resume(token)))
    return await agent.invoke_with_background("", options=resume(token))


class BackgroundRunsContract:
    """Inherit it, and define the fixtures ``place`` and ``store``."""

    @pytest.fixture
    def place(self) -> Place:
        """Return the place to test."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> ThreadStore:
        """Return a store that the place reaches."""
        raise NotImplementedError

    @pytest.fixture
    def make(self, place: Place, store: ThreadStore) -> Callable[..., ChatAgent[Any]]:
        """Return the maker of agents that work there."""

        def make(*lines: ScriptLine, **options: Any) -> ChatAgent[Any]:  # noqa: ANN401  # of the agent
            agent: ChatAgent[Any] = ChatAgent(ScriptedModel(lines), name="writer", store=store, **options)
            agent.background = place(agent)
            return agent

        return make

    async def test_a_call_returns_at_once_and_its_token_gives_the_answer(
        self, make: Callable[..., ChatAgent[Any]]
    ) -> None:
        may_end = asyncio.Event()

        @tool
        async def read() -> str:
            """Read."""
            await may_end.wait()
            return "a page"

        agent = make(ToolCall(id="1", name="read", arguments={}), "A novel.", tools=[read])
        begun = await agent.invoke_with_background("Write!", options=BEGIN)
        assert (begun.status, begun.text) == (ResponseStatus.IN_PROGRESS, "")
        with pytest.raises(ValueError, match="in_progress"):
            _ = begun.output
        still = await agent.invoke_with_background("", options=resume(begun.token))
        assert (still.status, still.turn, still.token) == (
            ResponseStatus.IN_PROGRESS,
            begun.turn,
            begun.token,
        )
        may_end.set()
        answer = await answer_to(agent, still.token)
        assert (answer.status, answer.text, answer.output) == (
            ResponseStatus.COMPLETE,
            "A novel.",
            "A novel.",
        )
        assert (answer.token, answer.turn, answer.usage.tool_calls) == (None, begun.turn, 1)
        assert [str(message.role) for message in answer.messages] == ["assistant", "tool", "assistant"]

    async def test_a_reader_that_is_cut_anywhere_gets_each_piece_once(
        self, make: Callable[..., ChatAgent[Any]]
    ) -> None:
        @tool
        async def count(number: int) -> int:
            """Count."""
            return number

        calls = [ToolCall(id=f"c{n}", name="count", arguments={"number": n}) for n in range(4)]
        agent = make(*calls, "Done.", tools=[count])
        begun = await agent.invoke_with_background("Count!", options=BEGIN)
        whole = await pieces_of(agent, begun.token, 1_000)
        for size in range(1, len(whole)):
            found: list[AgentChunk] = []
            token = begun.token
            while not (found and found[-1].done):
                part = await pieces_of(agent, token, size)
                found += part
                token = part[-1].token
            assert [one.sequence for one in found] == [one.sequence for one in whole]
            assert [one.kind for one in found] == [one.kind for one in whole]
        kinds = [one.kind for one in whole if one.kind in KEPT]
        assert kinds == [ChunkKind.MESSAGE, ChunkKind.TOOL_FINISHED] * 4 + [
            ChunkKind.MESSAGE,
            ChunkKind.FINISHED,
        ]
        assert await pieces_of(agent, whole[-1].token, 1) == []
        assert whole[-1].response is not None
        assert whole[-1].response.text == "Done."

    async def test_an_answer_has_the_type_of_the_agent(self, make: Callable[..., ChatAgent[Any]]) -> None:
        agent = make('{"is_bargain": true}', output_type=PriceCheck, structured="native")
        begun = await agent.invoke_with_background("Is it?", options=BEGIN)
        assert (await answer_to(agent, begun.token)).output == PriceCheck(is_bargain=True)

    async def test_the_thread_of_the_caller_goes_on(self, place: Place, store: ThreadStore) -> None:
        def reply(request: ModelRequest) -> ScriptLine:
            return f"You said {[one.text for one in request.messages if one.role == 'user']}."

        agent = ChatAgent(FunctionModel(reply), name="writer", store=store)
        agent.background = place(agent)
        thread = agent.new_thread()
        await agent.run("I am Ada.", thread)
        begun = await agent.invoke_with_background("Who am I?", thread, BEGIN)
        await answer_to(agent, begun.token)
        answer = await agent.invoke_with_background("", thread, resume(begun.token))
        assert answer.text == "You said ['I am Ada.', 'Who am I?']."
        assert [message.text for message in thread.messages][2:] == ["Who am I?", answer.text]
        assert (await agent.run("And now?", thread)).text.endswith("'And now?'].")

    async def test_a_run_that_fails_says_why_and_its_turn_can_continue(
        self, make: Callable[..., ChatAgent[Any]], store: ThreadStore
    ) -> None:
        agent = make(OverloadedError("a:b", "busy"), "Better now.")
        begun = await agent.invoke_with_background("Hello", options=BEGIN)
        with pytest.raises(TaskFailedError, match="busy"):
            await last_response(agent.invoke_stream_with_background(options=resume(begun.token)))
        with pytest.raises(TaskFailedError, match="busy"):
            await agent.invoke_with_background("", options=resume(begun.token))
        thread = await AgentThread.load(begun.thread_id, store)
        answer = await agent.run((), thread)
        assert (answer.text, answer.turn) == ("Better now.", begun.turn)

    async def test_a_cancelled_run_stops_and_its_turn_can_continue(
        self, make: Callable[..., ChatAgent[Any]], store: ThreadStore
    ) -> None:
        begins, is_free = asyncio.Event(), asyncio.Event()

        @tool
        async def read() -> str:
            """Read."""
            begins.set()
            await is_free.wait()
            return "a page"

        agent = make(ToolCall(id="1", name="read", arguments={}), "Read.", tools=[read])
        begun = await agent.invoke_with_background("Read!", options=BEGIN)
        assert begun.token is not None
        await begins.wait()
        assert await agent.cancel_background(begun.token, "no longer needed")
        with pytest.raises(AgentStoppedError, match="no longer needed"):
            await answer_to(agent, begun.token)
        assert not await agent.cancel_background(begun.token)
        is_free.set()
        answer = await agent.run((), await AgentThread.load(begun.thread_id, store))
        assert (answer.text, answer.turn) == ("Read.", begun.turn)

    async def test_requests_are_in_the_answer_and_another_run_takes_the_answers(
        self, make: Callable[..., ChatAgent[Any]], store: ThreadStore
    ) -> None:
        done: list[str] = []

        @tool(approval="always")
        async def buy(thing: str) -> str:
            """Buy a thing."""
            done.append(thing)
            return "bought"

        agent = make(ToolCall(id="1", name="buy", arguments={"thing": "tea"}), "Bought.", tools=[buy])
        begun = await agent.invoke_with_background("Buy tea", options=BEGIN)
        waits = await answer_to(agent, begun.token)
        assert (waits.status, done) == (ResponseStatus.NEEDS_INPUT, [])
        thread = await AgentThread.load(begun.thread_id, store)
        with pytest.raises(ThreadBusyError):
            await agent.invoke_with_background("Hurry", thread, BEGIN)
        yes = RequestAnswer(request_id=waits.pending[0].id, approved=True)
        second = await agent.invoke_with_background(yes, thread, BEGIN)
        assert second.turn == begun.turn
        seen = await pieces_of(agent, second.token, 1_000)
        kinds = [one.kind for one in seen if one.kind in KEPT]
        assert kinds == [ChunkKind.TOOL_FINISHED, ChunkKind.MESSAGE, ChunkKind.FINISHED]
        assert ((await answer_to(agent, second.token)).text, done) == ("Bought.", ["tea"])

    async def test_one_key_is_one_run(self, make: Callable[..., ChatAgent[Any]]) -> None:
        agent = make("Once.")
        thread = agent.new_thread()
        options = InvokeOptions(allow_background=True, idempotency_key="order 7/a")
        first = await agent.invoke_with_background("Write!", thread, options)
        await answer_to(agent, first.token)
        again = await agent.invoke_with_background("Write!", thread, options)
        assert (await answer_to(agent, again.token)).text == "Once."
        assert first.token is not None
        assert again.token is not None
        assert first.token.task_id == again.token.task_id
        assert len(thread.messages) == 2

    async def test_tokens_that_do_not_fit_are_refused(self, make: Callable[..., ChatAgent[Any]]) -> None:
        agent = make("Hello.")
        begun = await agent.invoke_with_background("Hi", options=BEGIN)
        assert begun.token is not None
        unknown = begun.token.model_copy(update={"task_id": "gone"})
        with pytest.raises(TaskNotFoundError, match="gone"):
            await agent.invoke_with_background(options=resume(unknown))
        with pytest.raises(TaskNotFoundError, match="gone"):
            await pieces_of(agent, unknown, 1)
        with pytest.raises(TaskNotFoundError, match="gone"):
            await agent.cancel_background(unknown)
        other = begun.token.model_copy(update={"agent": "reader"})
        with pytest.raises(ContinuationTokenError, match="'reader'"):
            await agent.invoke_with_background(options=resume(other))
        late = begun.token.model_copy(update={"expires_at": begun.token.created_at - 60.0})
        with pytest.raises(ContinuationTokenError, match="expired"):
            await agent.invoke_with_background(options=resume(late))
        with pytest.raises(ContinuationTokenError, match="earlier input"):
            await agent.invoke_with_background("more", options=resume(begun.token))
        with pytest.raises(ContinuationTokenError, match="thread"):
            await agent.invoke_with_background("", agent.new_thread(), resume(begun.token))
        assert (await answer_to(agent, begun.token)).text == "Hello."

    async def test_two_readers_get_the_same(self, make: Callable[..., ChatAgent[Any]]) -> None:
        agent = make("Hello.")
        begun = await agent.invoke_with_background("Hi", options=BEGIN)
        one, other = await asyncio.gather(
            pieces_of(agent, begun.token, 1_000), pieces_of(agent, begun.token, 1_000)
        )
        assert [(piece.sequence, piece.kind) for piece in one] == [
            (piece.sequence, piece.kind) for piece in other
        ]
