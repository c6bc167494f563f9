from __future__ import annotations

import asyncio
import time
from typing import Any, Never, cast

import pytest
from tests.unit.core.coding.programs import NeedsWord, code, words, writer

from agentic.core.coding import (
    AnyCode,
    CodingError,
    GeneratedCode,
    GeneratorInput,
    NeedsGraphError,
    SupervisedResult,
    Supervisor,
    TestOutput,
    ValidationMode,
    ValidationReport,
    ValidatorPipeline,
    WrongResultError,
)
from agentic.core.graph import (
    EventKind,
    Executor,
    MessageTypeError,
    RunResult,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.llm import ScriptedModel

BOTH = pytest.mark.parametrize("mode", list(ValidationMode))
TASK = GeneratorInput.new("Write the words", "python")


def loop(
    replies: list[str], pipeline: ValidatorPipeline, mode: ValidationMode
) -> tuple[Workflow, ScriptedModel]:
    """Return a graph that does as a supervisor does."""
    worker = writer("write", replies)
    builder = WorkflowBuilder("loop").set_start(worker)
    report = pipeline.connect(builder, worker, mode)

    @executor(id="end")
    async def end(report: ValidationReport) -> ValidationReport:
        return report

    builder.add_conditional_edge(report, end, lambda report: report.passed)
    builder.add_retry_edge(report, worker, when=lambda report: not report.passed, max_passes=3, exhausted=end)
    return builder.build(), cast(ScriptedModel, worker.model)


def ran(result: RunResult) -> list[str]:
    return [event.path for event in result.events if event.kind is EventKind.EXECUTOR_COMPLETED]


@pytest.mark.requirement("LG02", "LG03")
@pytest.mark.parametrize(
    ("mode", "text", "verdicts", "skipped"),
    [
        (ValidationMode.FAIL_FAST, "a b c", [True, True, True], ()),
        (ValidationMode.FAIL_FAST, "a c", [True, False], ("has_c",)),
        (ValidationMode.FAIL_FAST, "c", [False], ("has_b", "has_c")),
        (ValidationMode.ALL, "a b c", [True, True, True], ()),
        (ValidationMode.ALL, "c", [False, False, True], ()),
    ],
)
async def test_validators_stop_at_the_first_failure_or_all_run_with_and_without_a_graph(
    mode: ValidationMode, text: str, verdicts: list[bool], skipped: tuple[str, ...]
) -> None:
    pipeline = words("a", "b", "c")
    result = await pipeline.as_workflow("check", mode).run(code(text))
    report = result.output(ValidationReport)
    assert [one.passed for one in report.verdicts] == verdicts
    assert report.skipped == skipped
    assert report.passed == (text == "a b c")
    assert report.execution_time_ms == 2 * len(verdicts)
    assert await pipeline.validate(code(text), mode) == report
    for validator, name in zip(pipeline.validators, pipeline.names, strict=True):
        assert len(cast(NeedsWord, validator).seen) == (0 if name in skipped else 2)


@pytest.mark.requirement("LG03")
async def test_the_report_joins_findings_and_feedback_in_the_order_of_the_validators() -> None:
    report = await words("a", "b", "c").validate(code("b"), ValidationMode.ALL)
    assert report.errors == ("no a", "no c")
    assert report.feedback == "Write a.\n\nWrite c."
    assert [(one.validator, one.error_count, one.test_count) for one in report.verdicts] == [
        ("has_a", 1, 3),
        ("has_b", 0, 3),
        ("has_c", 1, 3),
    ]


@pytest.mark.requirement("LG03")
async def test_one_pipeline_serves_several_graphs_and_runs_at_a_time() -> None:
    pipeline = words("a", "b")
    graphs = [pipeline.as_workflow(f"check {mode}", mode) for mode in ValidationMode]
    texts = ["a b", "a", "b", "x"] * 3
    runs = [graph.run(code(text)) for graph in graphs for text in texts]
    reports = [result.output(ValidationReport) for result in await asyncio.gather(*runs)]
    assert [(report.code, report.passed) for report in reports] == [(t, t == "a b") for t in texts * 2]


@BOTH
async def test_a_pipeline_of_one_validator_makes_a_report(mode: ValidationMode) -> None:
    result = await words("a").as_workflow("check", mode).run(code("a"))
    assert result.output(ValidationReport).passed


@pytest.mark.parametrize("names", [[], ["x", "x"], ["x", "report"]])
def test_a_pipeline_without_validators_or_with_one_id_twice_is_refused(names: list[str]) -> None:
    with pytest.raises(CodingError, match="needs validators, each with an id of its own, but has"):
        ValidatorPipeline([NeedsWord(name, "a") for name in names])


async def test_programs_that_meet_in_one_pipeline_are_refused() -> None:
    @executor(id="two")
    async def two(text: str, ctx: WorkflowContext[GeneratedCode, Never]) -> None:
        for _ in range(2):
            await ctx.send_message(GeneratedCode(code=text, language="python"))

    builder = WorkflowBuilder("two programs").set_start(two)
    words("a", "b").connect(builder, two)
    with pytest.raises(CodingError, match="were given several programs at once"):
        await builder.build().run("a b")


@pytest.mark.requirement("LG01")
async def test_a_worker_is_supervised_until_its_validators_pass() -> None:
    worker = writer("write", ["x", "a", "a b"])
    result = await Supervisor().execute_with_validation(
        TASK, worker, words("a", "b"), ValidationMode.FAIL_FAST
    )
    assert (result.code, result.passed, result.attempt_count) == ("a b", True, 3)
    assert result.outputs == (
        "Generated 1 bytes of python",
        "has_a: False",
        "Generated 1 bytes of python",
        "has_a: True",
        "has_b: False",
        "Generated 3 bytes of python",
        "has_a: True",
        "has_b: True",
    )
    second, third = (request.messages[-1].text for request in cast(ScriptedModel, worker.model).requests[1:])
    assert "Attempt 1:\nWrite a." in second
    assert "Attempt 2:\nWrite b." in third


@pytest.mark.requirement("LG01")
@BOTH
@pytest.mark.parametrize("replies", [["a b"], ["x", "b", "a b"], ["x", "b", "a", "x"]])
async def test_a_supervisor_and_a_graph_do_the_same_work_with_the_same_prompts(
    replies: list[str], mode: ValidationMode
) -> None:
    worker, pipeline = writer("write", replies), words("a", "b")
    linear = await Supervisor().execute_with_validation(TASK, worker, pipeline, mode)
    graph, model = loop(replies, pipeline, mode)
    result = await graph.run(TASK)
    assert linear.report == result.output(ValidationReport)
    assert sorted(map(str, linear.outputs)) == sorted(x for x in result.outputs if isinstance(x, str))
    assert cast(ScriptedModel, worker.model).requests == model.requests
    assert linear.attempt_count == ran(result).count("write") == len(replies)


class Works(NeedsWord):
    """Keeps the processor busy for 5 ms; the tools of TypeScript take 100 ms and more."""

    taken_s = 0.0

    @handler
    async def on_code(self, given: AnyCode, ctx: WorkflowContext[Never, str]) -> TestOutput:
        begun = time.process_time()
        while time.process_time() < begun + 0.005:
            pass
        self.taken_s += time.process_time() - begun
        return await super().on_code(given, ctx)


@pytest.mark.requirement("SC06", "XA09")
async def test_a_graph_takes_at_most_a_fifth_more_than_the_linear_loop() -> None:
    shares = []
    for _ in range(3):  # the least counts: others use this machine, too
        validators = [Works("has_a", "a"), Works("has_b", "b")]
        pipeline, replies = ValidatorPipeline(validators), ["x", "a", "a b"]
        begun = time.process_time()
        assert (await Supervisor().execute_with_validation(TASK, writer("write", replies), pipeline)).passed
        between, linear_work = time.process_time(), sum(one.taken_s for one in validators)
        assert (await loop(replies, pipeline, ValidationMode.FAIL_FAST)[0].run(TASK)).is_success
        graph_work = sum(one.taken_s for one in validators) - linear_work
        linear = (between - begun) / linear_work
        shares.append((time.process_time() - between) / graph_work / linear - 1)
    assert min(shares) <= 0.2


@pytest.mark.requirement("LG01")
async def test_the_last_code_is_returned_when_no_attempt_is_left() -> None:
    result = await Supervisor(max_attempts=2).execute_with_validation(
        TASK, writer("w", ["x", "y"]), words("a")
    )
    assert (result.code, result.passed, result.attempt_count) == ("y", False, 2)
    unchecked = await Supervisor().execute_with_validation(TASK, writer("w", ["x"]))
    assert unchecked == SupervisedResult(
        code="x",
        language="python",
        report=None,
        attempt_count=1,
        outputs=("Generated 1 bytes of python",),
    )
    assert unchecked.passed


class Odd(Executor):
    @handler
    async def on_text(self, text: str, ctx: WorkflowContext[Any, Any]) -> str:
        return text if text == "plain" else str(ctx.get_state("key"))


async def test_a_supervisor_says_what_it_cannot_do() -> None:
    supervisor = Supervisor()
    with pytest.raises(CodingError, match="max_attempts is 0"):
        Supervisor(max_attempts=0)
    with pytest.raises(WrongResultError, match="executor 'odd' returned a str"):
        await supervisor.execute_with_validation("plain", Odd("odd"))
    with pytest.raises(NeedsGraphError, match=r"executor 'odd' needs ctx\.get_state, which only a graph has"):
        await supervisor.execute_with_validation("state", Odd("odd"))
    with pytest.raises(MessageTypeError):
        await supervisor.execute_with_validation(TASK, Odd("odd"))
