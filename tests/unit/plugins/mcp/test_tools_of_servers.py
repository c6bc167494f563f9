"""Tools of MCP servers as tools of agents, by the official SDK's server."""

from __future__ import annotations

import sys
from typing import Any, cast

import pytest
from mcp import types
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from structlog.testing import capture_logs
from tests.unit.plugins.mcp.servers import SIZES, Shop, text

from agentic.core.agents import (
    AgentResponse,
    AgentThread,
    ChatAgent,
    RequestAnswer,
    RequestKind,
    ResponseStatus,
    ToolDefinitionError,
)
from agentic.core.llm import ScriptedModel, ToolCall, ToolResult
from agentic.plugins.mcp import McpToolset
from agentic.plugins.mcp.client.errors import McpProtocolError

MODES = pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])


class Conversation:
    """An agent that calls one tool of the shop, restored in a new process for each answer."""

    def __init__(self, shop: Shop, tool: str, **facts: Any) -> None:
        self.shop, self.facts = shop, facts
        self.script: list[Any] = [[ToolCall(id="1", name=tool, arguments={"item": "tea"})], "done"]
        self.thread: AgentThread | None = None

    async def run(self, given: Any = "go") -> AgentResponse[Any]:
        async with McpToolset(self.shop.server(), **self.facts) as tools:
            agent = ChatAgent(ScriptedModel(self.script), tools=[tools])
            self.thread = (
                agent.new_thread()
                if self.thread is None
                else AgentThread.deserialize(self.thread.serialize())
            )
            response = await agent.run(given, self.thread)
        self.script = ["done"]
        return response

    async def answer(self, response: AgentResponse[Any], **answer: Any) -> AgentResponse[Any]:
        (request,) = response.pending
        return await self.run(RequestAnswer(request_id=request.id, **answer))

    @property
    def result(self) -> ToolResult:
        assert self.thread is not None
        return [one for message in self.thread.messages for one in message.tool_results][-1]


@MODES
@pytest.mark.requirement("AG23")
async def test_an_agent_calls_the_tools_of_a_server_of_each_protocol(mode: str) -> None:
    talk = Conversation(Shop(), "shop_price", name="shop", mode=mode)
    assert (await talk.run()).text == "done"
    assert talk.result.content == "3.50"
    ((tool, arguments, key),) = talk.shop.calls
    assert (tool, arguments) == ("price", {"item": "tea"})
    assert key.endswith(":tool.1.0")


async def test_tools_are_chosen_renamed_and_sorted_over_all_pages() -> None:
    server = Shop().server()
    everything = McpToolset(server, name="shop")
    assert [one.name for one in await everything.tools()] == sorted(
        f"shop_{name}" for name in ("price", "order", "send", "wait", "fail", "rows")
    )
    some = McpToolset(server, only=["price", "order"], rename={"price": "cost_of"})
    assert [one.name for one in await some.tools()] == ["cost_of", "order"]
    fewer = McpToolset(server, without=["fail", "wait", "send", "rows"])
    assert [one.name for one in await fewer.tools()] == ["order", "price"]
    rules: list[dict[str, Any]] = [
        {"only": ["prize"]},
        {"without": ["prize"]},  # else a wrong letter gives the model a tool that it must not have
        {"approval": {"prize": "always"}},
    ]
    for odd in (McpToolset(server, **rule) for rule in rules):
        with pytest.raises(ToolDefinitionError, match=r"no tool 'prize'.*it has: fail, order, price"):
            await odd.tools()
    for one in (everything, some, fewer):
        await one.aclose()
    for rule in ("write", True, {"price": "yes"}):
        with pytest.raises(
            ToolDefinitionError, match=r"the approval of the MCP server .* use one of: never, always"
        ):
            McpToolset(server, approval=cast(Any, rule))


async def test_names_that_models_cannot_say_get_names_of_their_own() -> None:
    shop = Shop(tools=["a.b", "a/b", "x" * 100])
    async with McpToolset(shop.server()) as tools:
        names = [one.name for one in await tools.tools()]
    assert len(set(names)) == 3
    assert all(len(name) <= 64 and name.startswith(("a_b_", "xxx")) for name in names)


@pytest.mark.parametrize(
    ("rule", "asks"), [("never", False), ("always", True), ("writes", True), ({"order": "always"}, True)]
)
async def test_calls_wait_for_an_approval_by_the_rule(rule: Any, asks: bool) -> None:
    talk = Conversation(Shop(), "order", approval=rule)
    response = await talk.run()
    assert (response.pending[0].kind is RequestKind.APPROVAL) is asks
    assert bool(talk.shop.calls) is not asks
    reading = Conversation(Shop(), "price", approval=rule)
    assert bool((await reading.run()).pending) is (rule == "always")


