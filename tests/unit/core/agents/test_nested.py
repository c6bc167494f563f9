"""Agents in agents and in workflows: limits hold for all of them, and each may wait for a person."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from agentic.core import MemoryCheckpointStore, RunStatus, Workflow, WorkflowBuilder, executor
from agentic.core.agents import (
    AgentExecutorResponse,
    AgentResponse,
    AgentStoppedError,
    AgentThread,
    ChatAgent,
    MemoryThreadStore,
    RequestAnswer,
    RequestKind,
    ResponseStatus,
    RunOptions,
    ThreadBusyError,
    Tool,
    UsageLimits,
    WorkflowAsAgent,
    ask_person,
    tool,
)
from agentic.core.agents.tools.runs import WorkflowTool
from agentic.core.graph import ApprovalResponse
from agentic.core.llm import FunctionModel, ModelRequest, ScriptedModel, ScriptLine, TokenUsage, ToolCall

NO_LIMIT = UsageLimits(max_repeats=None, max_tool_calls=None)


def call(name: str, call_id: str = "", /, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def results_in(request: ModelRequest) -> list[Any]:
    return [result.content for message in request.messages for result in message.tool_results]


def insatiable(name: str, *tools: Any, calls: int = 1, ends_after: int | None = None) -> ChatAgent[Any]:
    """Return an agent that calls its first tool again and again, ``calls`` times in each reply."""

    def reply(request: ModelRequest) -> ScriptLine:
        if ends_after is not None and len(results_in(request)) >= ends_after:
            return "enough"
        return [call(name_of(tools[0]), task="go") for _ in range(calls)]

    return ChatAgent(FunctionModel(reply, name=f"model:{name}"), name=name, tools=tools, limits=NO_LIMIT)


def name_of(given: Any) -> str:
    return str(getattr(given, "name", ""))


def counted_tool(done: list[str]) -> Tool:
    @tool
    async def work(task: str) -> str:
        """Work."""
        await asyncio.sleep(0)
        done.append(task)
        return "done"

    return work


def once(*names: str) -> Callable[[ModelRequest], ScriptLine]:
    """Call some tools at a time, then repeat what the first one said."""

    def reply(request: ModelRequest) -> ScriptLine:
        found = results_in(request)
        return str(found[0]) if found else [call(name, f"c-{name}", task="go") for name in names]

    return reply


def chain(*agents: ChatAgent[Any]) -> Workflow:
    """Return a graph of agents, one after the other."""
    building = WorkflowBuilder("chain").set_start(agents[0])
    for before, after in pairwise(agents):
        building.add_edge(before, after)
    return building.build()


def as_agent_tool(flow: Workflow) -> Tool:
    return WorkflowAsAgent(flow, "flow").as_tool()


def as_flow_tool(flow: Workflow) -> Tool:
    return WorkflowTool(flow, "flow")


async def alone(boss: ChatAgent[Any]) -> AgentResponse[Any]:
    return await boss.run("go")


async def in_a_graph(boss: ChatAgent[Any]) -> AgentResponse[Any]:
    result = await WorkflowBuilder("w").set_start(boss).build().run("go")
    return result.output(AgentExecutorResponse).agent_response


@pytest.mark.parametrize("run", [alone, in_a_graph])
@pytest.mark.parametrize("make", [as_agent_tool, as_flow_tool])
async def test_the_limits_of_an_agent_hold_for_agents_in_a_workflow_that_it_calls(
    make: Callable[[Workflow], Tool], run: Callable[[ChatAgent[Any]], Any]
) -> None:
    done: list[str] = []
    worker = insatiable("worker", counted_tool(done))
    for limits, word in (
        (UsageLimits(max_model_calls=7), "max_model_calls=7"),
        (UsageLimits(max_tool_calls=5), "max_tool_calls=5"),
    ):
        done.clear()
        asked: list[ModelRequest] = []

        def reply(request: ModelRequest, asked: list[ModelRequest] = asked) -> ScriptLine:
            asked.append(request)
            return once("flow")(request)

        boss = ChatAgent(FunctionModel(reply), name="boss", tools=[make(chain(worker))], limits=limits)
        if "model" in word:
            with pytest.raises(AgentStoppedError, match=word) as stopped:
                await run(boss)
            usage = stopped.value.response.usage
            assert (usage.requests, usage.tool_calls, len(done)) == (7, 7, 6)
        else:
            response = await run(boss)
            assert "the agent that called it stopped: it reached max_tool_calls=5" in response.text
            assert (response.usage.requests, response.usage.tool_calls, len(done)) == (7, 5, 4)
            assert set(response.usage.models) == {"function:model", "model:worker"}


async def test_a_limit_of_a_run_of_a_workflow_agent_holds_for_its_agents() -> None:
    flow = chain(insatiable("worker", counted_tool([])))
    for limits in (UsageLimits(max_model_calls=3), UsageLimits(max_tool_calls=3)):
        with pytest.raises(AgentStoppedError, match=r"max_(model|tool)_calls=3"):
            await flow.as_agent("flow").run("go", options=RunOptions(limits=limits))


@pytest.mark.parametrize("run", [alone, in_a_graph])
@pytest.mark.parametrize("make", [as_agent_tool, as_flow_tool])
async def test_the_use_by_every_agent_of_a_workflow_counts_for_its_caller(
    make: Callable[[Workflow], Tool], run: Callable[[ChatAgent[Any]], Any]
) -> None:
    done: list[str] = []
    first, second = (
        insatiable(name, counted_tool(done), ends_after=count)
        for name, count in (("first", 2), ("second", 3))
    )
    boss = ChatAgent(FunctionModel(once("flow")), name="boss", tools=[make(chain(first, second))])
    response = await run(boss)
    assert len(done) == 5
    assert (response.usage.requests, response.usage.tool_calls) == (2 + 3 + 4, 1 + 5)
    found = {name: part.requests for name, part in response.usage.models.items()}
    assert found == {"function:model": 2, "model:first": 3, "model:second": 4}


async def test_the_use_before_a_wait_counts_also_for_agents_that_have_ended_before_it() -> None:
    """The graph around it is entered again with each answer; the first agent does not run again."""

    @executor(id="gate")
    async def gate(answer: AgentExecutorResponse, ctx: Any) -> str:
        await ctx.request_approval("go on", answer.text)
        return answer.text

    asked: Counter[str] = Counter()

    def agent(name: str, replies: int) -> ChatAgent[Any]:
        def reply(request: ModelRequest) -> ScriptLine:
            asked[name] += 1
            found = results_in(request)
            return "ready" if len(found) >= replies - 1 else call("work", task=f"{len(found)}")

        return ChatAgent(FunctionModel(reply, name=f"model:{name}"), name=name, tools=[counted_tool([])])

    inner = (
        WorkflowBuilder("inner")
        .set_start(first := agent("first", 3))
        .add_edge(first, gate)
        .add_edge(gate, agent("second", 2))
        .build()
    )
    limits = UsageLimits(max_model_calls=6)
    boss = ChatAgent(FunctionModel(once("flow")), name="boss", tools=[inner.as_agent("flow")], limits=limits)
    outer = WorkflowBuilder("outer").set_start(boss).build()
    store = MemoryCheckpointStore()
    waiting = await outer.run("go", run_id="r", checkpoints=store)
    assert waiting.status is RunStatus.WAITING_INPUT
    answers = {waiting.pending_requests[0].id: ApprovalResponse(approved=True)}
    with pytest.raises(AgentStoppedError, match="max_model_calls=6") as stopped:
        await outer.resume("r", checkpoints=store, responses=answers)
    assert asked == {"first": 3, "second": 2}
    found = {name: part.requests for name, part in stopped.value.response.usage.models.items()}
    assert found == {"function:model": 1, "model:first": 3, "model:second": 2}


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("calls", [1, 3])
async def test_agents_at_a_time_make_no_more_calls_than_their_caller_may(depth: int, calls: int) -> None:
    """The calls of one agent count for the others before it has ended, and while they run."""
    done: list[str] = []
    agents: list[ChatAgent[Any]] = []
    for name in ("one", "two", "three"):
        agent = insatiable(f"{name}-worker" if depth else name, counted_tool(done), calls=calls)
        agents.append(insatiable(name, agent) if depth else agent)
    limits = UsageLimits(max_tool_calls=20)
    boss = ChatAgent(FunctionModel(once("one", "two", "three")), name="boss", tools=agents, limits=limits)
    response = await boss.run("go")
    assert "max_tool_calls=20" in response.text
    assert response.usage.tool_calls <= 20
    assert 20 - calls - 3 <= len(done) + 3 + 3 * depth <= 20


def payer(done: list[str], *, name: str = "payer") -> ChatAgent[Any]:
    """Return an agent that needs an approval for each thing it is told to buy."""

    @tool(approval="always")
    async def pay(what: str) -> str:
        """Pay."""
        done.append(what)
        return f"paid {what}"

    def reply(request: ModelRequest) -> ScriptLine:
        found = results_in(request)
        return f"{name}: {', '.join(found)}" if found else [call("pay", what="tea"), call("pay", what="ink")]

    return ChatAgent(FunctionModel(reply, name=f"model:{name}"), name=name, tools=[pay])


def boss_of(*agents: Any) -> ChatAgent[Any]:
    def reply(request: ModelRequest) -> ScriptLine:
        found = results_in(request)
        names = [name_of(agent) for agent in agents]
        return (
            " | ".join(map(str, found)) if found else [call(name, f"c-{name}", task="go") for name in names]
        )

    return ChatAgent(FunctionModel(reply, name="model:boss"), name="boss", tools=agents)


def stored(thread: AgentThread) -> AgentThread:
    """Return the thread as another process reads it."""
    return AgentThread.deserialize(thread.serialize())


async def test_an_agent_that_is_a_tool_waits_in_the_thread_of_its_caller() -> None:
    done: list[str] = []
    agent = boss_of(payer(done))
    thread = agent.new_thread()
    waiting = await agent.run("go", thread)
    assert (waiting.status, done) == (ResponseStatus.NEEDS_INPUT, [])
    tea, ink = waiting.pending
    assert (tea.kind, tea.asked_by, tea.question) == (RequestKind.APPROVAL, "c-payer", "call pay")
    assert tea.call is not None
    assert tea.call.arguments == {"what": "tea"}
    with pytest.raises(ThreadBusyError):
        await agent.run("And?", thread)
    thread = stored(thread)
    assert thread.pending == (tea, ink)
    still = await boss_of(payer(done)).run(RequestAnswer(request_id=ink.id), thread)
    assert (still.pending, done) == ((tea,), [])
    thread = stored(thread)
    no = RequestAnswer(request_id=tea.id, approved=False, reason="too hot")
    response = await boss_of(payer(done)).run(no, thread)
    assert done == ["ink"]
    assert "too hot" in response.text
    assert response.text.endswith("paid ink")
    assert (response.usage.requests, response.usage.tool_calls) == (4, 2)
    assert {name: part.requests for name, part in response.usage.models.items()} == {
        "model:boss": 2,
        "model:payer": 2,
    }


async def test_agents_at_a_time_and_in_each_other_wait_with_requests_of_their_own() -> None:
    done: list[str] = []

    def agent() -> ChatAgent[Any]:
        return boss_of(payer(done, name="ann"), payer(done, name="bob"))

    def host() -> ChatAgent[Any]:
        return ChatAgent(FunctionModel(once("boss"), name="model:host"), name="host", tools=[agent()])

    store = MemoryThreadStore()
    thread = AgentThread.new("host", store=store)
    waiting = await host().run("go", thread)
    assert len({one.id for one in waiting.pending}) == 4
    assert Counter(one.asked_by for one in waiting.pending) == {"c-boss": 4}
    response = waiting
    for request in waiting.pending:  # each answer in another process
        thread = await AgentThread.load(thread.id, store)
        response = await host().run(RequestAnswer(request_id=request.id), thread)
    assert response.text == "ann: paid tea, paid ink | bob: paid tea, paid ink"
    assert sorted(done) == ["ink", "ink", "tea", "tea"]
    assert (response.usage.requests, response.usage.tool_calls) == (2 + 2 + 4, 1 + 2 + 4)


async def test_a_workflow_that_is_an_agent_and_a_tool_waits_in_the_thread_of_its_caller() -> None:
    @executor(id="shout")
    async def shout(text: str, ctx: Any) -> str:
        await ctx.request_approval("shout", text)
        return text.upper()

    def agent() -> ChatAgent[Any]:
        flow = WorkflowBuilder("shouting").set_start(shout).build()
        return boss_of(flow.as_agent("shouter"))

    thread = agent().new_thread()
    waiting = await agent().run("go", thread)
    assert [one.asked_by for one in waiting.pending] == ["c-shouter"]
    response = await agent().run(RequestAnswer(request_id=waiting.pending[0].id), stored(thread))
    assert response.text == "GO"


async def test_a_nested_question_that_expires_counts_as_rejected() -> None:
    def agent() -> ChatAgent[Any]:
        inner = ChatAgent(FunctionModel(once("ask_person")), name="asker", tools=[ask_person()])
        return boss_of(inner)

    thread = agent().new_thread()
    waiting = await agent().run("go", thread, options=RunOptions(approval_s=0.0))
    assert waiting.status is ResponseStatus.COMPLETE
    assert "no person answered in time" in waiting.text
    thread = agent().new_thread()
    waiting = await agent().run("go", thread, options=RunOptions(approval_s=60))
    assert waiting.pending[0].expires_at is not None
    assert waiting.pending[0].kind is RequestKind.RESULT
    answer = RequestAnswer(request_id=waiting.pending[0].id, result="blue")
    assert (await agent().run(answer, thread)).text == "blue"


async def test_a_call_that_waits_does_not_hold_up_the_calls_beside_it() -> None:
    done: list[str] = []
    work = counted_tool(done)
    agent = boss_of(payer(done), work)
    thread = agent.new_thread()
    waiting = await agent.run("go", thread)
    assert done == ["go"]
    answers = [RequestAnswer(request_id=one.id) for one in waiting.pending]
    response = await boss_of(payer(done), counted_tool(done)).run(answers, stored(thread))
    assert response.text in ("payer: paid tea, paid ink | done", "done | payer: paid tea, paid ink")
    assert done == ["go", "tea", "ink"]


def test_a_stored_thread_without_nested_parts_reads_as_before() -> None:
    entry = '{"turn":"1","usage":{"requests":1}}'
    old = '{"format":1,"id":"t","metadata":{"agent":"a","created_at":1.0},"entries":[' + entry + "]}"
    thread = AgentThread.deserialize(old)
    assert thread.usage == TokenUsage(requests=1)
    assert b"paused" not in thread.serialize()


async def test_a_scripted_caller_reads_the_answer_of_the_agent_that_waited() -> None:
    done: list[str] = []
    model = ScriptedModel([call("payer", "c1", task="go"), "Thanks."])
    agent = ChatAgent(model, name="boss", tools=[payer(done)])
    thread = agent.new_thread()
    waiting = await agent.run("go", thread)
    answers = [RequestAnswer(request_id=one.id) for one in waiting.pending]
    assert (await agent.run(answers, thread)).text == "Thanks."
    assert model.requests[1].messages[-1].tool_results[0].content == "payer: paid tea, paid ink"
