"""A manager that plans, follows the progress, plans again when stuck, and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.core.patterns.casts import hears, says, spoken

from agentic.core import MemoryCheckpointStore, RunStatus
from agentic.core.graph import ApprovalRequest, ApprovalResponse
from agentic.core.llm import ScriptedModel
from agentic.core.patterns import (
    ComplexTask,
    InvalidPatternError,
    MagenticBuilder,
    PatternResult,
    SubTask,
    TaskResult,
    keyword_termination,
)


def plan(*steps: str, facts: str = "known") -> str:
    found = [dict(zip(("agent_id", "instruction"), step.split(": "), strict=True)) for step in steps]
    return json.dumps({"facts": facts, "steps": found})


def ledger(speaker: str = "", words: str = "go on", **facts: object) -> str:
    known = {"is_request_satisfied": False, "next_speaker": speaker, "instruction_or_question": words}
    return json.dumps({**known, **facts})


SOLVED = ledger(is_request_satisfied=True)
STUCK: dict[str, Any] = {"is_progress_being_made": False}


def team(*lines: str, parts: Any = None, **limits: int) -> MagenticBuilder:
    parts = parts or [says("coder", *["code"] * 9, description="writes code"), says("tester", *["test"] * 9)]
    return MagenticBuilder("m").participants(parts).with_manager(ScriptedModel(lines)).with_limits(**limits)


@pytest.mark.requirement("PA22", "PA23")
async def test_a_plan_is_made_assigned_followed_and_answered() -> None:
    heard: list[list[str]] = []
    model = ScriptedModel(
        [plan("coder: write it", "tester: test it"), ledger("tester", "test it"), SOLVED, "Done."]
    )
    flow = (
        MagenticBuilder("m")
        .participants([hears("coder", heard, "print(1)"), hears("tester", heard, "it prints 1")])
        .with_manager(model)
        .build()
    )
    stream = flow.run_stream(ComplexTask(description="Print 1.", context="In Python."))
    events = [event.data for event in [event async for event in stream] if event.kind == "custom"]
    result = (await stream.result()).output(TaskResult)
    assert (result.text, result.is_satisfied, result.reason) == ("Done.", True, "the task is solved")
    assert (result.round_count, result.replan_count, result.usage.requests) == (2, 0, 6)
    assert result.plan == (
        SubTask(agent_id="coder", instruction="write it"),
        SubTask(agent_id="tester", instruction="test it"),
    )
    assert heard[1] == [
        "Print 1.\n\nIn Python.",
        "known\n\nPlan:\n1. coder: write it\n2. tester: test it",
        "coder: write it",
        "print(1)",
        "tester: test it",
    ]
    plans = [event["data"] for event in events if event["type"] == "plan.created"]
    assert plans == [{"steps": 2, "replan": 0}]


@pytest.mark.requirement("PA22")
async def test_work_that_is_stuck_gets_a_new_plan_and_then_an_answer_of_what_there_is() -> None:
    lines = [
        plan("coder: a"),
        ledger("tester", **STUCK),
        ledger("coder", is_in_loop=True, reason="the same again"),  # the second stall
        plan("tester: b", facts="code was no help"),
        ledger("coder", **STUCK),
        ledger("tester", **STUCK, reason="still nothing"),
        "As far as we came.",
    ]
    result = (await team(*lines, max_stalls=1, max_replans=1).build().run("Solve!")).output(TaskResult)
    assert (result.answer, result.is_satisfied) == ("As far as we came.", False)
    assert (result.reason, result.replan_count) == ("stuck after 2 plans: still nothing", 1)
    authors = [one.author_name for one in result.conversation if one.author_name != "planner"]
    assert authors == [None, "coder", "tester", "tester", "coder"]
    assert any("code was no help" in one.text for one in result.conversation)


async def test_progress_takes_stalls_back() -> None:
    lines = [
        plan("coder: a"),
        ledger("tester", **STUCK),
        ledger("tester"),
        ledger("tester", **STUCK),
        SOLVED,
        "ok",
    ]
    result = (await team(*lines, max_stalls=1, max_replans=0).build().run("Solve!")).output(TaskResult)
    assert (result.is_satisfied, result.round_count) == (True, 4)


async def test_a_member_that_fails_is_a_stall_and_not_the_end() -> None:
    def broken(_: str) -> str:
        raise OSError("no disk for token-123")

    lines = [plan("broken: a"), ledger("tester"), SOLVED, "ok"]
    flow = team(*lines, parts=[broken, says("tester", "test")]).build()
    result = (await flow.run("Solve!", run_id="r", checkpoints=MemoryCheckpointStore())).output(TaskResult)
    assert ("broken", "(failed with OSError)") in spoken(PatternResult(conversation=result.conversation))
    assert result.is_satisfied


async def test_an_unknown_speaker_is_a_stall_and_the_plan_goes_on() -> None:
    lines = [plan("coder: a", "tester: b"), ledger("nobody"), SOLVED, "ok"]
    result = (await team(*lines).build().run("Solve!")).output(TaskResult)
    assert [one.author_name for one in result.conversation if one.author_name != "planner"] == [
        None,
        "coder",
        "tester",
    ]


async def test_a_plan_for_strangers_is_asked_for_again_once() -> None:
    result = (await team(plan("zoe: a"), plan("coder: a"), SOLVED, "ok").build().run("x")).output(TaskResult)
    assert [one.agent_id for one in result.plan] == ["coder"]
    lines = [plan("zoe: a"), plan(), SOLVED, "ok"]  # an error would come again in each resumed run
    first = (await team(*lines).build().run("x")).output(TaskResult)
    assert first.plan == (SubTask(agent_id="coder", instruction="x"),)


async def test_the_work_ends_at_the_limit_of_rounds_or_a_termination() -> None:
    lines = [plan("coder: a"), ledger("tester"), ledger("coder"), "so far"]
    result = (await team(*lines, max_rounds=2).build().run("x")).output(TaskResult)
    assert (result.reason, result.round_count) == ("max_rounds: 2 steps", 2)
    ended = team(plan("coder: say code"), "so far").with_termination_condition(keyword_termination("code"))
    assert (await ended.build().run("x")).output(TaskResult).reason == "a participant said 'code'"


@pytest.mark.requirement("PA22")
async def test_a_person_reviews_the_plan_before_the_work_begins() -> None:
    store = MemoryCheckpointStore()
    flow = team(plan("coder: a"), plan("tester: b"), SOLVED, "ok").with_plan_review().build()
    waiting = await flow.run("x", run_id="r", checkpoints=store)
    assert waiting.status is RunStatus.WAITING_INPUT
    for verdict in (ApprovalResponse(approved=False, reason="test first"), ApprovalResponse(approved=True)):
        (request,) = waiting.pending_requests
        assert isinstance(request.data, ApprovalRequest)
        waiting = await flow.resume("r", checkpoints=store, responses={request.id: verdict})
    result = waiting.output(TaskResult)
    assert [one.agent_id for one in result.plan] == ["tester"]


async def test_a_person_who_refuses_all_plans_ends_the_work() -> None:
    store = MemoryCheckpointStore()
    flow = team(*[plan("coder: a")] * 3).with_plan_review().build()
    run = await flow.run("x", run_id="r", checkpoints=store)
    for _ in range(3):
        answers = {run.pending_requests[0].id: ApprovalResponse(approved=False)}
        run = await flow.resume("r", checkpoints=store, responses=answers)
    result = run.output(TaskResult)
    assert (result.reason, result.is_satisfied) == ("a person has refused 3 plans", False)
    assert (result.usage.requests, result.round_count) == (3, 0)


async def test_a_member_that_says_nothing_is_a_stall_that_the_manager_reads() -> None:
    def quiet(_: str) -> None: ...

    manager = ScriptedModel([plan("quiet: a"), SOLVED, "ok"])
    flow = MagenticBuilder("m").participants([quiet]).with_manager(manager).build()
    assert (await flow.run("x")).output(TaskResult).is_satisfied
    assert "quiet: (no answer)" in manager.requests[1].messages[0].text


def test_a_team_without_a_manager_and_limits_below_one_are_refused() -> None:
    with pytest.raises(InvalidPatternError, match=r"with_manager\(model\)"):
        MagenticBuilder("m").participants([says("a")]).build()
    with pytest.raises(InvalidPatternError, match="max_stalls is 0"):
        team(max_stalls=0)
    with pytest.raises(InvalidPatternError, match="max_replans is -1; give 0 or more"):
        team(max_replans=-1)
