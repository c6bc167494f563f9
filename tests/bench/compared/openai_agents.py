"""Rows of openai-agents: ``python -m tests.bench.compared openai_agents``, in an environment of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.compared.rows import SERVER, names_in, show

agents: Any = import_module("agents")
testing: Any = import_module("agents.testing")
agents.set_tracing_disabled(disabled=True)  # it would send traces to its vendor

Reply = Callable[[list[Any]], Any]
WORDS = "word " * 100


class _KilledError(BaseException):
    """The end of a process, as far as a library can see it."""


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


def _calls(tool: str, then: str, **arguments: str) -> Reply:
    def reply(said: list[Any]) -> Any:
        if said[-1].get("type") == "function_call_output":
            return testing.assistant_message(then)
        return testing.function_call(tool, arguments, call_id="c1")

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


async def choice_of_the_speaker() -> str:
    cast = {name: _agent(name, name) for name in "ab"}
    result = await agents.Runner.run(cast["b"], "start")
    assert result.last_agent.name == "b"
    return "by code: a function of yours names the agent of the next run"


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


async def handoff_to_a_person() -> str:
    agent = _agent("a", _calls("_go_on", "done"), tools=[agents.function_tool(_go_on, needs_approval=True)])
    state = (await agents.Runner.run(agent, "start")).to_state()
    (asked,) = state.get_interruptions()
    state.reject(asked, rejection_message="Ask Ann.")
    assert (await agents.Runner.run(agent, state)).final_output == "done"
    assert agent.model.requests[-1][-1]["output"] == "Ask Ann."
    return "a tool that needs approval: yes, or no with a text for the model"


def planner_with_a_ledger() -> str:
    assert not [*names_in("agents", "magentic"), *names_in("agents", "planner")]
    return "no class or function of this name"


def _work(plan: str) -> str:
    """Work by a plan."""
    return plan


async def a_person_reviews_the_plan() -> str:
    tools = [agents.function_tool(_work, needs_approval=True)]
    agent = _agent("a", _calls("_work", "done", plan="search"), tools=tools)
    state = (await agents.Runner.run(agent, "start")).to_state()
    (asked,) = state.get_interruptions()
    assert "search" in asked.arguments
    state.approve(asked)
    assert (await agents.Runner.run(agent, state)).final_output == "done"
    return "a tool that needs approval, whose argument is the plan"


def _delegating(inner: Any) -> Any:
    tools = [inner.as_tool("ask", "Ask.")]
    return _agent("outer", _calls("ask", "done", input="start"), tools=tools)


async def a_member_of_the_team_fails() -> str:
    boss = _delegating(_agent("inner", _broken))
    assert (await agents.Runner.run(boss, "start")).final_output == "done"
    return f"the model of the caller gets a text: {boss.model.requests[-1][-1]['output']!r}"


async def participants() -> str:
    agent = _agent("a", _calls("_go_on", "done"), tools=[agents.function_tool(_go_on)])
    first = _agent("triage", _calls("transfer_to_a", "never"), handoffs=[agent])
    assert (await agents.Runner.run(first, "start")).final_output == "done"
    return "agents by handoffs or as_tool, functions as tools"


async def a_pattern_as_an_agent() -> str:
    inner = _agent("inner", "one")
    assert (await agents.Runner.run(_delegating(inner), "start")).final_output == "done"
    assert len(inner.model.requests) == 1
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


async def a_killed_run_asks_again_for_a_reply_that_it_had() -> str:
    tries: list[str] = []

    def work() -> str:
        """Work."""
        tries.append("work")
        if len(tries) == 1:
            raise _KilledError
        return "worked"

    with TemporaryDirectory() as folder:
        session = agents.SQLiteSession("chat", Path(folder) / "sessions.db")
        agent = _agent("a", _calls("work", "done"), tools=[agents.function_tool(work)])
        with suppress(_KilledError):
            await agents.Runner.run(agent, "start", session=session)
        await agents.Runner.run(agent, [], session=session)
        session.close()
    assert len(agent.model.requests) == 3
    return "yes, within a turn: 3 requests where 2 are needed"


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.iterdir())


async def _stored_bytes(turns: int) -> int:
    with TemporaryDirectory() as folder:
        session = agents.SQLiteSession("chat", Path(folder) / "sessions.db")
        for turn in range(turns):
            said = [] if turn else "start"
            await agents.Runner.run(_agent("ab"[turn % 2], WORDS), said, session=session)
        assert len(await session.get_items()) == turns + 1
        session.close()
        return _size(Path(folder))


async def bytes_stored_by_a_chat() -> str:
    short, long = [await _stored_bytes(turns) for turns in (10, 40)]
    return f"10 turns: {short / 1e3:,.0f} kB; 40 turns: {long / 1e3:,.0f} kB, {long / short:.1f} times"


async def a_chat_of_100_turns() -> str:
    def reply(said: list[Any]) -> Any:
        turn = (len(said) + 1) // 2
        again = testing.function_call("_go_on", {}, call_id=f"c{turn}")
        return testing.assistant_message("done") if turn == 100 else again

    agent = _agent("a", reply, tools=[agents.function_tool(_go_on)])
    with suppress(agents.MaxTurnsExceeded):
        await agents.Runner.run(agent, "start")
        raise AssertionError
    assert (await agents.Runner.run(agent, "start", max_turns=100)).final_output == "done"
    return "with a higher max_turns"


def picture() -> str:
    assert names_in("agents", "draw_graph")
    return "draw_graph, with graphviz"


async def tools_of_mcp_servers() -> str:
    server: Any = import_module("agents.mcp").MCPServerStdio
    async with server(params={"command": SERVER[0], "args": SERVER[1:]}) as found:
        names = [one.name for one in await found.list_tools()]
    assert names == ["add"]
    return f"MCPServerStdio has {names}"


async def served_to_mcp_clients() -> str:
    async def ask(question: str) -> str:
        """Ask the agent."""
        return str((await agents.Runner.run(_agent("helper", "one"), question)).final_output)

    server = import_module("mcp.server.mcpserver").MCPServer("helper")
    server.add_tool(ask)
    async with import_module("mcp").Client(server) as client:
        result = await client.call_tool("ask", {"question": "Who?"})
    assert result.content[0].text == "one"
    return "a tool of yours, in the server of the official library"


def programs_instead_of_tool_calls() -> str:
    return f"{agents.ProgrammaticToolCallingTool().name}: its vendor runs the program"


def a2a_server() -> str:
    assert not names_in("agents", "a2a")
    return "no class or function of this name"


def agent_behind_a2a() -> str:
    assert not names_in("agents", "a2a")
    return "no class or function of this name"


def graphs_of_langgraph() -> str:
    assert not names_in("agents", "langgraph")
    return "no class or function of this name"


if __name__ == "__main__":
    show(dict(vars(sys.modules[__name__])), "openai-agents")
