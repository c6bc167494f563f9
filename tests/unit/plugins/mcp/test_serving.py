"""A project behind an MCP server, seen by the official client."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from httpx2 import AsyncClient
from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy import func, select
from tests.commands import start_command
from tests.pace import short_leases

from agentic.core.agents import AgentThread, ChatAgent, RequestAnswer
from agentic.core.hooks import get_registry
from agentic.core.llm import ScriptedModel, ToolCall
from agentic.core.pipeline import parse_spec
from agentic.core.settings import load_settings
from agentic.executors.serving import (
    Guarded,
    GuardRules,
    Listening,
    ServedProject,
    mounted,
    opened_project,
)
from agentic.executors.serving.mounts import lifespan
from agentic.executors.serving.server import serving
from agentic.mappers import Database, ExecutionModel, add_agent, add_project, find_project
from agentic.mappers.catalog.pipelines import store_pipeline
from agentic.plugins.mcp import McpToolset
from agentic.plugins.mcp.client.toolset import _TasksExtension
from agentic.plugins.mcp.serving.http import make_app
from agentic.plugins.mcp.serving.server import make_server
from agentic.plugins.serve.app import make_app as make_served_app

TOKEN = "token-of-a-test-server-with-32-chars"  # of a test
PIPELINE = """
name: things
item_key: label
description: Makes items of words.
inputs: {words: {type: list, description: Some words.}}
steps:
  - type: loop
    source: words
    item_as: word
    loop_steps:
      - {actor: classify, config: {model: "fake:words", text: "${word}", labels: [lamp, chair]}}
    collect: item
"""
ASKING = """
- call: {ask_person: {question: "Which size?"}}
- Size noted.
"""

WORKFLOW = """
from agentic.core import WorkflowBuilder, executor


@executor(id="upper")
async def upper(text: str) -> str:
    return text.upper()


def shout():
    return WorkflowBuilder("shout").set_start(upper).build()
