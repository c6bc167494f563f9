"""Evaluations in this process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from agentic.core.agents import AgentSpec, ChatAgent, tool
from agentic.core.errors import AgenticError
from agentic.core.evals import (
    CaseStatus,
    EvalAnswer,
    EvalCase,
    EvalTask,
    ExactEvaluator,
    TaskCall,
    evaluate,
)
from agentic.core.evals.case_models import CaseModels, ModelPolicy
from agentic.core.llm import (
    Budget,
    FunctionModel,
    LLMAdapter,
    ModelRequest,
    OverloadedError,
    ScriptLine,
    ToolCall,
)
from agentic.core.llm.open_models import OpenModels
from agentic.core.types import JSONValue

CASES = [
    EvalCase(id="lamp", input="lamp", expected="LAMP"),
    EvalCase(id="tea", input="tea", expected="coffee"),
]
SHOUT = EvalTask(agent=AgentSpec(model="fake:words", instructions="Repeat."))


def shouting(request: ModelRequest) -> ScriptLine:
    return request.messages[-1].text.upper()


async def test_an_agent_answers_each_case_and_averages_are_over_all_tries() -> None:
    agent = ChatAgent(FunctionModel(shouting), name="shouter")
    report = await evaluate(agent, CASES, [ExactEvaluator()], repeats=2, limits={"passed": 0.9})
    assert [one.status for one in report.results] == ["passed", "passed", "missed", "missed"]
    summary = report.summary
    assert (summary.cases, summary.tries, summary.averages) == (2, 4, {"passed": 0.5, "exact": 0.5})
    assert summary.usage.requests == 4
    assert summary.verdict() == "passed is 0.5, below 0.9"
    assert {one.case_id for one in report.unpassed} == {"tea"}


async def test_a_conversation_is_an_input() -> None:
    seen: list[list[str]] = []

    def reply(request: ModelRequest) -> ScriptLine:
        seen.append([f"{one.role}: {one.text}" for one in request.messages])
        return "yes"

    said: list[JSONValue] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
    ]
    await evaluate(ChatAgent(FunctionModel(reply)), [EvalCase(input=said)], [ExactEvaluator()])
    assert seen == [["user: Hi", "assistant: Hello", "user: Bye"]]


async def test_a_task_that_fails_is_a_failed_case_with_its_class_and_no_silent_pass() -> None:
    def broken(given: str) -> str:
        if given == "tea":
            raise OverloadedError("a:b", "busy")
        return given.upper()

    report = await evaluate(broken, CASES, [ExactEvaluator()])
    assert [one.status for one in report.results] == [CaseStatus.PASSED, CaseStatus.FAILED]
    failed = report.results[1]
    assert (failed.failure_class, failed.score, failed.scores) == ("overloaded", 0.0, {})
    assert report.summary.averages == {"passed": 0.5, "exact": 0.5}
    assert report.summary.failures == {"overloaded": 1}


async def test_an_evaluator_that_fails_fails_the_case() -> None:
    def broken(_: EvalAnswer) -> bool:
        raise RuntimeError("no dictionary")

    report = await evaluate(str.upper, CASES[:1], [ExactEvaluator(), broken])
    (result,) = report.results
    assert (result.status, result.failure_class) == (CaseStatus.FAILED, "error")
    assert result.error == "evaluator broken: RuntimeError: no dictionary"
    assert result.scores["exact"].passed


async def test_an_answer_that_takes_too_long_is_a_timeout() -> None:
    async def slow(_: str) -> str:
        await asyncio.Event().wait()
        return ""

    report = await evaluate(slow, CASES[:1], [ExactEvaluator()], timeout_s=0.01)
    assert (report.results[0].failure_class, report.results[0].error) == (
        "timeout",
        "no answer within 0.01 s",
    )


async def test_an_agent_that_asks_a_person_has_no_answer() -> None:
    @tool(approval="always")
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    call = ToolCall(id="1", name="pay", arguments={"amount": 3})
    agent = ChatAgent(FunctionModel(lambda _: call), tools=[pay])
    report = await evaluate(agent, CASES[:1], [ExactEvaluator()])
    (result,) = report.results
    assert result.failure_class == "needs_input"
    assert "waits for a person" in result.error
    assert result.usage.requests == 1


async def test_no_more_tries_run_at_a_time_than_wanted() -> None:
    running, most = 0, 0

    async def task(given: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return given

    cases = [EvalCase(input=str(number), expected=str(number)) for number in range(20)]
    report = await evaluate(task, cases, [ExactEvaluator()], parallel=3)
    assert (most, report.summary.pass_rate) == (3, 1.0)


async def test_recorded_replies_are_replayed_at_no_cost_for_each_repeat_its_own(tmp_path: Path) -> None:
    async def task(given: str, call: TaskCall) -> str:
        return (
            await call.model("fake:words").generate("", f"{given} {call.call_id.rpartition('.')[2]}")
        ).upper()

    kinds = [EvalCase(id="a/b", input="lamp", expected="LAMP 1")]
    first = await evaluate(
        task, kinds, [ExactEvaluator()], repeats=2, replies="record", recordings=tmp_path / "r"
    )
    assert [one.status for one in first.results] == ["passed", "missed"]
    budget = Budget(max_tokens=0)  # nothing can be asked
    again = await evaluate(
        task,
        kinds,
        [ExactEvaluator()],
        repeats=2,
        replies="replay",
        recordings=tmp_path / "r",
        budget=budget,
    )
    assert [one.answer for one in again.results] == [one.answer for one in first.results]
    assert again.summary.usage == first.summary.usage
    missing = await evaluate(
        task, kinds, [ExactEvaluator()], repeats=3, replies="replay", recordings=tmp_path / "r"
    )
    assert missing.summary.failures == {"not_recorded": 1}
    assert "run the evaluation once with --record" in missing.results[2].error


async def test_an_agent_as_data_is_replayed_too(tmp_path: Path) -> None:
    report = await evaluate(SHOUT, CASES, [ExactEvaluator()], replies="record", recordings=tmp_path)
    again = await evaluate(SHOUT, CASES, [ExactEvaluator()], replies="replay", recordings=tmp_path)
    assert [one.answer for one in again.results] == [one.answer for one in report.results] == ["lamp", "tea"]


async def test_a_budget_holds_and_cases_without_room_fail() -> None:
    report = await evaluate(SHOUT, CASES, [ExactEvaluator()], budget=Budget(max_tokens=10))
    assert report.summary.failures == {"budget_exceeded": 2}
    assert report.summary.usage.requests == 0


async def test_an_actor_is_a_task_and_repeats_ask_again() -> None:
    task = EvalTask(
        actor="classify", config={"model": "fake:words", "labels": ["lamp", "tea"]}, answer="label"
    )
    cases = [EvalCase(id="a", input="A lamp", expected="lamp"), EvalCase(id="b", input="Tea", expected="tea")]
    report = await evaluate(task, cases, [ExactEvaluator()], repeats=2)
    assert report.summary.pass_rate == 1.0
    assert report.summary.usage.requests == 4


async def test_a_pipeline_is_a_task() -> None:
    pipeline: dict[str, JSONValue] = {
        "name": "labels",
        "inputs": {"text": {}},
        "steps": [
            {
                "actor": "classify",
                "config": {"model": "fake:words", "text": "${inputs.text}", "labels": ["lamp", "tea"]},
            }
        ],
    }
    task = EvalTask(pipeline=pipeline, answer="0.label")
    report = await evaluate(task, [EvalCase(input="A lamp", expected="lamp")], [ExactEvaluator()])
    assert (report.results[0].error, report.summary.pass_rate) == ("", 1.0)
    assert report.summary.usage.requests == 1


async def test_a_part_that_the_result_does_not_have_is_no_answer() -> None:
    task = EvalTask(actor="classify", config={"model": "fake:words", "labels": ["lamp"]}, answer="lable")
    report = await evaluate(task, CASES[:1], [ExactEvaluator()])
    assert report.results[0].failure_class == "no_answer"
    assert "the answer has no 'lable'" in report.results[0].error


async def test_equal_names_and_unknown_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="two evaluators have the same name"):
        await evaluate(str.upper, CASES, [ExactEvaluator(), ExactEvaluator()])
    with pytest.raises(ValueError, match="'exakt' is not an evaluator"):
        await evaluate(str.upper, CASES, [ExactEvaluator()], limits={"exakt": 1})
    with pytest.raises(ValueError, match="needs recordings"):
        await evaluate(str.upper, CASES, [ExactEvaluator()], replies="replay")
    with pytest.raises(AgenticError, match="two cases have the id"):
        await evaluate(str.upper, [*CASES, *CASES], [ExactEvaluator()])


async def test_each_case_is_asked_once_for_each_repeat() -> None:
    asked: Counter[str] = Counter()

    def task(given: str) -> str:
        asked[given] += 1
        return given

    await evaluate(task, CASES, [ExactEvaluator()], repeats=3)
    assert asked == {"lamp": 3, "tea": 3}


async def test_models_of_one_name_on_two_servers_keep_their_replies_apart() -> None:
    kept: dict[str, JSONValue] = {}

    async def once(key: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        if key not in kept:
            kept[key] = await work()
        return kept[key]

    class Servers(OpenModels):
        def open(self, name: str, options: Mapping[str, JSONValue] | None = None) -> LLMAdapter:
            place = str((options or {}).get("base_url"))
            return FunctionModel(lambda _: place, name=name)

    for _ in range(2):  # the second time, nothing is asked
        models = CaseModels(Servers(), ModelPolicy(), "x.jsonl", once=once)
        said = [
            await models.named("test:m", base_url=place, api_key=f"key of {place}").generate("", "Who?")
            for place in ("one", "two", "one")
        ]
        assert said == ["one", "two", "one"]
        assert models.usage.requests == 3
    assert len(kept) == 3
    assert "key of" not in str(kept)
