from __future__ import annotations

import asyncio

import pytest
from tests.unit.core.coding.programs import NeedsWord, words, writer

from agentic.core.coding import (
    Arbiter,
    CodeFinding,
    CodingError,
    CompileOutput,
    FindingLevel,
    GeneratedCode,
    GenerationRequest,
    GeneratorInput,
    NoCandidateError,
    RepairEngine,
    RepairResult,
    TestOutput,
    ValidationMode,
    ValidationReport,
    best_of,
)
from agentic.core.graph import Executor, MemoryCheckpointStore, WorkflowBuilder, executor, handler
from agentic.core.llm import OverloadedError, ScriptedModel

pytestmark = pytest.mark.requirement("LG11")

REPAIRS = [("first", "a"), ("second", "a b"), ("third", "b b b")]
TASK = GeneratorInput.new("Write the words", "python")


async def chosen(
    *replies: str | Exception, mode: ValidationMode = ValidationMode.ALL
) -> tuple[str, list[str]]:
    """Return the best code of writers with one reply each, and the texts of the run."""
    writers = [writer(f"writer_{number}", [reply]) for number, reply in enumerate(replies, 1)]
    result = await best_of("best", writers, words("a", "b", "c"), mode).run(TASK)
    return result.output(ValidationReport).code, [x for x in result.outputs if isinstance(x, str)]


@pytest.mark.parametrize(
    ("replies", "best"),
    [
        (("a", "a b c", "a b"), "a b c"),  # it passes
        (("a", "b c", "x"), "b c"),  # most validators
        (("a", "a a", "a a b"), "a a b"),
        (("a x", "a y y", "a z"), "a y y"),  # most tests
        (("a x", "b x", "c x"), "a x"),  # the first of equals
    ],
)
async def test_the_best_candidate_by_its_validators_wins(replies: tuple[str, ...], best: str) -> None:
    code, texts = await chosen(*replies)
    assert code == best
    verdict = "PASSED" if set("abc") <= set(best) else "FAILED"
    assert texts[-1] == f"Arbiter: {replies.index(best) + 1} of 3 ({verdict})"
    assert "writer_2: has_a: " in "\n".join(texts)


async def test_with_fail_fast_the_candidate_that_gets_furthest_wins() -> None:
    code, texts = await chosen("b c d e", "a", "a c", mode=ValidationMode.FAIL_FAST)
    assert code == "a c"  # of two equals by validators, the one with more tests
    assert "writer_1: has_b: True" not in texts


async def test_a_candidate_that_fails_does_not_count_unless_all_do() -> None:
    busy = OverloadedError("scripted:model", "busy")
    assert (await chosen(busy, "a", busy))[0] == "a"
    with pytest.raises(NoCandidateError, match=r"writer_1: OverloadedError: .*; writer_2: OverloadedError"):
        await chosen(busy, busy)


async def test_the_candidates_work_at_a_time() -> None:
    meeting = asyncio.Barrier(3)

    class Waits(Executor):
        @handler
        async def on_task(self, task: GenerationRequest) -> GeneratedCode:
            async with asyncio.timeout(10):
                await meeting.wait()  # passes when all are here
            return GeneratedCode(code=f"a b c {self.id}", language=task.language)

    flow = best_of("best", [Waits(name) for name in ("x", "y", "z")], words("a", "b"))
    result = await flow.run(GenerationRequest(task="Write", language="python"))
    assert result.output(ValidationReport).code == "a b c x"


def outcome(code: str, *levels: FindingLevel, passed: bool = True) -> CompileOutput:
    findings = tuple(CodeFinding(text="text", level=level) for level in levels)
    return CompileOutput(code=code, language="python", passed=passed, findings=findings)


async def test_an_arbiter_is_a_node_after_any_validators() -> None:
    error, warning = FindingLevel.ERROR, FindingLevel.WARNING
    candidates: dict[str, CompileOutput | TestOutput] = {
        "two_errors": outcome("1", error, error, passed=False),
        "two_warnings": outcome("2", warning, warning),
        "one_warning": outcome("3", warning),
        "also_one": outcome("4", warning),
        "untested": TestOutput(code="5", language="python", passed=False, test_count=9, tests_passed=8),
    }

    def node(name: str, output: CompileOutput | TestOutput) -> Executor:
        @executor(id=name)
        async def give(_: str) -> CompileOutput | TestOutput:
            return output

        return give

    nodes = [node(name, output) for name, output in candidates.items()]
    flow = (
        WorkflowBuilder("choose")
        .set_start(*nodes)
        .add_fan_in_edge(nodes, Arbiter("arbiter", yields_status=False), mode="available", on="always")
        .build()
    )
    assert (await flow.run("go")).outputs == (candidates["one_warning"],)


async def test_an_arbiter_chooses_among_repairs() -> None:
    check = [NeedsWord("has_a", "a")]
    engines = [RepairEngine(name, ScriptedModel([text]), check, max_rounds=1) for name, text in REPAIRS]
    flow = (
        WorkflowBuilder("choose")
        .set_start(*engines)
        .add_fan_in_edge(engines, Arbiter("arbiter", yields_status=False), mode="available", on="always")
        .build()
    )
    store = MemoryCheckpointStore()
    done = await flow.run(TASK, run_id="r", checkpoints=store)
    assert (done.output(RepairResult).code, done.output(RepairResult).tests_passed) == ("a b", 2)
    assert (await flow.resume("r", checkpoints=store)).outputs == done.outputs


def test_the_best_of_one_is_refused() -> None:
    with pytest.raises(CodingError, match="the best of 1 writers was asked for; give at least two"):
        best_of("best", [writer("x", [])], words("a"))