"""


@dataclass
class World:
    """Two projects in one database; the server shows the first."""

    project: ServedProject
    database: Database

    def executions(self) -> int:
        with self.database.reading() as session:
            return session.scalar(select(func.count()).select_from(ExecutionModel)) or 0


@pytest.fixture
def project_of_ours(agentic_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ask.yaml").write_text(ASKING)
    (tmp_path / "hello.yaml").write_text("- hello\n")
    monkeypatch.setenv("AGENTIC_MODULE_PATH", json.dumps([str(tmp_path)]))
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTIC_DATABASE_URL", str(agentic_database.url))
    for name, value in short_leases(2).items():
        monkeypatch.setenv(name, value)
    with agentic_database.writing() as session:
        for name in ("ours", "theirs"):
            project = add_project(session, name)
            asks: dict[str, Any] = {
                "model": "scripted:./ask.yaml",
                "tools": ["ask_person"],
                "prompt": "Order a shirt.",
            }
            add_agent(session, project, f"{name}-shop", "chat", asks, None)
            says: dict[str, Any] = {"model": "scripted:./hello.yaml", "prompt": "Say hello."}
            add_agent(session, project, f"{name}-greeter", "chat", says, None)
        store_pipeline(session, find_project(session, "ours").id, parse_spec(PIPELINE))
    return tmp_path


@pytest.fixture
async def world(agentic_database: Database, project_of_ours: Path) -> AsyncIterator[World]:
    del project_of_ours
    async with opened_project(load_settings(), "ours", url="http://test") as served:
        yield World(served, agentic_database)


@asynccontextmanager
async def connected(
    world: World, *, tasks: bool = False, asks: Any = None, **facts: Any
) -> AsyncIterator[Client]:
    mode = facts.pop("mode", "auto")
    server = make_server(world.project, **facts)
    extensions = [_TasksExtension()] if tasks else None
    async with Client(server, mode=mode, extensions=extensions, elicitation_callback=asks) as client:
        yield client


async def facts_of(client: Client, tool: str, **arguments: Any) -> Any:
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    structured = found.structured_content
    return structured["result"] if structured is not None and structured.keys() == {"result"} else structured


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_of_each_protocol_runs_a_pipeline_and_reads_its_rows(world: World, mode: str) -> None:
    async with connected(world, mode=mode) as client:
        overview = await facts_of(client, "describe_project")
        assert overview["project"] == "ours"
        assert overview["pipelines"] == ["things"]
        assert overview["agents"] == ["ours-greeter", "ours-shop"]
        (pipeline,) = await facts_of(client, "list_pipelines")
        assert pipeline["inputs"]["words"]["description"] == "Some words."
        done = await facts_of(
            client, "run_pipeline", pipeline="things", inputs={"words": ["a lamp", "a chair"]}
        )
        assert done["state"] == "completed"
        assert done["counts"]["inserted"] == 2
        first = await facts_of(client, "get_rows", execution=done["execution"], limit=1)
        second = await facts_of(client, "get_rows", execution=done["execution"], offset=first["next_offset"])
        assert sorted(row["label"] for row in (*first["rows"], *second["rows"])) == ["chair", "lamp"]
        assert "next_offset" not in second
        (execution,) = await facts_of(client, "list_executions")
        assert execution["agent"] == "things"


async def test_a_question_of_a_run_is_answered_by_the_tools_of_a_client_without_extensions(
    world: World,
) -> None:
    async with connected(world) as client:
        waiting = await facts_of(client, "run_agent", agent="ours-shop")
        assert waiting["state"] == "input_required"
        (request,) = waiting["requests"]
        assert request["question"].startswith("Which size?")
        assert request["expects"] == "str"
        done = await facts_of(
            client, "answer_request", run=request["run"], request=request["request"], answer="L"
        )
        found = await facts_of(client, "get_execution", execution=done["execution"], wait_s=20)
        assert found["state"] == "completed"
        assert not await facts_of(client, "list_requests")


async def test_a_client_that_can_ask_its_user_is_asked_in_the_call(world: World) -> None:
    asked: list[str] = []

    async def ask(_: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "L"})

    async with connected(world, asks=ask) as client:
        done = await facts_of(client, "run_agent", agent="ours-shop")
        assert done["state"] == "completed"
    assert len(asked) == 1
    assert asked[0].startswith("Which size?")
    assert world.executions() == 1


async def test_long_work_is_a_task_for_our_own_agents_whose_questions_are_theirs(world: World) -> None:
    """Our client against our server: the call, the task, the question and its answer, in new processes."""

    async def turn(script: list[Any], given: Any, thread: AgentThread | None) -> tuple[Any, AgentThread]:
        async with McpToolset(make_server(world.project)) as tools:
            agent = ChatAgent(ScriptedModel(script), tools=[tools])
            kept = agent.new_thread() if thread is None else AgentThread.deserialize(thread.serialize())
            return await agent.run(given, kept), kept

    call = ToolCall(id="1", name="run_agent", arguments={"agent": "ours-shop"})
    waiting, thread = await turn([[call]], "go", None)
    (request,) = waiting.pending
    assert "Which size?" in request.question
    state = thread.entries[-2].paused["1"].pause.state
    assert isinstance(state, dict)
    response, thread = await turn(["done"], RequestAnswer(request_id=request.id, result="L"), thread)
    assert response.text == "done"
    (result,) = thread.messages[-2].tool_results
    assert isinstance(result.content, dict)
    assert (result.content["state"], result.content["execution"]) == ("completed", state["task"])
    assert world.executions() == 1


async def test_a_workflow_of_a_trusted_package_is_run_and_its_outputs_are_shown(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ourflows.py").write_text(WORKFLOW)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("AGENTIC_WORKFLOW_MODULES", '["ourflows"]')
    async with (
        opened_project(load_settings(), "ours", url="http://test") as served,
        connected(World(served, world.database)) as client,
    ):
        done = await facts_of(client, "run_workflow", workflow="ourflows:shout", message="hello")
        wrong = await client.call_tool("run_workflow", {"workflow": "ourflows:shout", "message": 7})
    assert (done["state"], done["outputs"]) == ("completed", ["HELLO"])
    assert wrong.is_error


async def test_the_same_key_starts_one_execution(world: World) -> None:
    meta: Any = {"agentic-pipelines/idempotencyKey": "k" * 500}
    async with connected(world) as client:
        calls = [client.call_tool("run_agent", {"agent": "ours-greeter"}, meta=meta) for _ in range(3)]
        found = [one.structured_content or {} for one in await asyncio.gather(*calls)]
        other = await client.call_tool(
            "run_pipeline", {"pipeline": "things", "inputs": {"words": []}}, meta=meta
        )
    assert len({one["execution"] for one in found}) == 1
    assert (other.structured_content or {})["execution"] not in {one["execution"] for one in found}
    assert world.executions() == 2


async def test_a_task_is_cancelled_by_its_client(world: World) -> None:
    async with connected(world, tasks=True) as client:
        found: Any = await client.session.call_tool(
            "run_agent", {"agent": "ours-shop", "wait_s": 0}, allow_input_required=True, allow_claimed=True
        )
        waiting = await facts_of(client, "get_execution", execution=found.task_id, wait_s=20)
        assert waiting["state"] == "input_required"
        cancelled = await facts_of(client, "cancel_execution", execution=found.task_id)
        assert cancelled["state"] == "cancelled"


async def test_nothing_of_another_project_can_be_reached(world: World) -> None:
    with world.database.writing() as session:
        from agentic.mappers import create_execution, find_agent

        theirs = create_execution(
            session, find_agent(session, find_project(session, "theirs").id, "theirs-shop")
        )
    async with connected(world, tasks=True) as client:
        for tool, arguments in {
            "run_agent": {"agent": "theirs-shop"},
            "get_execution": {"execution": theirs.id},
            "get_rows": {"execution": theirs.id},
            "cancel_execution": {"execution": theirs.id},
            "answer_request": {"run": theirs.id, "request": f"{theirs.id}:x", "answer": "L"},
            "list_executions": {"agent": "theirs-shop"},
        }.items():
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error, tool
            assert "theirs-greeter" not in str(refused.content)
        for uri in (
            f"agentic://executions/{theirs.id}",
            "agentic://agents/theirs-shop",
            "agentic://x/../agents",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        everything = [
            str(await facts_of(client, "describe_project")),
            str(await facts_of(client, "list_executions")),
            str(await facts_of(client, "list_requests")),
        ]
    assert "theirs" not in "".join(everything)


async def test_resources_show_the_project_without_secrets(world: World) -> None:
    with world.database.writing() as session:
        config: dict[str, Any] = {
            "model": "scripted:./hello.yaml",
            "options": {"api_key": "${secrets.KEY}", "base_url": "https://user:p4ssw0rd-of-x@x.example"},
        }
        add_agent(session, find_project(session, "ours"), "secretive", "chat", config, None)
    async with connected(world) as client:
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        assert len(templates.resource_templates) == 4
        texts = [await _read(client, str(one.uri)) for one in listed.resources]
        secretive = await _read(client, "agentic://agents/secretive")
        done = await facts_of(client, "run_agent", agent="ours-greeter")
        rows = await _read(client, f"agentic://executions/{done['execution']}/rows")
    assert "ours-greeter" in texts[0]
    assert "p4ssw0rd" not in secretive + "".join(texts)
    assert json.loads(rows)["rows"]


async def _read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


async def test_a_server_that_only_reads_has_no_tool_that_acts(world: World) -> None:
    async with connected(world, is_read_only=True) as client:
        tools = (await client.list_tools()).tools
        assert all(one.annotations and one.annotations.read_only_hint for one in tools)
        with pytest.raises(MCPError, match="no tool is called 'run_agent'"):
            await client.call_tool("run_agent", {"agent": "ours-greeter"})
    assert world.executions() == 0


async def test_a_server_that_only_reads_takes_no_answers_to_questions(world: World) -> None:
    async with connected(world) as client:
        waiting = await facts_of(client, "run_agent", agent="ours-shop")
    run, (request,) = waiting["execution"], waiting["requests"]
    answers: Any = {request["request"]: types.ElicitResult(action="accept", content={"answer": "L"})}
    async with connected(world, is_read_only=True) as client:
        refused = await client.session.call_tool(
            "get_execution", {"execution": run}, input_responses=answers, request_state=run
        )
        assert refused.is_error
        assert [one["run"] for one in await facts_of(client, "list_requests")] == [run]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("run_agent", {}, "the arguments do not fit: agent: Field required"),
        ("run_agent", {"agent": "x", "wait_s": 1e9}, "wait_s: Input should be less than or equal to 60"),
        ("run_agent", {"agent": "nobody"}, "has no agent 'nobody'"),
        ("run_pipeline", {"pipeline": "things", "inputs": {"wrods": []}}, "did you mean 'words'"),
        ("run_workflow", {"workflow": "os:system", "message": "x"}, "os:system"),
        ("get_rows", {"execution": "../x"}, "../x"),
        ("answer_request", {"run": "x", "request": "y", "answer": 1}, "x"),
    ],
)
async def test_bad_calls_are_errors_that_name_the_fault(
    world: World, tool: str, arguments: dict[str, Any], says: str
) -> None:
    async with connected(world) as client:
        found = await client.call_tool(tool, arguments)
    (content,) = found.content
    assert found.is_error
    assert isinstance(content, types.TextContent)
    assert says in content.text


@pytest.mark.parametrize("is_mounted", [False, True])
async def test_over_http_a_token_is_needed_and_the_official_client_works(
    world: World, is_mounted: bool
) -> None:
    """On a port of its own, and at ``/mcp`` of ``agentic serve``."""
    listening = Listening(port=0)
    async with AsyncExitStack() as stack:
        bound = stack.enter_context(listening.bind())
        url = f"{listening.url(bound)}/mcp"
        if is_mounted:
            mounts = await stack.enter_async_context(mounted(world.project, get_registry()))
            app: Any = make_served_app(world.project, mounts)
        else:
            app = make_app(world.project, path="/mcp")
            await stack.enter_async_context(lifespan(app, "mcp"))
        guarded = Guarded(app, GuardRules(token=TOKEN))
        async with serving(guarded, bound, listening):
            async with AsyncClient() as http:
                refused = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
                assert refused.status_code == 401
                strange = {"Host": "evil.example", "Authorization": f"Bearer {TOKEN}"}
                assert (await http.post(url, json={}, headers=strange)).status_code == 421
            async with AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
                assert await _inspected(http, url) == "ours"
                for mode in ("auto", "legacy"):
                    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                        done = await facts_of(client, "run_agent", agent="ours-greeter")
                        assert done["state"] == "completed"
    assert world.executions() == 2


async def _inspected(http: AsyncClient, url: str) -> object:
    """Call as a client without the SDK does, by the handshake of 2025."""

    async def ask(number: int, method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        accepts = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        response = await http.post(url, json=body, headers=accepts, follow_redirects=True)
        assert response.status_code == 200, response.text
        return response.json()["result"]

    facts = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "i", "version": "1"}}
    assert (await ask(1, "initialize", **facts))["serverInfo"]["name"] == "agentic ours"
    assert len((await ask(2, "tools/list"))["tools"]) == 11
    found = await ask(3, "tools/call", name="describe_project", arguments={})
    return found["structuredContent"]["project"]


class Streams:
    """``agentic mcp serve`` on standard streams, spoken to in lines of JSON."""

    def __init__(self, folder: Path) -> None:
        its_input, ours = os.pipe()
        self._input = os.fdopen(ours, "w", buffering=1)
        ours, its_output = os.pipe()
        self._output = os.fdopen(ours)
        arguments = ["mcp", "serve", "--project", "ours"]
        with os.fdopen(its_output, "wb") as output:
            self.command = start_command(arguments, dict(os.environ), folder, output, stdin=its_input)
        os.close(its_input)
        self._number = 0

    async def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._input.write(json.dumps(message) + "\n")
        async with asyncio.timeout(60):
            while line := await asyncio.to_thread(self._output.readline):
                answer = json.loads(line)
                if answer.get("id") == self._number:
                    return answer["result"]
        raise AssertionError(f"the server ended before it answered {method}")

    def kill(self) -> None:
        self.command.kill()
        self.command.wait(10)
        self._input.close()
        self._output.close()


@pytest.mark.e2e
async def test_a_run_of_a_killed_server_on_standard_streams_is_answered_by_another_server(
    agentic_database: Database, project_of_ours: Path
) -> None:
    streams = Streams(project_of_ours)
    facts = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "i", "version": "1"}}
    await streams.ask("initialize", **facts)
    found = await streams.ask("tools/call", name="run_agent", arguments={"agent": "ours-shop"})
    waiting = found["structuredContent"]
    assert waiting["state"] == "input_required"
    streams.kill()
    (request,) = waiting["requests"]
    async with (
        opened_project(load_settings(), "ours", url="http://test") as served,
        connected(World(served, agentic_database)) as client,
    ):
        arguments = {"run": request["run"], "request": request["request"], "answer": "L"}
        await facts_of(client, "answer_request", **arguments)
        done = await facts_of(client, "get_execution", execution=waiting["execution"], wait_s=40)
    assert done["state"] == "completed"
