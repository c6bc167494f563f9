"""Rows of openai-agents: ``python -m tests.bench.compared openai_agents``, in an environment of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from tests.bench.compared.rows import SERVER, names_in, show

agents: Any = import_module("agents")
testing: Any = import_module("agents.testing")
agents.set_tracing_disabled(disabled=True)  # it would send traces to its vendor

Reply = Callable[[list[Any]], Any]


class _Fake(agents.Model):  # type: ignore[misc]  # known when it runs
    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.requests: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        del system_instructions
        said = input if isinstance(input, list) else [{"role": "user", "content": input}]
        self.requests.append(list(said))
        return agents.ModelResponse(output=[self.reply(said)], usage=agents.Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def _agent(name: str, reply: Reply | str, **more: Any) -> Any:
    def say(said: list[Any]) -> Any:
        return reply(said) if callable(reply) else testing.assistant_message(reply)

    return agents.Agent(name=name, model=_Fake(say), **more)


def _calls(tool: str, then: str) -> Reply:
    def reply(said: list[Any]) -> Any:
        is_done = said[-1].get("type") == "function_call_output"
        return testing.assistant_message(then) if is_done else testing.function_call(tool, {}, call_id="c1")

    return reply


def _broken(_: Any) -> Any:
    raise RuntimeError("the model is down")


async def sequence() -> str:
    first = await agents.Runner.run(_agent("a", "one"), "start")
    second = _agent("b", "two")
    await agents.Runner.run(second, first.to_input_list())
    assert len(second.model.requests[0]) == 2
    return "by code: to_input_list() of a result is the input of the next run"


async def early_end_of_a_sequence() -> str:
    first = await agents.Runner.run(_agent("a", "one"), "start")
    return f"by code: the sequence is yours, {first.final_output!r} decides"


async def concurrent_with_an_aggregator() -> str:
    runs = [agents.Runner.run(_agent(name, name), "start") for name in "ab"]
    assert [one.final_output for one in await asyncio.gather(*runs)] == ["a", "b"]
    return "by code: asyncio.gather"


async def one_concurrent_participant_fails() -> str:
    runs = [agents.Runner.run(_agent("a", reply), "start") for reply in ("one", _broken)]
    found: list[Any] = await asyncio.gather(*runs, return_exceptions=True)
    good, bad = found
    assert (good.final_output, str(bad)) == ("one", "the model is down")
    return "by code: asyncio.gather(return_exceptions=True)"


def group_chat() -> str:
    assert not names_in("agents", "group", "chat")
    return "no class or function of this name"


async def end_of_a_chat() -> str:
    endless = _agent("a", lambda _: testing.function_call("_go_on", {}, call_id="c1"))
    endless.tools = [agents.function_tool(_go_on)]
    with suppress(agents.MaxTurnsExceeded):
        await agents.Runner.run(endless, "start", max_turns=3)
        raise AssertionError
    return f"max_turns of a run: {agents.MaxTurnsExceeded.__name__}"


def _go_on() -> str:
    """Go on."""
    return "more"


async def handoff() -> str:
    second = _agent("refund", "paid")
    first = _agent("triage", _calls("transfer_to_refund", "never"), handoffs=[second])
    result = await agents.Runner.run(first, "refund me")
    assert (result.final_output, result.last_agent.name) == ("paid", "refund")
    return "handoffs= of an agent"


async def requests_to_models_for_a_handoff_and_an_answer() -> str:
    second = _agent("refund", "paid")
    first = _agent("triage", _calls("transfer_to_refund", "never"), handoffs=[second])
    await agents.Runner.run(first, "refund me")
    count = len(first.model.requests) + len(second.model.requests)
    assert count == 2
    return str(count)


def planner_with_a_ledger() -> str:
    assert not [*names_in("agents", "magentic"), *names_in("agents", "planner")]
    return "no class or function of this name"


async def a_pattern_as_an_agent() -> str:
    inner = _agent("inner", "one")
    outer = _agent("outer", _calls("ask", "done"), tools=[inner.as_tool("ask", "Ask.")])
    assert (await agents.Runner.run(outer, [{"role": "user", "content": "start"}])).final_output == "done"
    return "an agent as a tool of another one (as_tool)"


async def stored_and_resumed() -> str:
    tool = agents.function_tool(_go_on, needs_approval=True)
    agent = _agent("a", _calls("_go_on", "done"), tools=[tool])
    waiting = await agents.Runner.run(agent, "start")
    state = await agents.RunState.from_json(agent, waiting.to_state().to_json())
    (asked,) = state.get_interruptions()
    state.approve(asked)
    assert (await agents.Runner.run(agent, state)).final_output == "done"
    return "RunState of a run that waits for an approval, as JSON"


def picture() -> str:
    assert names_in("agents", "draw_graph")
    return "draw_graph, with graphviz"


async def tools_of_mcp_servers() -> str:
    server: Any = import_module("agents.mcp").MCPServerStdio
    async with server(params={"command": SERVER[0], "args": SERVER[1:]}) as found:
        names = [one.name for one in await found.list_tools()]
    assert names == ["add"]
    return f"MCPServerStdio has {names}"


def programs_instead_of_tool_calls() -> str:
    return f"{agents.ProgrammaticToolCallingTool().name}: its vendor runs the program"


if __name__ == "__main__":
    show(dict(vars(sys.modules[__name__])), "openai-agents")
