"""Our models and tools for graphs of LangGraph, and tools of LangChain for our agents."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import ToolException
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command
from pydantic import BaseModel

from agentic.core.agents import ChatAgent, ToolContext, ask_person, tool
from agentic.core.llm import FunctionModel, ModelRequest, ScriptedModel, ScriptLine, ToolCall
from agentic.core.llm.errors import BadModelRequestError
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, TextPart, ThinkingPart
from agentic.plugins.langchain import AgenticChatModel, AgenticTool, LangChainTool
from agentic.plugins.langchain.messages import message_of_reply, request_parts

paid: list[tuple[int, str, str]] = []


@tool(approval="always")
async def pay(context: ToolContext, amount: int) -> dict[str, Any]:
    """Pay an amount.

    Args:
        amount: In cents.
    """
    paid.append((amount, context.call_id, context.thread_id))
    return {"paid": amount}


@tool
def price(name: str) -> int:
    """Return a price."""
    if name == "gold":
        raise ValueError("secret")
    return len(name)


def react(model: Any, *tools: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has moved to the package langchain
        return create_react_agent(
            AgenticChatModel(adapter=model), list(tools), prompt="Buy.", checkpointer=InMemorySaver()
        )


THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize("is_sync", [False, True])
async def test_an_agent_of_langgraph_has_our_model_and_our_tools(is_sync: bool) -> None:
    seen: list[ModelRequest] = []

    def reply(request: ModelRequest) -> ScriptLine:
        seen.append(request)
        done = sum(len(one.tool_results) for one in request.messages)
        return ToolCall(id=f"c{done}", name="price", arguments={"name": "tea"}) if not done else "It costs 3."

    graph = react(FunctionModel(reply), AgenticTool.of(price))
    given: Any = {"messages": [("user", "How much is tea?")]}
    ended = await (
        asyncio.to_thread(graph.invoke, given, THREAD) if is_sync else graph.ainvoke(given, THREAD)
    )
    assert [one.type for one in ended["messages"]] == ["human", "ai", "tool", "ai"]
    assert (ended["messages"][2].content, ended["messages"][3].text) == ("3", "It costs 3.")
    assert ended["messages"][3].usage_metadata["total_tokens"] > 0
    assert (seen[0].instructions, [one.name for one in seen[0].tools]) == ("Buy.", ["price"])
    assert seen[0].tools[0].parameters["properties"] == {"name": {"type": "string"}}
    assert [one.role for one in seen[1].messages] == [ChatRole.USER, ChatRole.ASSISTANT, ChatRole.TOOL]


async def test_an_approval_of_our_tool_is_an_interrupt_and_a_rejected_call_never_runs() -> None:
    paid.clear()
    lines: list[ScriptLine] = [ToolCall(id="c1", name="pay", arguments={"amount": 5}), "Done."]
    for answer, content in (
        ({"approved": False, "reason": "too much"}, "too much"),
        ({"approved": True}, "5"),
    ):
        graph = react(ScriptedModel(lines), AgenticTool.of(pay))
        asked = (await graph.ainvoke({"messages": [("user", "Pay.")]}, THREAD))["__interrupt__"][0]
        assert asked.value == {"kind": "approval", "tool": "pay", "arguments": {"amount": 5}, "call": "c1"}
        assert paid == []
        ended = await graph.ainvoke(Command(resume=answer), THREAD)
        assert content in ended["messages"][2].content
    assert paid == [(5, "c1", "t")]


async def test_an_external_tool_asks_for_its_result() -> None:
    lines: list[ScriptLine] = [ToolCall(id="c1", name="ask_person", arguments={"question": "Blue?"}), "Ok."]
    graph = react(ScriptedModel(lines), AgenticTool.of(ask_person()))
    await graph.ainvoke({"messages": [("user", "Ask.")]}, THREAD)
    ended = await graph.ainvoke(Command(resume="green"), THREAD)
    assert ended["messages"][2].content == "green"


async def test_errors_of_our_tools_reach_the_model_without_their_words() -> None:
    made = AgenticTool.of(price)
    wrong: Any = {"type": "tool_call", "id": "c1", "name": "price", "args": {"nme": "tea"}}
    broken: Any = {"type": "tool_call", "id": "c2", "name": "price", "args": {"name": "gold"}}
    found = [await made.ainvoke(wrong), await made.ainvoke(broken)]
    assert [one.status for one in found] == ["error", "error"]
    assert "name" in found[0].content
    assert found[1].content == "the tool failed with ValueError"


async def test_text_streams_in_pieces_and_calls_come_whole() -> None:
    lines: list[ScriptLine] = [ToolCall(id="c1", name="price", arguments={"name": "tea"}), "One two three."]
    model = AgenticChatModel(adapter=ScriptedModel(lines)).bind_tools([AgenticTool.of(price)])
    first = [one async for one in model.astream("Hi.")]
    whole: Any = first[0]
    for one in first[1:]:
        whole = whole + one
    assert whole.tool_calls == [{"type": "tool_call", "id": "c1", "name": "price", "args": {"name": "tea"}}]
    assert "".join([str(one.text) async for one in model.astream("Hi.")]) == "One two three."


async def test_structured_output_works_by_a_tool() -> None:
    class Verdict(BaseModel):
        good: bool

    line = ToolCall(id="c1", name="Verdict", arguments={"good": True})
    bound = AgenticChatModel(adapter=ScriptedModel([line])).with_structured_output(Verdict)
    assert await bound.ainvoke("Good?") == Verdict(good=True)


async def test_a_tool_of_a_provider_is_refused_by_its_name() -> None:
    bound = AgenticChatModel(adapter=ScriptedModel(["Hi."])).bind_tools([{"type": "web_search_preview"}])
    with pytest.raises(BadModelRequestError, match="the tool 'web_search_preview' is the provider's own"):
        await bound.ainvoke("Hi.")


def test_data_of_the_provider_goes_back_unless_the_graph_has_edited_the_message() -> None:
    from agentic.core.llm.requests import ModelReply, StopReason
    from agentic.core.llm.usage import TokenUsage

    parts = (ThinkingPart(text="hm", opaque={"signature": "s"}), TextPart(text="Yes."))
    said = ChatMessage(role=ChatRole.ASSISTANT, parts=parts)
    reply = ModelReply(message=said, usage=TokenUsage(), stop_reason=StopReason.END, model="m")
    message = message_of_reply(reply, "x:m")
    assert message.text == "Yes."
    assert request_parts([HumanMessage("?"), message], "x:m")[1][1] == said
    edited = message.model_copy(update={"content": "No."})
    assert request_parts([HumanMessage("?"), edited], "x:m")[1][1].parts == (TextPart(text="No."),)


def test_conversations_of_langchain_have_a_form_here() -> None:
    picture: Any = [
        {"type": "text", "text": "What is it?"},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    ]
    call: Any = {"type": "tool_call", "id": "c1", "name": "look", "args": {"at": 1}}
    messages = [
        SystemMessage("Be short."), HumanMessage(picture), AIMessage("", tool_calls=[call]),
        ToolMessage("a cat", tool_call_id="c1", name="look", status="error"), SystemMessage("Now answer."),
    ]  # fmt: skip
    instructions, found = request_parts(messages, "x:m")
    assert instructions == "Be short."
    assert found[0].parts == (TextPart(text="What is it?"), DataPart(media_type="image/png", data="aGk="))
    assert found[1].tool_calls == (ToolCall(id="c1", name="look", arguments={"at": 1}),)
    assert (found[2].tool_results[0].is_error, found[3].role) == (True, ChatRole.SYSTEM)


@langchain_tool
def halve(number: int) -> str:
    """Halve an even number."""
    if number % 2:
        raise ToolException("it is odd")
    return str(number // 2)


async def test_tools_of_langchain_serve_our_agents() -> None:
    calls: list[dict[str, Any]] = [{"number": 8}, {"number": 7}, {"number": "x"}]
    lines: list[ScriptLine] = [
        *(ToolCall(id=f"c{index}", name="halve", arguments=one) for index, one in enumerate(calls)),
        "Done.",
    ]
    agent = ChatAgent(ScriptedModel(lines), name="a", tools=[LangChainTool(halve)])
    reply = await agent.run("Halve.")
    results = [one for message in reply.messages for one in message.tool_results]
    assert [(one.content, one.is_error) for one in results[:2]] == [("4", False), ("it is odd", True)]
    assert results[2].is_error
    assert "number" in str(results[2].content)