@pytest.mark.parametrize("answer", ['{"size": 3}', "3", {"size": 3}])
async def test_a_question_of_a_server_is_a_request_that_any_process_answers(answer: Any) -> None:
    talk = Conversation(Shop(), "order")
    response = await talk.run()
    assert response.status is ResponseStatus.NEEDS_INPUT
    (request,) = response.pending
    assert request.kind is RequestKind.INFO
    assert request.question == "shop: Which size? (size: integer)"
    assert isinstance(request.data, dict)
    assert request.data["schema"] == {
        "type": "object",
        "properties": {"size": {"type": "integer", "minimum": 1}},
        "required": ["size"],
    }
    assert (await talk.answer(response, result=answer)).text == "done"
    assert talk.result.content == "half: accept 3"
    assert len({key for _, _, key in talk.shop.calls}) == 1


async def test_a_declined_question_is_declined_at_the_server() -> None:
    talk = Conversation(Shop(), "order")
    await talk.answer(await talk.run(), approved=False)
    assert talk.result.content == "half: decline None"


async def test_an_answer_that_does_not_fit_the_form_is_not_sent() -> None:
    talk = Conversation(Shop(), "order")
    await talk.answer(await talk.run(), result="-1")
    assert talk.result.is_error
    assert talk.result.content == (
        "the answer of the person does not fit the form: size: -1 is less than the minimum of 1"
    )
    assert not talk.shop.answers


