"""Calls that pause: with questions to people, and as savepoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agentic.core import MemoryCheckpointStore, RunStatus
from agentic.core.agents import (
    AgentExecutorResponse,
    AgentThread,
    ChatAgent,
    ExternalTool,
    Guard,
    RequestAnswer,
    RequestKind,
    ResponseStatus,
    RunOptions,
    Tool,
    ToolContext,
    ToolDefinitionError,
    ToolPause,
    ToolQuestion,
    Toolset,
    UsageLimits,
    tool,
)
from agentic.core.graph import ApprovalRequest, WorkflowBuilder
from agentic.core.llm import ScriptedModel, ToolCall
from agentic.core.types import JSONValue


class Sizing(Tool):
    """Asks for a size, then for a colour, and saves itself in between."""

    def __init__(self, log: list[str], description: str = "Order a shirt.") -> None:
        super().__init__("order", description, {"type": "object", "properties": {}})
        self.log = log

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
        del arguments
        before = context.continued
        if before is None:
            self.log.append("reserved")
            return ToolPause(state={"step": "size"}, questions=(_question("size"),))
        state = before.pause.state
        assert isinstance(state, dict)
        if state["step"] == "size":
            answer = before.answers["size"]
            said = answer.result if answer.approved else f"none: {answer.reason}"
            return ToolPause(state={"step": "saved", "size": said})
        if state["step"] == "saved":
            self.log.append("paid")
            return ToolPause(state={**state, "step": "colour"}, questions=(_question("colour"),))
        return f"{state['size']} {before.answers['colour'].result} ({context.idempotency_key[-8:]})"


def _question(key: str) -> ToolQuestion:
    return ToolQuestion(key=key, question=f"Which {key}?", data={"field": key})


def agent_of(log: list[str], *, replies: Sequence[Any] | None = None, **facts: Any) -> ChatAgent[Any]:
    order = ToolCall(id="a", name="order", arguments={})
    return ChatAgent(ScriptedModel(replies or [[order], "done"]), tools=[Sizing(log)], **facts)


def result_in(thread: AgentThread) -> object:
    return [result.content for message in thread.messages for result in message.tool_results][-1]


async def test_a_call_asks_people_in_rounds_and_continues_in_another_process() -> None:
    log: list[str] = []
    agent = agent_of(log)
    thread = agent.new_thread()
    response = await agent.run("go", thread)
    for answer in ("L", "red"):
        assert response.status is ResponseStatus.NEEDS_INPUT
        (request,) = response.pending
        assert request.kind is RequestKind.INFO
        assert request.call is not None
        assert request.call.name == "order"
        thread = AgentThread.deserialize(thread.serialize())
        response = await agent_of(log, replies=["done"]).run(
            RequestAnswer(request_id=request.id, result=answer), thread
        )
    assert response.text == "done"
    assert result_in(thread) == "L red (tool.1.0)"
    assert log == ["reserved", "paid"]
    assert response.usage.tool_calls == 1


async def test_a_thread_that_is_restored_at_any_entry_does_no_part_of_a_call_twice() -> None:
    log: list[str] = []
    agent = agent_of(log)
    thread = agent.new_thread()
    first = await agent.run("go", thread)
    second = await agent.run(RequestAnswer(request_id=first.pending[0].id, result="L"), thread)
    await agent.run(RequestAnswer(request_id=second.pending[0].id, result="red"), thread)
    whole = result_in(thread)
    savepoint = next(
        number
        for number, entry in enumerate(thread.entries)
        if entry.paused and entry.paused["a"].number == 2
    )
    for cut in range(savepoint + 1, len(thread.entries)):
        log.clear()
        part = AgentThread(thread.metadata, thread_id=thread.id, entries=thread.entries[:cut])
        response = await agent_of(log, replies=["done"]).run((), part)
        while response.pending:
            answers = [RequestAnswer(request_id=one.id, result="red") for one in response.pending]
            response = await agent_of(log, replies=["done"]).run(answers, part)
        assert result_in(part) == whole
        assert "reserved" not in log


@pytest.mark.parametrize("is_expired", [False, True])
async def test_a_question_that_is_declined_or_expires_is_the_tools_to_handle(is_expired: bool) -> None:
    agent = agent_of([])
    thread = agent.new_thread()
    options = RunOptions(approval_s=1e-6 if is_expired else None)
    response = await agent.run("go", thread, options=options)
    declined = RequestAnswer(request_id=response.pending[0].id, approved=False, reason="not now")
    response = await agent.run(() if is_expired else declined, thread)
    await agent.run(RequestAnswer(request_id=response.pending[-1].id, result="red"), thread)
    reason = "no person answered in time" if is_expired else "not now"
    assert str(result_in(thread)).startswith(f"none: {reason} red")


async def test_a_question_is_asked_again_when_the_tool_has_changed_meanwhile() -> None:
    log: list[str] = []
    agent = agent_of(log)
    thread = agent.new_thread()
    asked = (await agent.run("go", thread)).pending[0]
    changed = ChatAgent(ScriptedModel(["done"]), tools=[Sizing(log, "Order trousers.")])
    response = await changed.run(RequestAnswer(request_id=asked.id, result="L"), thread)
    assert [one.question for one in response.pending] == ["Which size?"]
    assert response.pending[0].id != asked.id


async def test_a_paused_call_counts_once_for_the_limit_of_calls() -> None:
    agent = agent_of([], limits=UsageLimits(max_tool_calls=1))
    thread = agent.new_thread()
    response = await agent.run("go", thread)
    while response.pending:
        response = await agent.run(RequestAnswer(request_id=response.pending[0].id, result="x"), thread)
    assert response.text == "done"


async def test_a_call_that_pauses_without_end_is_stopped() -> None:
    rounds = 0

    @tool
    async def order(ctx: ToolContext) -> ToolPause:
        """Order."""
        nonlocal rounds
        rounds += 1
        return ToolPause(state=rounds)

    call = ToolCall(id="a", name="order", arguments={})
    agent = ChatAgent(ScriptedModel([[call], "done"]), tools=[order])
    thread = agent.new_thread()
    assert (await agent.run("go", thread)).text == "done"
    assert rounds == 101
    assert "asked 100 times without a result" in str(result_in(thread))


async def test_a_guard_stops_a_call_that_is_continued() -> None:
    class Late(Guard):
        is_on = False

        async def check_call(self, call: ToolCall) -> str | None:
            return "the shop is closed" if self.is_on else None

    guard = Late()
    log: list[str] = []
    agent = agent_of(log, guards=[guard])
    thread = agent.new_thread()
    request = (await agent.run("go", thread)).pending[0]
    guard.is_on = True
    await agent.run(RequestAnswer(request_id=request.id, result="L"), thread)
    assert result_in(thread) == "the shop is closed"
    assert log == ["reserved"]


async def test_a_call_in_a_graph_asks_through_the_run_and_no_text_declines() -> None:
    log: list[str] = []
    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w").set_start(agent_of(log, name="seller")).build()
    result = await flow.run("go", run_id="r", checkpoints=store)
    for answer in ("L", ""):
        assert result.status is RunStatus.WAITING_INPUT
        (request,) = result.pending_requests
        assert isinstance(request.data, ApprovalRequest)
        assert isinstance(request.data.details, dict)
        assert request.data.details["data"] == {"field": "size" if answer else "colour"}
        result = await flow.resume("r", checkpoints=store, responses={request.id: answer})
    assert result.output(AgentExecutorResponse).text == "done"
    assert log == ["reserved", "paid"]


class Remote(Toolset):
    """Tools of a server that can fail."""

    def __init__(self, *tools: Tool) -> None:
        self.offered = list(tools)
        self.is_down = False
        self.closed = 0

    async def tools(self) -> Sequence[Tool]:
        if self.is_down:
            raise ConnectionError("the server is down")
        return self.offered

    async def aclose(self) -> None:
        self.closed += 1


async def test_the_tools_of_a_toolset_are_asked_for_in_each_turn() -> None:
    remote = Remote()
    model = ScriptedModel(["one", "two", "three"])
    agent = ChatAgent(model, tools=[remote])
    thread = agent.new_thread()
    await agent.run("a", thread)
    remote.offered.append(ExternalTool("new", "New.", {"type": "object"}))
    await agent.run("b", thread)
    assert [[one.name for one in request.tools] for request in model.requests] == [[], ["new"]]
    remote.is_down = True
    with pytest.raises(ConnectionError, match="the server is down"):
        await agent.run("c", thread)
    assert thread.messages[-1].text == "two"  # the question is not lost in a turn that could not begin
    remote.is_down = False
    remote.offered *= 2
    with pytest.raises(ToolDefinitionError, match="two tools are called 'new'"):
        await agent.run("c", thread)
    await agent.aclose()
    assert remote.closed == 1
