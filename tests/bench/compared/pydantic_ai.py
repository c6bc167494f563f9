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


def _agent(name: str, reply: Reply | str, **more: Any) -> tuple[Any, list[list[Any]]]:
    requests: list[list[Any]] = []

    def say(said: list[Any], info: Any) -> Any:
        requests.append(list(said))
        part = reply(said, info) if callable(reply) else messages.TextPart(reply)
        return messages.ModelResponse([part])

    return ai.Agent(functions.FunctionModel(say), name=name, **more), requests


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


def planner_with_a_ledger() -> str:
    assert not [*names_in("pydantic_ai", "magentic"), *names_in("pydantic_ai", "planner")]
    return "no class or function of this name"


def picture() -> str:
    return f"mermaid of pydantic-graph: {', '.join(names_in('pydantic_graph', 'mermaid')[:2])}"


async def tools_of_mcp_servers() -> str:
    transport: Any = import_module("fastmcp.client.transports").StdioTransport(SERVER[0], SERVER[1:])
    async with import_module("pydantic_ai.mcp").MCPToolset(transport) as toolset:
        names = [one.name for one in await toolset.list_tools()]
    assert names == ["add"]
    return f"MCPToolset has {names}"


def a2a_server() -> str:
    assert not hasattr(ai.Agent, "to_a2a")
    app = import_module("fasta2a.pydantic_ai").agent_to_a2a(_agent("helper", "one")[0])
    return f"agent_to_a2a of fasta2a makes a {type(app).__name__}"


def ag_ui() -> str:
    adapter: Any = import_module("pydantic_ai.ui.ag_ui").AGUIAdapter
    assert hasattr(adapter, "dispatch_request")
    return "AGUIAdapter"


if __name__ == "__main__":
    show(dict(vars(sys.modules[__name__])), "pydantic-ai-slim", "pydantic-graph", "fasta2a")
