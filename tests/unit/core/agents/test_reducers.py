"""Reducers: pairs stay whole, system and task stay, and the budget is met."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.agents import (
    AgentThread,
    ChainReducer,
    ChatAgent,
    ChatReducer,
    MessageCountingReducer,
    NoOpReducer,
    SlidingWindowReducer,
    SummarizingReducer,
    TokenCountingReducer,
)
from agentic.core.agents.conversation import groups_of, well_formed
from agentic.core.agents.reducers.choosing import kept_always
from agentic.core.agents.reducers.reducer import keep_nothing
from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    FunctionModel,
    ModelRequest,
    OverloadedError,
    ScriptedModel,
    ToolCall,
    ToolResult,
)
from agentic.core.types import JSONValue


@st.composite
def conversations(draw: st.DrawFn) -> list[ChatMessage]:
    """Return the messages of a conversation, with calls without results and results without calls, too."""
    found: list[ChatMessage] = []
    for number in range(draw(st.integers(min_value=0, max_value=30))):
        text = draw(st.text(max_size=200))
        match draw(st.sampled_from(["user", "user", "assistant", "calls", "system", "stray"])):
            case "user":
                found.append(ChatMessage.user(text))
            case "assistant":
                found.append(ChatMessage.assistant(text or "x"))
            case "system":
                found.append(ChatMessage.system(text))
            case "stray":
                found.append(ChatMessage.tool(ToolResult(call_id=f"gone{number}", name="t", content=text)))
            case _:
                ids = [f"c{number}_{index}" for index in range(draw(st.integers(1, 3)))]
                found.append(ChatMessage.assistant(text, *(ToolCall(id=one, name="t") for one in ids)))
                found += [
                    ChatMessage.tool(ToolResult(call_id=one, name="t", content=text))
                    for one in ids[: draw(st.integers(0, len(ids)))]
                ]
    return [message.model_copy(update={"id": str(number)}) for number, message in enumerate(found)]


def reducers(limit: int) -> list[ChatReducer]:
    return [
        MessageCountingReducer(limit),
        TokenCountingReducer(limit * 10),
        SlidingWindowReducer(limit, max_important=2, is_important=lambda one: "a" in one.text),
        ChainReducer(SlidingWindowReducer(limit + 3), MessageCountingReducer(limit)),
        SummarizingReducer(FunctionModel(lambda _: "in short"), max_tokens=limit * 10),
        SummarizingReducer(FunctionModel(lambda _: OverloadedError("a:b", "busy")), max_tokens=limit * 10),
    ]


@pytest.mark.requirement("RE01", "RE02", "RE03", "RE04", "RE05")
@given(said=conversations(), limit=st.integers(min_value=1, max_value=40))
async def test_pairs_stay_whole_system_and_task_stay_and_the_rest_fits(
    said: list[ChatMessage], limit: int
) -> None:
    messages = well_formed(said)
    groups = groups_of(messages)
    always = [message for index in sorted(kept_always(groups)) for message in groups[index]]
    for reducer in reducers(limit):
        if not reducer.needs_reduction(messages):
            continue
        short = list(await reducer.reduce(messages, keep_nothing))
        assert short == list(await reducer.reduce(messages, keep_nothing))
        assert well_formed(short) == short  # calls have their results, results their calls
        assert [one for one in short if one in always] == always
        if reducer.needs_reduction(short):
            assert [one for one in short if one not in always] == []
        others = [one for one in short if one.role is not ChatRole.SYSTEM]
        if any(one.role is ChatRole.USER for one in messages):
            assert others[0].role is ChatRole.USER


async def test_important_messages_outlive_newer_ones() -> None:
    said = [ChatMessage.user(str(number)) for number in range(20)]
    said[3] = said[3].model_copy(update={"meta": {"important": True}})
    short = await SlidingWindowReducer(4, max_important=1).reduce(said, keep_nothing)
    assert [one.text for one in short] == ["3", "16", "17", "18", "19"]


@pytest.mark.requirement("RE06")
async def test_nothing_is_reduced_without_a_reducer() -> None:
    assert not NoOpReducer().needs_reduction([ChatMessage.user("x")] * 1000)
    for make in (MessageCountingReducer, TokenCountingReducer, SlidingWindowReducer):
        with pytest.raises(ValueError, match="is 0, but must be at least 1"):
            make(0)


async def test_an_agent_sends_short_requests_and_its_thread_keeps_everything() -> None:
    sizes: list[int] = []

    def count(request: ModelRequest) -> str:
        sizes.append(len(request.messages))
        return "ok"

    agent = ChatAgent(FunctionModel(count), reducer=MessageCountingReducer(5))
    thread = agent.new_thread()
    for number in range(10):
        await agent.run(f"question {number}", thread)
    assert max(sizes) == 5
    assert len(thread.messages) == 20


async def test_a_summary_is_made_once_and_kept_in_the_thread() -> None:
    asked: list[ModelRequest] = []

    def summarize(request: ModelRequest) -> str:
        asked.append(request)
        return f"summary {len(asked)}"

    model = ScriptedModel.repeating("an answer of a few words", times=60)

    def agent() -> ChatAgent[str]:
        reducer = SummarizingReducer(FunctionModel(summarize), max_tokens=400)
        return ChatAgent(model, reducer=reducer)

    thread = agent().new_thread()
    for number in range(30):
        await agent().run(f"question {number} with a few words", thread)
    made = len(asked)
    assert made >= 1
    texts = [one.text for one in model.requests[-1].messages]
    assert any("Summary of the earlier conversation:\nsummary" in text for text in texts)
    assert "question 29 with a few words" in texts
    restored = AgentThread.deserialize(thread.serialize())
    before = len(model.requests)
    await agent().run("one more", restored)
    assert len(asked) - made <= 1
    assert len(model.requests) == before + 1
    assert len({request.digest for request in asked}) == len(asked)


async def test_a_failing_summary_does_not_end_the_conversation() -> None:
    def fail(_: ModelRequest) -> OverloadedError:
        return OverloadedError("a:b", "busy")

    model = ScriptedModel.repeating("an answer of a few words", times=40)
    agent = ChatAgent(model, reducer=SummarizingReducer(FunctionModel(fail), max_tokens=200))
    thread = agent.new_thread()
    for number in range(40):
        assert (await agent.run(f"question {number} with a few words", thread)).text
    assert len(model.requests[-1].messages) < 20


Effect = Callable[[], Awaitable[JSONValue]]


async def test_the_same_beginning_is_summarized_the_same_way() -> None:
    keys: list[str] = []

    async def keep(key: str, effect: Effect) -> JSONValue:
        keys.append(key)
        return await effect()

    reducer = SummarizingReducer(FunctionModel(lambda _: "in short"), max_tokens=300)
    said: Sequence[ChatMessage] = [ChatMessage.user(f"message {number} " * 5) for number in range(40)]
    await reducer.reduce(said, keep)
    first = list(keys)
    keys.clear()
    await reducer.reduce([*said, ChatMessage.user("one more")], keep)
    assert keys[: len(first) - 1] == first[:-1]
