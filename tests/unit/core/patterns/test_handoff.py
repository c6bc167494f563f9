"""Handoffs: control is passed between participants, and to people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.core.patterns.casts import says, spoken

from agentic.core import Executor, MemoryCheckpointStore, RunStatus, handler
from agentic.core.agents import (
    AgentExecutor,
    AgentSpec,
    ResponseStatus,
    SpecAgent,
    ToolDefinitionError,
    tool,
)
from agentic.core.agents.requests import RequestAnswer
from agentic.core.graph import ApprovalRequest, ApprovalResponse
from agentic.core.llm import ChatMessage, ToolCall
from agentic.core.patterns import (
    Handoff,
    HandoffBuilder,
    InvalidPatternError,
    PatternResult,
    UnknownParticipantError,
    handoff,
    keyword_termination,
)


def to(name: str, reason: str = "") -> ToolCall:
    arguments: dict[str, Any] = {"reason": reason} if reason else {}
    return ToolCall(id="", name=f"handoff_to_{name}", arguments=arguments)


@pytest.mark.requirement("PA20")
async def test_an_agent_passes_control_by_a_call_that_ends_its_turn() -> None:
    triage, code = says("triage", to("code", "a bug in Python")), says("code", "Fixed.")
    result = (await handoff("help", [triage, code, says("sales")]).run("It crashes")).output(PatternResult)
    assert spoken(result) == [
        (None, "It crashes"),
        ("triage", "a bug in Python"),
        ("code", "Fixed."),
    ]
    # One request each: the call is no reason to ask the model again.
    assert (result.usage.requests, result.reason, result.round_count) == (2, "code answered", 2)


async def test_the_tools_name_every_other_participant_and_the_agent_itself_is_not_changed() -> None:
    triage = says("triage", "Hello.")
    flow = handoff("help", [triage, says("code", description="mends bugs"), says("sales")])
    await flow.run("hi")
    model: Any = triage.setup.model
    tools = model.requests[0].tools
    assert [one.name for one in tools] == ["handoff_to_code", "handoff_to_sales"]
    assert "code (mends bugs)" in tools[0].description
    assert not triage.tools


@pytest.mark.requirement("PA21")
async def test_executors_functions_and_workflows_decide_by_their_answers() -> None:
    class Router(Executor):
        @handler
        async def on_text(self, text: str) -> str:
            return f"about {text}"

        def decide_handoff(self, result: str) -> str | None:
            return "code" if "bug" in result else None

    def code(said: list[ChatMessage]) -> Handoff | str:
        return Handoff(target="router", text="no fault") if len(said) < 3 else "done"

    flow = handoff("help", [Router("router"), code])
    first = (await flow.run("a bug")).output(PatternResult)
    assert [author for author, _ in spoken(first)] == [None, "router", "code", "router"]
    assert (await flow.run("the price")).output(PatternResult).reason == "router answered"


@pytest.mark.requirement("PA20")
async def test_a_person_is_asked_by_a_request_and_gives_control_back_to_the_asker() -> None:
    store = MemoryCheckpointStore()

    def flow() -> Any:
        code = says("code", to("customer", "Which version?"), "Use 3.14.")
        return (
            HandoffBuilder("help")
            .participants([says("triage", to("code")), code])
            .with_person("customer")
            .build()
        )

    one = flow()
    waiting = await one.run("It crashes", run_id="r", checkpoints=store)
    assert waiting.status is RunStatus.WAITING_INPUT
    request = waiting.pending_requests[0]
    assert request.data == ApprovalRequest(action="Which version?", details={"asked_by": "code"})
    done = await one.resume("r", checkpoints=store, responses={request.id: "3.13"})
    assert spoken(done.output(PatternResult))[2:] == [
        ("code", "Which version?"),
        ("customer", "3.13"),
        ("code", "Use 3.14."),
    ]


async def test_a_conversation_with_a_person_ends_with_an_empty_answer() -> None:
    store = MemoryCheckpointStore()
    flow = (
        HandoffBuilder("help")
        .participants([says("triage", "Hello.", "Fine.")])
        .with_person("customer", after_answers=True)
        .build()
    )
    run = await flow.run("hi", run_id="r", checkpoints=store)
    for answer in ("how are you?", ""):
        run = await flow.resume("r", checkpoints=store, responses={run.pending_requests[0].id: answer})
    result = run.output(PatternResult)
    assert [text for _, text in spoken(result)] == ["hi", "Hello.", "how are you?", "Fine."]
    assert result.reason == "customer ended it"


async def test_a_mesh_as_an_agent_asks_its_user() -> None:
    flow = (
        HandoffBuilder("help")
        .participants([says("a", to("person", "Which?"), "Blue.")])
        .with_person()
        .build()
    )
    agent = flow.as_agent("desk")
    thread = agent.new_thread()
    waiting = await agent.run("A lamp", thread)
    assert waiting.status is ResponseStatus.NEEDS_INPUT
    assert waiting.pending[0].question == "Which?"
    answer = RequestAnswer(request_id=waiting.pending[0].id, result="the blue one")
    assert (await agent.run(answer, thread)).text == "Blue."


async def test_approvals_of_tools_still_ask_and_a_handoff_leaves_them_unasked() -> None:
    paid: list[int] = []

    @tool(approval="always")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    call = ToolCall(id="p", name="pay", arguments={"amount": 3})
    store = MemoryCheckpointStore()
    parts = [says("a", call, to("b"), "done", tools=[pay]), says("b", [call, to("a")], tools=[pay])]
    flow = handoff("h", parts)
    waiting = await flow.run("go", run_id="r", checkpoints=store)
    (request,) = waiting.pending_requests
    yes = ApprovalResponse(approved=True)
    result = (await flow.resume("r", checkpoints=store, responses={request.id: yes})).output(PatternResult)
    assert result.text == "done"
    assert paid == [3]  # b passed control on with an approval open: its call never ran


async def test_ways_can_be_limited_and_a_stranger_is_refused() -> None:
    def a(_: str) -> Handoff:
        return Handoff(target="c")

    parts: list[Any] = [a, says("b", "x"), says("c", "y")]
    flow = HandoffBuilder("h").participants(parts).add_handoff("a", "b").add_handoff("b", ["c"]).build()
    with pytest.raises(UnknownParticipantError, match=r"participant 'a' named 'c'.*known: b\)"):
        await flow.run("go")
    start = HandoffBuilder("h").participants(parts).with_start("c").build()
    assert (await start.run("go")).output(PatternResult).text == "y"


async def test_control_that_is_passed_to_and_fro_ends_at_the_limit_or_a_termination() -> None:
    def ping(_: str) -> Handoff:
        return Handoff(target="pong", text="ping")

    def pong(_: str) -> Handoff:
        return Handoff(target="ping", text="pong")

    mesh = HandoffBuilder("h").participants([ping, pong]).with_max_handoffs(3)
    assert (await mesh.build().run("go")).output(PatternResult).reason == "max_handoffs: 3 handoffs"
    ended = mesh.with_termination_condition(keyword_termination("pong")).build()
    assert (await ended.run("go")).output(PatternResult).reason == "a participant said 'pong'"


async def test_an_agent_that_is_data_passes_control_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_MODULE_PATH", json.dumps([str(tmp_path)]))
    (tmp_path / "desk.yaml").write_text("- call: {handoff_to_b: {reason: over to you}}\n", encoding="utf-8")
    desk = SpecAgent(AgentSpec.model_validate({"model": "scripted:desk.yaml", "name": "desk"}))
    result = (await handoff("h", [desk, says("b", "done")]).run("go")).output(PatternResult)
    assert spoken(result)[1:] == [("desk", "over to you"), ("b", "done")]


def test_names_that_do_not_fit_are_refused() -> None:
    mesh = HandoffBuilder("h").participants([says("a"), says("b")])
    with pytest.raises(InvalidPatternError, match=r"no participant is called 'z' \(known: a, b\)"):
        HandoffBuilder("h").participants([says("a"), says("b")]).with_start("z").build()
    with pytest.raises(InvalidPatternError, match="cannot hand over to itself"):
        mesh.add_handoff("a", ["a"]).build()
    with pytest.raises(InvalidPatternError, match="remembers its threads"):
        handoff("h", [AgentExecutor(says("a"), remembers=True), says("b")])

    def handoff_to_b(reason: str) -> str:
        return reason

    own = says("a", tools=[handoff_to_b])
    with pytest.raises(ToolDefinitionError, match="handoff_to_b"):
        handoff("h", [own, says("b")])
    with pytest.raises(InvalidPatternError, match="would be the same tool name"):
        handoff("h", [says("a"), AgentExecutor(says("b"), id="x y"), AgentExecutor(says("c"), id="x.y")])
