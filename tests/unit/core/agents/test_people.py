"""Approvals and questions: bound to one call, consumed once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.agents import (
    AgentStoppedError,
    AgentThread,
    AnswerMismatchError,
    ChatAgent,
    FunctionTool,
    Guard,
    RequestAnswer,
    ResponseStatus,
    RunOptions,
    ThreadBusyError,
    UsageLimits,
    ask_person,
    tool,
)
from agentic.core.llm import ChatMessage, ScriptedModel, ToolCall


def shop(done: list[str]) -> list[FunctionTool]:
    """Return a tool that needs approval, one that needs it above 100, and one that needs none."""

    @tool(approval="always")
    async def buy(thing: str) -> str:
        """Buy a thing."""
        done.append(f"buy {thing}")
        return f"bought {thing}"

    @tool(approval=lambda arguments: isinstance(arguments["amount"], int) and arguments["amount"] > 100)
    async def pay(amount: int) -> str:
        """Pay an amount."""
        done.append(f"pay {amount}")
        return f"paid {amount}"

    @tool
    async def look(thing: str) -> str:
        """Look at a thing."""
        done.append(f"look {thing}")
        return f"saw {thing}"

    return [buy, pay, look]


def buy(call_id: str, thing: str) -> ToolCall:
    return ToolCall(id=call_id, name="buy", arguments={"thing": thing})


async def test_an_approved_call_runs_a_rejected_one_never_and_the_model_reads_why() -> None:
    done: list[str] = []
    calls = [
        buy("a", "tea"),
        buy("b", "car"),
        ToolCall(id="c", name="look", arguments={"thing": "x"}),
        ToolCall(id="d", name="pay", arguments={"amount": 5}),
        ToolCall(id="e", name="pay", arguments={"amount": 500}),
    ]
    model = ScriptedModel([calls, "done"])
    agent = ChatAgent(model, tools=shop(done))
    thread = agent.new_thread()
    waiting = await agent.run("go", thread)
    assert waiting.status is ResponseStatus.NEEDS_INPUT
    assert done == ["look x", "pay 5"]
    tea, car, pay = waiting.pending
    assert [request.call and request.call.arguments for request in waiting.pending] == [
        {"thing": "tea"},
        {"thing": "car"},
        {"amount": 500},
    ]
    with pytest.raises(ThreadBusyError, match=tea.id):
        await agent.run("never mind", thread)
    half = await agent.run(RequestAnswer(request_id=tea.id), thread)
    assert [request.id for request in half.pending] == [car.id, pay.id]
    answers = [
        RequestAnswer(request_id=car.id, approved=False, reason="too dear"),
        RequestAnswer(request_id=pay.id, approved=False),
    ]
    response = await agent.run(answers, thread)
    assert response.text == "done"
    assert done == ["look x", "pay 5", "buy tea"]
    results = {one.call_id: one for one in model.requests[1].messages[-1].tool_results}
    assert results["b"].content == "a person rejected the call; the tool was not called: too dear"
    assert results["b"].is_error
    assert results["a"].content == "bought tea"


async def test_an_answer_counts_once_and_only_for_an_open_request() -> None:
    done: list[str] = []
    agent = ChatAgent(ScriptedModel([buy("a", "tea"), "done", "x"]), tools=shop(done))
    thread = agent.new_thread()
    request = (await agent.run("go", thread)).pending[0]
    await agent.run(RequestAnswer(request_id=request.id), thread)
    for wrong in (request.id, "other"):
        with pytest.raises(AnswerMismatchError, match=f"no open request has the id '{wrong}'"):
            await agent.run(RequestAnswer(request_id=wrong), thread)
    assert done == ["buy tea"]


async def test_an_approval_is_void_when_the_tool_has_changed_meanwhile() -> None:
    done: list[str] = []
    before = ChatAgent(ScriptedModel([buy("a", "tea")]), tools=shop(done))
    thread = before.new_thread()
    request = (await before.run("go", thread)).pending[0]

    @tool(name="buy", approval="always")
    async def buy_twice(thing: str) -> str:
        """Buy a thing twice."""
        done.append(f"twice {thing}")
        return thing

    after = ChatAgent(ScriptedModel(["done"]), tools=[buy_twice])
    again = await after.run(RequestAnswer(request_id=request.id), thread)
    assert again.status is ResponseStatus.NEEDS_INPUT
    assert again.pending[0].id != request.id
    assert done == []


async def test_a_request_that_expires_counts_as_rejected() -> None:
    done: list[str] = []
    model = ScriptedModel([buy("a", "tea"), "done"])
    agent = ChatAgent(model, tools=shop(done))
    thread = agent.new_thread()
    options = RunOptions(approval_s=0.0)
    response = await agent.run("go", thread, options=options)
    while not response.is_complete:
        response = await agent.run((), thread, options=options)
    assert done == []
    assert model.requests[1].messages[-1].tool_results[0].content == (
        "no person answered in time; the tool was not called"
    )


async def test_a_model_asks_a_person_and_reads_the_answer() -> None:
    call = ToolCall(id="a", name="ask_person", arguments={"question": "Which size?"})
    model = ScriptedModel([call, "Size 42 it is."])
    agent = ChatAgent(model, tools=[ask_person()])
    thread = agent.new_thread()
    request = (await agent.run("shoes", thread)).pending[0]
    assert request.question == "Which size?"
    response = await agent.run(RequestAnswer(request_id=request.id, result="42"), thread)
    assert response.text == "Size 42 it is."
    assert model.requests[1].messages[-1].tool_results[0].content == "42"


@given(seed=st.integers(min_value=0, max_value=2**32), count=st.integers(min_value=1, max_value=5))
async def test_no_history_of_restarts_and_answers_runs_a_call_without_its_approval(
    seed: int, count: int
) -> None:
    """Each step restores the thread as a new process does; answers come in any order, some twice or wrong."""
    chance = random.Random(seed)
    done: list[str] = []
    wishes = [buy(f"c{n}", f"thing{n % 3}") for n in range(count)]
    tools = shop(done)
    data = await _asked(tools, wishes)
    approved: list[str] = []
    for _ in range(20 * count):
        agent = ChatAgent(ScriptedModel(["done"]), tools=tools)
        thread = AgentThread.deserialize(data)
        if not thread.pending:
            break
        request = chance.choice(thread.pending)
        assert request.call is not None
        answer = RequestAnswer(request_id=request.id, approved=chance.random() < 0.5)
        await agent.run(answer, thread)
        if chance.random() < 0.3:  # the process died before this was kept: the answer comes again
            done.clear()
            done += [f"buy {thing}" for thing in approved]
            continue
        approved += [str(request.call.arguments["thing"])] * answer.approved
        with pytest.raises((AnswerMismatchError, ThreadBusyError)):
            await agent.run([answer, RequestAnswer(request_id="other")], thread)
        data = thread.serialize()
        assert sorted(done) == sorted(f"buy {thing}" for thing in approved)


async def _asked(tools: list[FunctionTool], wishes: list[ToolCall]) -> bytes:
    agent: ChatAgent[Any] = ChatAgent(ScriptedModel([wishes]), tools=tools)
    thread = agent.new_thread()
    await agent.run("go", thread)
    return thread.serialize()


async def test_an_approval_that_comes_after_its_end_is_a_rejection() -> None:
    done: list[str] = []
    model = ScriptedModel([buy("a", "tea"), "done"])
    agent = ChatAgent(model, tools=shop(done))
    thread = agent.new_thread()
    request = (await agent.run("go", thread, options=RunOptions(approval_s=1e-5))).pending[0]
    assert (await agent.run(RequestAnswer(request_id=request.id), thread)).text == "done"
    assert done == []
    assert "had expired" in str(model.requests[1].messages[-1].tool_results[0].content)


async def test_two_answers_to_one_request_are_refused() -> None:
    done: list[str] = []
    agent = ChatAgent(ScriptedModel([[buy("a", "tea"), buy("b", "car")], "done"]), tools=shop(done))
    thread = agent.new_thread()
    tea = (await agent.run("go", thread)).pending[0]
    no, yes = RequestAnswer(request_id=tea.id, approved=False), RequestAnswer(request_id=tea.id)
    wrong: list[list[ChatMessage | RequestAnswer]] = [[no, yes], [yes, yes, ChatMessage.user("quick!")]]
    for answers in wrong:
        with pytest.raises(AnswerMismatchError, match=tea.id):
            await agent.run(answers, thread)
    assert len(thread.pending) == 2
    assert done == []


async def test_an_approval_with_a_message_runs_the_call_before_the_model_reads_the_message() -> None:
    done: list[str] = []
    model = ScriptedModel([buy("a", "tea"), "done"])
    agent = ChatAgent(model, tools=shop(done))
    thread = agent.new_thread()
    request = (await agent.run("go", thread)).pending[0]
    await agent.run([RequestAnswer(request_id=request.id), ChatMessage.user("quick!")], thread)
    assert done == ["buy tea"]
    *_, result, message = model.requests[1].messages
    assert result.tool_results[0].content == "bought tea"
    assert message.text == "quick!"


async def test_a_guard_refuses_a_call_before_a_person_is_asked() -> None:
    class NoTea(Guard):
        async def check_call(self, call: ToolCall) -> str | None:
            return "no tea" if call.arguments["thing"] == "tea" else None

    model = ScriptedModel([[buy("a", "tea"), buy("b", "car")], "done"])
    agent = ChatAgent(model, tools=shop([]), guards=[NoTea()])
    thread = agent.new_thread()
    (request,) = (await agent.run("go", thread)).pending
    assert request.call is not None
    assert request.call.id == "b"
    await agent.run(RequestAnswer(request_id=request.id, approved=False), thread)
    assert model.requests[1].messages[-1].tool_results[0].content == "no tea"


async def test_a_person_is_asked_if_the_function_that_decides_fails_on_the_arguments() -> None:
    done: list[str] = []
    agent = ChatAgent(ScriptedModel([ToolCall(id="a", name="pay", arguments={"sum": 5})]), tools=shop(done))
    response = await agent.run("go")
    assert [one.call and one.call.id for one in response.pending] == ["a"]
    assert done == []


async def test_a_limit_stops_the_turn_before_people_are_asked() -> None:
    done: list[str] = []
    calls = [buy(f"c{number}", "tea") for number in range(3)]
    limits = UsageLimits(max_tool_calls=2)
    agent = ChatAgent(ScriptedModel([calls]), tools=shop(done), limits=limits)
    thread = agent.new_thread()
    with pytest.raises(AgentStoppedError, match="max_tool_calls=2"):
        await agent.run("go", thread)
    assert all(not entry.asked for entry in thread.entries)
    assert done == []


async def test_a_large_answer_of_a_person_is_cut_and_can_be_read_in_parts() -> None:
    call = ToolCall(id="a", name="ask_person", arguments={"question": "The contract?"})
    reading = ToolCall(id="b", name="read_result", arguments={"reference": "", "start": 0})
    model = ScriptedModel([call, reading, "Read."])
    agent = ChatAgent(model, tools=[ask_person()])
    thread = agent.new_thread()
    request = (await agent.run("go", thread)).pending[0]
    await agent.run(RequestAnswer(request_id=request.id, result="word " * 20_000), thread)
    given = model.requests[1].messages[-1].tool_results[0]
    assert len(str(given.content)) < 5_000
    assert given.reference is not None
    assert "read_result" in [one.name for one in model.requests[1].tools]