class Asking:
    """A server with a handshake, whose tool asks twice in the middle of a call."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def server(self) -> Server[Any]:
        return Server("shop", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, *_: object) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"item": {"type": "string"}}}
        return types.ListToolsResult(tools=[types.Tool(name="order", input_schema=schema)])

    async def _call(self, context: Any, _: object) -> types.CallToolResult:
        for _number in range(2):
            answer = await context.session.elicit_form("Which size?", SIZES)
            self.said.append((answer.action, answer.content))
        return text("ordered")


async def test_a_question_in_the_middle_of_a_call_is_a_request_that_this_process_answers() -> None:
    shop = Asking()
    async with McpToolset(shop.server(), mode="legacy") as tools:
        call = ToolCall(id="1", name="order", arguments={"item": "tea"})
        agent = ChatAgent(ScriptedModel([[call], "done"]), tools=[tools])
        thread = agent.new_thread()
        response = await agent.run("go", thread)
        for number in range(2):
            (request,) = response.pending
            assert request.question == "shop: Which size? (size: integer)"
            answer = RequestAnswer(request_id=request.id, result="3", approved=number == 0)
            response = await agent.run(answer, thread)
    assert response.text == "done"
    assert shop.said == [("accept", {"size": 3}), ("decline", None)]
    assert thread.messages[-2].tool_results[0].content == "ordered"


async def test_a_call_that_waited_on_a_connection_of_another_process_fails_in_words() -> None:
    talk = Conversation(cast(Shop, Asking()), "order", mode="legacy")
    response = await talk.run()
    assert (await talk.answer(response, result="3")).text == "done"
    assert talk.result.is_error
    assert str(talk.result.content).endswith("ended without a result; call the tool again")


async def test_rounds_without_questions_end_with_the_result() -> None:
    talk = Conversation(Shop(), "wait")
    assert (await talk.run()).text == "done"
    assert talk.result.content == "waited"


async def test_a_call_that_becomes_a_task_is_asked_for_until_it_ends() -> None:
    talk = Conversation(Shop(polls=3), "send")
    assert (await talk.run()).text == "done"
    assert talk.result.content == "arrived"
    assert len(talk.shop.calls) == 1
    assert talk.shop.asked == 3


async def test_a_task_is_in_the_thread_so_another_process_asks_for_it_and_calls_nothing_again() -> None:
    talk = Conversation(Shop(polls=2), "send")
    await talk.run()
    assert talk.thread is not None
    entries = talk.thread.entries
    cut = next(number for number, entry in enumerate(entries) if entry.paused) + 1
    assert entries[cut - 1].paused["1"].pause.state == {"task": "t1"}
    talk.thread = AgentThread(talk.thread.metadata, entries=entries[:cut])
    assert (await talk.run(())).text == "done"
    assert talk.result.content == "arrived"
    assert len(talk.shop.calls) == 1


async def test_a_question_of_a_task_is_a_request_and_asked_once() -> None:
    talk = Conversation(Shop(polls=2, asks_midway=True), "send")
    response = await talk.run()
    assert [one.question for one in response.pending] == ["shop: Which size? (size: integer)"]
    assert (await talk.answer(response, result="4")).text == "done"
    assert talk.result.content == "arrived"
    (answer,) = talk.shop.answers
    assert answer.content == {"size": 4}


async def test_failures_and_structured_results_reach_the_model_as_they_are() -> None:
    failing = Conversation(Shop(), "fail")
    await failing.run()
    assert (failing.result.content, failing.result.is_error) == ("no such item", True)
    rows = Conversation(Shop(), "rows")
    await rows.run()
    assert rows.result.content == [{"item": "a", "price": 1}, {"item": "b", "price": 2}]


async def test_secrets_of_the_connection_are_in_no_result() -> None:
    talk = Conversation(Shop(says="the key is s3cret-value"), "price", secrets=["s3cret-value"])
    await talk.run()
    assert talk.result.content == "the key is ***"


async def _answer(*_: object) -> types.CallToolResult:
    return text("x" * 5_000_000)


async def test_servers_that_lie_are_refused_in_words() -> None:
    async def endless(*_: object) -> types.ListToolsResult:
        schema: dict[str, Any] = {"type": "object"}
        return types.ListToolsResult(tools=[types.Tool(name="a", input_schema=schema)], next_cursor="more")

    async with McpToolset(Server("endless", on_list_tools=endless)) as tools:
        with pytest.raises(McpProtocolError, match="has no end"):
            await tools.tools()

    deep: Any = "x"
    for _ in range(120):
        deep = {"items": deep}

    async def listed(*_: object) -> types.ListToolsResult:
        odd = types.Tool(name="odd", input_schema={"type": "object", "properties": {"a": deep}})
        good = types.Tool(name="big", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[odd, good])

    async with McpToolset(Server("liar", on_list_tools=listed, on_call_tool=_answer)) as tools:
        assert [one.name for one in await tools.tools()] == ["big"]
        agent = ChatAgent(
            ScriptedModel([[ToolCall(id="1", name="big", arguments={})], "done"]), tools=[tools]
        )
        thread = agent.new_thread()
        await agent.run("go", thread)
        (result,) = thread.messages[-2].tool_results
        assert result.content == "the result has 5000000 characters; at most 4194304 are read. Ask for less"


async def test_a_list_with_a_fault_says_where_it_is_and_a_tool_that_is_listed_twice_is_there_once() -> None:
    schema: dict[str, Any] = {"type": "object"}

    async def twice(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="a", input_schema=schema)] * 2)

    async with McpToolset(Server("twice", on_list_tools=twice)) as tools:
        with capture_logs() as logs:
            assert [one.name for one in await tools.tools()] == ["a"]
        assert [one["reason"] for one in logs] == ["it is listed twice"]

    async with McpToolset([sys.executable, "-Sc", FAULTY], name="faulty") as tools:
        with pytest.raises(
            McpProtocolError, match=r"server faulty .*: tools\.1\.inputSchema.*mend the server"
        ):
            await tools.tools()


# The SDK's own server does not send such a list.
FAULTY = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"error": {"code": -32601, "message": "unknown"}}
    if asked["method"] == "initialize":
        facts = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        answer = {"result": {**facts, "serverInfo": {"name": "faulty", "version": "1"}}}
    if asked["method"] == "tools/list":
        kinds = {"a": "object", "b": "array"}
        tools = [{"name": name, "inputSchema": {"type": kind}} for name, kind in kinds.items()]
        answer = {"result": {"tools": tools}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def test_a_high_level_server_of_the_sdk_works_unchanged() -> None:
    server = MCPServer("weather")

    @server.tool()
    def forecast(city: str) -> list[int]:
        """Temperatures of the next days."""
        return [len(city), 7]

    async with McpToolset(server) as tools:
        (tool,) = await tools.tools()
        assert tool.description == "Temperatures of the next days."
        agent = ChatAgent(
            ScriptedModel([[ToolCall(id="1", name="forecast", arguments={"city": "Paris"})], "ok"]),
            tools=[tools],
        )
        thread = agent.new_thread()
        await agent.run("go", thread)
    assert thread.messages[-2].tool_results[0].content == [5, 7]
