"""Connections to MCP servers: who opens and closes them, and how they are lost and found again."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import types
from mcp.server import Server
from mcp.shared.memory import create_client_server_memory_streams
from pydantic import SecretStr
from tests.unit.plugins.mcp.servers import Shop, text

from agentic.core.agents import ChatAgent, SpecAgent, ToolDefinitionError, load_agent_spec
from agentic.core.llm import ScriptedModel, ToolCall
from agentic.executors.serving.mounts import lifespan
from agentic.executors.serving.server import Listening, serving
from agentic.plugins.mcp import McpConnectionError, McpToolset

TOKEN = "t0ken-of-the-test-server"  # of a test


class Site:
    """A shop over HTTP, which can be stopped, and started again on the same port."""

    def __init__(self, shop: Shop, *, stateless: bool) -> None:
        self.shop, self.stateless, self.port = shop, stateless, 0
        self._stack: contextlib.AsyncExitStack | None = None
        self.is_open = asyncio.Event()
        self.is_open.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def start(self) -> None:
        app = self.shop.server().streamable_http_app(
            json_response=True, stateless_http=self.stateless, streamable_http_path="/mcp"
        )
        listening = Listening(port=self.port)
        bound = listening.bind()
        self.port = bound.getsockname()[1]
        self._stack = contextlib.AsyncExitStack()
        await self._stack.enter_async_context(lifespan(app, "shop"))
        await self._stack.enter_async_context(serving(self._guarded(app), bound, listening))

    async def stop(self) -> None:
        if self._stack is not None:
            await self._stack.aclose()
            self._stack = None

    def _guarded(self, app: Any) -> Any:
        async def guarded(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            await self.is_open.wait()
            sent = dict(scope["headers"]).get(b"authorization", b"").decode()
            if sent != f"Bearer {TOKEN}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            await app(scope, receive, send)

        return guarded


@asynccontextmanager
async def site(*, stateless: bool = False) -> AsyncIterator[Site]:
    made = Site(Shop(), stateless=stateless)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


async def price(tools: McpToolset) -> object:
    call = ToolCall(id="1", name="price", arguments={"item": "tea"})
    agent = ChatAgent(ScriptedModel([[call], "done"]), tools=[tools])
    thread = agent.new_thread()
    await agent.run("go", thread)
    return thread.messages[-2].tool_results[0].content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_server_that_was_started_again_is_used_again(mode: str) -> None:
    async with site() as found, McpToolset(found.url, token=TOKEN, mode=mode) as tools:
        assert await price(tools) == "3.50"
        await found.stop()
        with pytest.raises(McpConnectionError, match=f"the MCP server {found.url} cannot be used"):
            await tools.tools()
        await found.start()
        assert await price(tools) == "3.50"


async def test_a_wrong_token_is_named_and_never_shown() -> None:
    async with site(stateless=True) as found, McpToolset(found.url, token="wr0ng-token") as tools:
        with pytest.raises(McpConnectionError, match="HTTP 401; check its token") as caught:
            await tools.tools()
        assert "wr0ng" not in str(caught.value)


class _Secrets:
    async def secret(self, name: str) -> SecretStr:
        assert name == "SHOP_KEY"
        return SecretStr(TOKEN)


async def test_an_agent_that_is_data_connects_with_its_secret_and_closes_its_connections(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.yaml").write_text("- call: {price: {item: tea}}\n- It costs 3.50.\n")
    async with site(stateless=True) as found:
        found.shop.says = f"{TOKEN} costs 3.50"
        file = tmp_path / "buyer.yaml"
        server = f"{{mcp: '{found.url}', token: '${{secrets.SHOP_KEY}}'}}"
        file.write_text(f"model: scripted:script.yaml\ntools:\n  - {server}\n")
        agent = SpecAgent(load_agent_spec(file, runs_code=True), secrets=_Secrets())
        thread = agent.new_thread()
        assert (await agent.run("hi", thread)).text == "It costs 3.50."
        await agent.aclose()
    assert thread.messages[-2].tool_results[0].content == "*** costs 3.50"
    assert TOKEN not in thread.serialize().decode()
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("mcp ")]


async def test_an_optional_server_that_is_down_leaves_the_agent_without_its_tools() -> None:
    tools = McpToolset("http://127.0.0.1:9/mcp", optional=True)
    assert await tools.tools() == ()
    agent = ChatAgent(ScriptedModel(["hello"]), tools=[tools])
    assert (await agent.run("hi")).text == "hello"


async def test_a_connection_is_opened_used_and_closed_by_different_tasks() -> None:
    shop = Shop()
    for mode in ("auto", "legacy"):
        tools = McpToolset(shop.server(), mode=mode)
        for _ in range(3):
            found = await asyncio.gather(*(asyncio.create_task(price(tools)) for _ in range(5)))
            assert found == ["3.50"] * 5
            await asyncio.create_task(tools.aclose())
    assert len(shop.calls) == 30


def test_a_toolset_outlives_the_event_loop_that_it_connected_on() -> None:
    tools = McpToolset(Shop().server())
    assert [asyncio.run(price(tools)) for _ in range(2)] == ["3.50", "3.50"]


async def test_a_call_whose_connection_is_lost_says_that_the_work_may_be_done() -> None:
    async with site(stateless=True) as found, McpToolset(found.url, token=TOKEN, timeout_s=0.2) as tools:
        by_name = {tool.name: tool for tool in await tools.tools()}
        agent = ChatAgent(
            ScriptedModel([[ToolCall(id="1", name="order", arguments={"item": "a"})], "done"]),
            tools=[by_name["order"]],
        )
        found.is_open.clear()
        thread = agent.new_thread()
        await agent.run("go", thread)
        found.is_open.set()
    (result,) = thread.messages[-2].tool_results
    assert result.is_error
    assert result.content == f"{found.url} did not answer; it may have done the work, or a part of it"


class Streams:
    """A transport whose server can end at any time, as a program does."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.opened = shop, 0
        self.end = asyncio.Event()

    async def __aenter__(self) -> Any:
        self.opened += 1
        self.end = asyncio.Event()
        self.stack = contextlib.AsyncExitStack()
        client, (read, write) = await self.stack.enter_async_context(create_client_server_memory_streams())
        group = await self.stack.enter_async_context(asyncio.TaskGroup())
        server = self.shop.server()

        async def run() -> None:
            serving = asyncio.create_task(server.run(read, write, server.create_initialization_options()))
            await self.end.wait()
            serving.cancel()
            await asyncio.wait([serving])
            await write.aclose()

        group.create_task(run())
        return client

    async def __aexit__(self, *_: object) -> None:
        self.end.set()
        await self.stack.aclose()


