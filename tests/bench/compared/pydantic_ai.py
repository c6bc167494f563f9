"""Rows of pydantic-ai: ``python -m tests.bench.compared pydantic_ai``, in an environment of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from tests.bench.compared.rows import SERVER, names_in, show

ai: Any = import_module("pydantic_ai")
messages: Any = import_module("pydantic_ai.messages")
functions: Any = import_module("pydantic_ai.models.function")

Reply = Callable[[list[Any], Any], Any]
WORDS = "word " * 100


def _agent(name: str, reply: Reply | str, **more: Any) -> tuple[Any, list[list[Any]]]:
    requests: list[list[Any]] = []

    def say(said: list[Any], info: Any) -> Any:
        requests.append(list(said))
        part = reply(said, info) if callable(reply) else messages.TextPart(reply)
        return messages.ModelResponse([part])

    return ai.Agent(functions.FunctionModel(say), name=name, **more), requests


def _calls(tool: str, then: str, **arguments: str) -> Reply:
    def reply(said: list[Any], _: Any) -> Any:
        is_done = any(part.part_kind == "tool-return" for part in said[-1].parts)
        return messages.TextPart(then) if is_done else messages.ToolCallPart(tool, arguments)

    return reply


def _broken(*_: Any) -> Any:
    raise RuntimeError("the model is down")


async def sequence() -> str:
    first, _ = _agent("a", "one")
    second, requests = _agent("b", "two")
    result = await first.run("start")
    await second.run("Go on.", message_history=result.all_messages())
    assert len(requests[0]) == 3
    return "by code: all_messages() of a result is the message_history of the next run"


async def early_end_of_a_sequence() -> str:
    agent, _ = _agent("a", "one")
    return f"by code: the sequence is yours, {(await agent.run('start')).output!r} decides"


async def concurrent_with_an_aggregator() -> str:
    runs = [_agent(name, name)[0].run("start") for name in "ab"]
    assert [one.output for one in await asyncio.gather(*runs)] == ["a", "b"]
    return "by code: asyncio.gather"


async def one_concurrent_participant_fails() -> str:
    runs = [_agent("a", reply)[0].run("start") for reply in ("one", _broken)]
    found: list[Any] = await asyncio.gather(*runs, return_exceptions=True)
    good, bad = found
    assert (good.output, str(bad)) == ("one", "the model is down")
    return "by code: asyncio.gather(return_exceptions=True)"


def group_chat() -> str:
    assert not names_in("pydantic_ai", "group", "chat")
    return "no class or function of this name"


async def choice_of_the_speaker() -> str:
    cast = {name: _agent(name, name)[0] for name in "ab"}
    assert (await cast["b"].run("start")).output == "b"
    return "by code: a function of yours names the agent of the next run"


def _go_on() -> str:
    """Go on."""
    return "more"


async def end_of_a_chat() -> str:
    limits: Any = import_module("pydantic_ai.usage").UsageLimits(request_limit=3)
    endless, _ = _agent("a", lambda *_: messages.ToolCallPart("_go_on", {}), tools=[_go_on])
    with suppress(ai.UsageLimitExceeded):
        await endless.run("start", usage_limits=limits)
        raise AssertionError
    return f"usage_limits of a run: {ai.UsageLimitExceeded.__name__}"


def _mesh() -> tuple[Any, list[list[Any]], list[list[Any]]]:
    second, later = _agent("refund", "paid")

    async def refund(reason: str) -> str:
        """Pass the customer on."""
        return str((await second.run(reason)).output)

    refund.__annotations__ = {"reason": str, "return": str}

    def reply(_: Any, info: Any) -> Any:
        (tool,) = info.output_tools
        return messages.ToolCallPart(tool.name, {"reason": "broken"})

    first, sooner = _agent("triage", reply, output_type=refund)
    return first, sooner, later


async def handoff() -> str:
    first, _, _ = _mesh()
    assert (await first.run("refund me")).output == "paid"
    return "an output function that runs the other agent"


async def requests_to_models_for_a_handoff_and_an_answer() -> str:
    first, sooner, later = _mesh()
    await first.run("refund me")
    assert len(sooner) + len(later) == 2
    return str(len(sooner) + len(later))


def _ask_person() -> str:
    """Ask a person."""
    raise ai.CallDeferred


async def handoff_to_a_person() -> str:
    output = [str, ai.DeferredToolRequests]
    agent, _ = _agent("a", _calls("_ask_person", "done"), tools=[_ask_person], output_type=output)
    asked = await agent.run("start")
    (call,) = asked.output.calls
    answers = asked.output.build_results(calls={call.tool_call_id: "Ask Ann."})
    result = await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)
    assert (result.output, result.new_messages()[0].parts[0].content) == ("done", "Ask Ann.")
    return "a deferred tool: the person's answer comes with the next run"


def planner_with_a_ledger() -> str:
    assert not [*names_in("pydantic_ai", "magentic"), *names_in("pydantic_ai", "planner")]
    return "no class or function of this name"


def _work(plan: str) -> str:
    """Work by a plan."""
    return f"worked by {plan}"


async def a_person_reviews_the_plan() -> str:
    tools, output = [ai.Tool(_work, requires_approval=True)], [str, ai.DeferredToolRequests]
    agent, requests = _agent("a", _calls("_work", "done", plan="search"), tools=tools, output_type=output)
    asked = await agent.run("start")
    (call,) = asked.output.approvals
    approved = ai.ToolApproved(override_args={"plan": "reading"})
    answers = asked.output.build_results(approvals={call.tool_call_id: approved})
    await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)
    assert requests[-1][-1].parts[0].content == "worked by reading"
    return "a tool that requires approval, whose argument is the plan; it can be changed"


def _delegating(inner: Any) -> Any:
    async def ask() -> str:
        """Ask the other agent."""
        return str((await inner.run("start")).output)

    return _agent("outer", _calls("ask", "done"), tools=[ask])[0]


async def a_member_of_the_team_fails() -> str:
    with suppress(RuntimeError):
        await _delegating(_agent("inner", _broken)[0]).run("start")
        raise AssertionError
    return "the run of the caller fails"


async def participants() -> str:
    inner, _ = _agent("inner", _calls("_go_on", "one"), tools=[_go_on])
    assert (await _delegating(inner).run("start")).output == "done"
    return "functions as tools; agents in functions"


async def a_pattern_as_an_agent() -> str:
    inner, requests = _agent("inner", "one")
    assert (await _delegating(inner).run("start")).output == "done"
    assert len(requests) == 1
    return "by code: a tool of yours runs it"


async def _stored_chat(turns: int) -> tuple[Any, str, int]:
    """Return the store of a chat, its key in it, and the bytes of the entries that the store was given."""
    store = import_module("pydantic_ai.conversation_store").InMemoryConversationStore()
    conversation: Any = None
    stored = 0
    for turn in range(turns):
        agent, _ = _agent("ab"[turn % 2], WORDS)
        result = await agent.run("Go on.", conversation=conversation)
        entries = await store.save(result)
        stored += len(messages.ModelMessagesTypeAdapter.dump_json([one.message for one in entries]))
        conversation = result.conversation
    return store, str(conversation.conversation_id), stored


async def stored_and_resumed() -> str:
    store, key, _ = await _stored_chat(2)
    agent, requests = _agent("c", "three")
    await agent.run("Go on.", conversation=await store.load(key))
    assert len(requests[0]) == 5
    return "conversations between runs: ConversationStore, of which the library has one in memory"


async def bytes_stored_by_a_chat() -> str:
    short, long = [(await _stored_chat(turns))[2] for turns in (10, 40)]
    return f"10 turns: {short / 1e3:,.0f} kB; 40 turns: {long / 1e3:,.0f} kB, {long / short:.1f} times"


async def a_chat_of_100_turns() -> str:
    def reply(said: list[Any], _: Any) -> Any:
        is_last = len(said) == 199
        return messages.TextPart("done") if is_last else messages.ToolCallPart("_go_on", {})

    agent, _ = _agent("a", reply, tools=[_go_on])
    with suppress(ai.UsageLimitExceeded):
        await agent.run("start")
        raise AssertionError
    assert (await agent.run("start", usage_limits=ai.UsageLimits(request_limit=100))).output == "done"
    return "with a higher request_limit"


def picture() -> str:
    return f"mermaid of pydantic-graph: {', '.join(names_in('pydantic_graph', 'mermaid')[:2])}"


async def tools_of_mcp_servers() -> str:
    transport: Any = import_module("fastmcp.client.transports").StdioTransport(SERVER[0], SERVER[1:])
    async with import_module("pydantic_ai.mcp").MCPToolset(transport) as toolset:
        names = [one.name for one in await toolset.list_tools()]
    assert names == ["add"]
    return f"MCPToolset has {names}"


async def served_to_mcp_clients() -> str:
    async def ask(question: str) -> str:
        """Ask the agent."""
        return str((await _agent("helper", "one")[0].run(question)).output)

    server = import_module("mcp.server.mcpserver").MCPServer("helper")
    server.add_tool(ask)
    async with import_module("mcp").Client(server) as client:
        result = await client.call_tool("ask", {"question": "Who?"})
    assert result.content[0].text == "one"
    return "a tool of yours, in the server of the official library"


def a2a_server() -> str:
    assert not hasattr(ai.Agent, "to_a2a")
    app = import_module("fasta2a.pydantic_ai").agent_to_a2a(_agent("helper", "one")[0])
    return f"agent_to_a2a of fasta2a makes a {type(app).__name__}"


def agent_behind_a2a() -> str:
    assert not names_in("pydantic_ai", "a2a")
    (client,) = names_in("fasta2a", "a2aclient")
    return f"{client} of fasta2a, in a tool of yours"


def ag_ui() -> str:
    adapter: Any = import_module("pydantic_ai.ui.ag_ui").AGUIAdapter
    assert hasattr(adapter, "dispatch_request")
    return "AGUIAdapter"


def graphs_of_langgraph() -> str:
    assert not names_in("pydantic_ai", "langgraph")
    return (
        f"no class or function of this name; for LangChain: {', '.join(names_in('pydantic_ai', 'langchain'))}"
    )


if __name__ == "__main__":
    show(dict(vars(sys.modules[__name__])), "pydantic-ai-slim", "pydantic-graph", "fasta2a")
