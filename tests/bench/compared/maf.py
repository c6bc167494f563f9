"""Rows of Microsoft Agent Framework: ``python -m tests.bench.compared maf``, in an environment of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.compared.rows import SERVER, names_in, show

logging.disable(logging.CRITICAL)
af: Any = import_module("agent_framework")
orchestrations: Any = import_module("agent_framework.orchestrations")

Reply = Callable[[Any], Any]
WORDS = "word " * 100


class _Fake(af.FunctionInvocationLayer, af.BaseChatClient):  # type: ignore[misc]  # known when it runs
    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply
        self.requests: list[list[str]] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        del stream, options
        self.requests.append([one.text for one in messages])

        async def answered() -> Any:
            return af.ChatResponse(messages=[af.Message(role="assistant", contents=[self.reply(messages)])])

        return answered()


def _agent(name: str, reply: Reply | str, **more: Any) -> Any:
    def say(messages: Any) -> Any:
        return reply(messages) if callable(reply) else reply

    return af.Agent(client=_Fake(say), name=name, description=name, **more)


def _broken(_: Any) -> Any:
    raise RuntimeError("the model is down")


def _texts(result: Any) -> list[str]:
    return [getattr(one, "text", one) for one in result.get_outputs()]


async def sequence() -> str:
    second = _agent("b", "two")
    result = (
        await orchestrations.SequentialBuilder(participants=[_agent("a", "one"), second]).build().run("start")
    )
    assert second.client.requests == [["start", "one"]]
    return f"the second agent gets {second.client.requests[0]}, the output is {_texts(result)}"


async def _end(_: Any, said: Any, ctx: Any) -> None:
    await ctx.yield_output(af.AgentResponse(messages=said.full_conversation[-1:]))


_end.__annotations__ = {
    "said": af.AgentExecutorResponse,
    "ctx": af.WorkflowContext[af.AgentExecutorResponse, af.AgentResponse],
}


class _Gate(af.Executor):  # type: ignore[misc]  # known when it runs
    end = af.handler(_end)


async def early_end_of_a_sequence() -> str:
    last = _agent("b", "two")
    cast = [_agent("a", "one"), _Gate(id="gate"), last]
    result = (
        await orchestrations.SequentialBuilder(participants=cast, output_from=["gate"]).build().run("start")
    )
    assert (_texts(result), last.client.requests) == (["one"], [])
    return "an executor that sends nothing on ends it"


async def concurrent_with_an_aggregator() -> str:
    builder = orchestrations.ConcurrentBuilder(participants=[_agent("a", "one"), _agent("b", "two")])
    builder = builder.with_aggregator(lambda found: "+".join(one.agent_response.text for one in found))
    (joined,) = _texts(await builder.build().run("start"))
    assert joined == "one+two"
    return f"ConcurrentBuilder().with_aggregator gives {joined!r}"


async def one_concurrent_participant_fails() -> str:
    seen: list[Any] = []
    builder = orchestrations.ConcurrentBuilder(participants=[_agent("a", "one"), _agent("b", _broken)])
    try:
        await builder.with_aggregator(seen.append).build().run("start")
    except RuntimeError as exc:
        assert not seen
        return f"the run fails with {str(exc)!r}; the aggregator is not called"
    raise AssertionError


def _turns(**more: Any) -> Any:
    cast = [_agent("a", "one"), _agent("b", "two")]
    return orchestrations.GroupChatBuilder(
        participants=cast, selection_func=lambda state: "ab"[state.current_round % 2], **more
    ).build()


async def group_chat() -> str:
    (last,) = _texts(await _turns(max_rounds=3).run("start"))
    return f"GroupChatBuilder; its output is {last!r}"


async def choice_of_the_speaker() -> str:
    names = iter(["a", "b", None])

    def choose(_: Any) -> str:
        name = next(names)
        words = None if name else "bye"
        return json.dumps({"terminate": not name, "reason": "", "next_speaker": name, "final_message": words})

    await _turns(max_rounds=1).run("start")
    chat = orchestrations.GroupChatBuilder(
        participants=[_agent("a", "one"), _agent("b", "two")], orchestrator_agent=_agent("boss", choose)
    ).build()
    assert _texts(await chat.run("start")) == ["bye"]
    return "a function (selection_func), or an agent (orchestrator_agent)"


async def end_of_a_chat() -> str:
    (limited,) = _texts(await _turns(max_rounds=3).run("start"))
    (ended,) = _texts(await _turns(termination_condition=lambda said: said[-1].text == "two").run("start"))
    assert ("rounds" in limited, "condition" in ended) == (True, True)
    return f"max_rounds: {limited!r}; a function: {ended!r}"


def _mesh(answer: str) -> tuple[Any, Any, Any]:
    def pass_on(_: Any) -> Any:
        return af.Content.from_function_call("c1", "handoff_to_refund", arguments={})

    kept = {"require_per_service_call_history_persistence": True}
    first, second = _agent("triage", pass_on, **kept), _agent("refund", answer, **kept)
    return (
        orchestrations.HandoffBuilder(participants=[first, second]).with_start_agent(first).build(),
        first,
        second,
    )


async def handoff() -> str:
    flow, _, second = _mesh("paid")
    await flow.run("refund me")
    assert second.client.requests
    return "HandoffBuilder; the second agent answers"


async def requests_to_models_for_a_handoff_and_an_answer() -> str:
    flow, first, second = _mesh("paid")
    await flow.run("refund me")
    count = len(first.client.requests) + len(second.client.requests)
    assert count == 2
    return str(count)


async def handoff_to_a_person() -> str:
    flow, _, _ = _mesh("paid")
    (asked,) = (await flow.run("refund me")).get_request_info_events()
    assert type(asked.data).__name__ == "HandoffAgentUserRequest"
    return f"an answer without a handoff: {type(asked.data).__name__}"


def _manager(progress: bool) -> Any:
    steps = iter([False, True, True] if progress else [False] * 9)

    def manage(messages: Any) -> str:
        if "is_request_satisfied" not in messages[-1].text:
            return "The facts, or the plan."
        is_done = next(steps)
        facts = {
            "is_request_satisfied": is_done and progress,
            "is_in_loop": not progress,
            "is_progress_being_made": progress,
            "next_speaker": "worker",
            "instruction_or_question": "work",
        }
        return json.dumps({name: {"reason": "", "answer": value} for name, value in facts.items()})

    return _agent("manager", manage)


def _team(worker: Any, manager: Any, **more: Any) -> Any:
    return orchestrations.MagenticBuilder(
        participants=[worker], manager_agent=manager, max_stall_count=1, max_reset_count=1, **more
    ).build()


async def planner_with_a_ledger() -> str:
    worker, manager = _agent("worker", "done"), _manager(progress=True)
    await _team(worker, manager).run("start")
    assert worker.client.requests
    stuck = _manager(progress=False)
    await _team(_agent("worker", "done"), stuck).run("start")
    plans = [one for one in stuck.client.requests if "is_request_satisfied" not in one[-1]]
    assert len(plans) > 3  # facts and plan, then both again
    return f"MagenticBuilder; without progress it asks for facts and plan again ({len(plans)} requests)"


async def a_person_reviews_the_plan() -> str:
    flow = _team(_agent("worker", "done"), _manager(progress=True), enable_plan_review=True)
    (asked,) = (await flow.run("start")).get_request_info_events()
    assert type(asked.data).__name__ == "MagenticPlanReviewRequest"
    return f"enable_plan_review: {type(asked.data).__name__}"


async def a_member_of_the_team_fails() -> str:
    try:
        await _team(_agent("worker", _broken), _manager(progress=True)).run("start")
    except RuntimeError as exc:
        return f"the run fails with {str(exc)!r}"
    raise AssertionError


async def participants() -> str:
    inner = orchestrations.SequentialBuilder(participants=[_agent("a", "one")]).build().as_agent(name="inner")
    result = (
        await orchestrations.SequentialBuilder(participants=[inner, _agent("b", "two")]).build().run("start")
    )
    assert _texts(result) == ["two"]
    return "agents, executors, and workflows by as_agent"


async def a_pattern_as_an_agent() -> str:
    flow = orchestrations.SequentialBuilder(participants=[_agent("a", "one")]).build()
    answer = await flow.as_agent(name="flow").run("start")
    assert answer.text == "one"
    return "as_agent"


async def stored_and_resumed() -> str:
    with TemporaryDirectory() as folder:
        store = af.FileCheckpointStorage(folder)

        def flow(second: Any) -> Any:
            cast = [_agent("a", "one"), second]
            return orchestrations.SequentialBuilder(participants=cast, checkpoint_storage=store).build()

        broken = flow(_agent("b", _broken))
        with suppress(RuntimeError):
            await broken.run("start")
        newest = await store.get_latest(workflow_name=broken.name)
        second = _agent("b", "two")
        result = await flow(second).run(checkpoint_id=newest.checkpoint_id, checkpoint_storage=store)
        assert _texts(result) == ["two"]
    kinds = [name for name in dir(af) if name.endswith("CheckpointStorage") and name != "CheckpointStorage"]
    return f"a run that failed continues from its checkpoint; storages: {', '.join(kinds)}"


async def a_killed_run_asks_again_for_a_reply_that_it_had() -> str:
    tries: list[str] = []

    def work() -> str:
        """Work."""
        tries.append("work")
        if len(tries) == 1:
            raise asyncio.CancelledError
        return "worked"

    def reply(messages: Any) -> Any:
        done = messages[-1].role == "tool"
        return "done" if done else af.Content.from_function_call("c1", "work", arguments={})

    with TemporaryDirectory() as folder:
        store, agent = af.FileCheckpointStorage(folder), _agent("a", reply, tools=[af.tool(work)])
        flow = orchestrations.SequentialBuilder(
            participants=[_agent("first", "one"), agent], checkpoint_storage=store
        ).build
        killed = flow()
        with suppress(asyncio.CancelledError):
            await killed.run("start")
        newest = await store.get_latest(workflow_name=killed.name)
        await flow().run(checkpoint_id=newest.checkpoint_id, checkpoint_storage=store)
    assert len(agent.client.requests) == 3
    return "yes: 3 requests where 2 are needed; checkpoints are between supersteps"


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


async def _stored_chat(turns: int) -> int:
    with TemporaryDirectory() as folder:
        chat = orchestrations.GroupChatBuilder(
            participants=[_agent("a", WORDS), _agent("b", WORDS)],
            selection_func=lambda state: "ab"[state.current_round % 2],
            max_rounds=turns,
            checkpoint_storage=af.FileCheckpointStorage(folder),
        ).build()
        await chat.run("start")
        return _size(Path(folder))


async def bytes_stored_by_a_chat() -> str:
    short, long = [await _stored_chat(turns) for turns in (10, 40)]
    return f"10 turns: {short / 1e3:,.0f} kB; 40 turns: {long / 1e3:,.0f} kB, {long / short:.1f} times"


async def a_chat_of_100_turns() -> str:
    try:
        await _turns(max_rounds=100).run("start")
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"
    raise AssertionError


async def picture() -> str:
    drawn = af.WorkflowViz(_turns(max_rounds=1)).to_mermaid()
    assert "flowchart" in drawn
    return "WorkflowViz.to_mermaid"


async def tools_of_mcp_servers() -> str:
    async with af.MCPStdioTool(name="adder", command=SERVER[0], args=SERVER[1:]) as tool:
        names = [one.name for one in tool.functions]
    assert names == ["add"]
    return f"MCPStdioTool has {names}"


async def served_to_mcp_clients() -> str:
    server = _agent("helper", "one").as_mcp_server()
    return f"as_mcp_server() of an agent is a {type(server).__name__} of the official library"


def programs_instead_of_tool_calls() -> str:
    monty: Any = import_module("agent_framework_monty")
    names = [name for name in monty.__all__ if "CodeAct" in name]
    assert names
    return f"agent-framework-monty has {names}"


def a2a_server() -> str:
    executor = import_module("agent_framework.a2a").A2AExecutor(agent=_agent("helper", "one"))
    return f"{type(executor).__name__} for the server of a2a-sdk"


def agent_behind_a2a() -> str:
    agent = import_module("agent_framework.a2a").A2AAgent(url="http://127.0.0.1:1/")
    assert isinstance(agent, af.SupportsAgentRun)
    return f"{type(agent).__name__} is an agent for every pattern"


def ag_ui() -> str:
    add: Any = import_module("agent_framework.ag_ui").add_agent_framework_fastapi_endpoint
    app: Any = import_module("fastapi").FastAPI()
    add(app, _agent("helper", "one"), "/", single_user=True)
    return "add_agent_framework_fastapi_endpoint"


def chat_completions() -> str:
    responses: Any = import_module("agent_framework_hosting_responses")
    helpers = [name for name in responses.__all__ if name[0] != "_"]
    assert not [name for name in helpers if "completion" in name.lower()]
    return f"the Responses API instead, by helpers: {', '.join(helpers)}"


def graphs_of_langgraph() -> str:
    assert not [*names_in("agent_framework", "langgraph"), *names_in("agent_framework", "langchain")]
    return "no class or function of this name"


if __name__ == "__main__":
    show(dict(vars(sys.modules[__name__])), "agent-framework-core", "agent-framework-orchestrations")