async def test_a_program_that_ends_in_a_call_is_started_again_for_the_next_one() -> None:
    shop = Shop()
    way = Streams(shop)
    async with McpToolset(way) as tools:
        assert await price(tools) == "3.50"
        way.end.set()
        assert await price(tools) == "3.50"
        assert way.opened == 2
        order = next(one for one in await tools.tools() if one.name == "order")
        way.end.set()
        agent = ChatAgent(
            ScriptedModel([[ToolCall(id="1", name="order", arguments={"item": "a"})], "done"]), tools=[order]
        )
        thread = agent.new_thread()
        await agent.run("go", thread)
        (result,) = thread.messages[-2].tool_results
        assert str(result.content).endswith(
            "the connection was lost; the server may have done the work, or a part of it"
        )
        assert await price(tools) == "3.50"


async def test_a_cancelled_call_leaves_the_connection_usable() -> None:
    started = asyncio.Event()

    async def listed(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="price", input_schema={"type": "object"})])

    async def called(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if not started.is_set():
            started.set()
            await asyncio.Event().wait()
        return text("4.00")

    async with McpToolset(Server("slow", on_list_tools=listed, on_call_tool=called)) as tools:
        working = asyncio.create_task(price(tools))
        await started.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert await price(tools) == "4.00"


SERVER = """
import anyio, os, sys
sys.path[:0] = [{root!r}]
from mcp.server.stdio import stdio_server
from tests.unit.plugins.mcp.servers import Shop

state = "told" if "SECRET_OF_THE_PARENT" in os.environ else "clean"
print("ready", os.environ.get("SHOP_TOKEN"), state, file=sys.stderr)
if sys.argv[1:] == ["broken"]:
    sys.exit("the shop has no key; set k3y-of-the-shop")

async def main():
    server = Shop(says=os.environ.get("SHOP_TOKEN", "none")).server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


async def test_a_program_speaks_on_its_standard_streams_and_knows_no_secret_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "x")
    program = tmp_path / "shop.py"
    program.write_text(SERVER.format(root=str(Path(__file__).parents[4])))
    env = {"SHOP_TOKEN": "k3y-of-the-shop"}
    async with McpToolset([sys.executable, str(program)], env=env) as tools:
        assert await price(tools) == "***"
        way = tools._connection._way  # its standard error
        assert way.last_words() == "its last words were: ready k3y-of-the-shop clean"
    async with McpToolset([sys.executable, str(program), "broken"], env=env) as broken:
        with pytest.raises(McpConnectionError, match=r"the shop has no key; set \*\*\*"):
            await broken.tools()


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ("shop.example.com", "use a URL"),
        ([], "the program first"),
        (["python", 3], "a list of texts"),
    ],
)
def test_a_server_that_is_none_is_refused_at_once(server: Any, says: str) -> None:
    with pytest.raises(ToolDefinitionError, match=says):
        McpToolset(server)


async def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(McpConnectionError, match=r"no-such-program.*does not exist"):
        await McpToolset(["no-such-program-here"]).tools()
