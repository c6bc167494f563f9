"""The loop of repairs, with small checks of our own: real compilers are in the integration tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.coding.words import Words, drafts

from agentic.core.coding import (
    CodeFinding,
    CodeFingerprinter,
    CodingError,
    CompileOutput,
    GeneratedCode,
    GenerationRequest,
    GeneratorInput,
    RepairEnd,
    RepairEngine,
    RepairPick,
    RepairResult,
    SubTaskRequest,
    TestOutput,
)
from agentic.core.coding.executors.generator import listed
from agentic.core.coding.repairing.judging import RepairState, judge
from agentic.core.graph import (
    Executor,
    ExecutorKind,
    MemoryCheckpointStore,
    WorkflowBuilder,
    WorkflowConfig,
    executor,
    handler,
)
from agentic.core.llm import ScriptedModel, TieredModel

TASK = GeneratorInput.new("Say red, green and blue", "python")


@executor(id="accept")
async def accept(output: CompileOutput) -> CompileOutput:
    return output


async def repaired(engine: RepairEngine, task: object = TASK) -> RepairResult:
    return (await engine.workflow.run(task)).output(RepairResult)


@pytest.mark.requirement("LG05", "LG08")
async def test_a_draft_is_repaired_until_all_checks_pass() -> None:
    model = drafts("red", "red green", "red green blue", "spare")
    engine = RepairEngine("repair", model, [Words("first", "red"), Words("second", "green", "blue")])
    result = await repaired(engine, TASK.with_tests("TESTS"))
    assert (result.passed, result.ended, result.code) == (True, RepairEnd.PASSED, "red green blue\n")
    assert (result.rounds, result.best_round, result.check, result.tests) == (3, 3, "second", "TESTS")
    assert result.fingerprints == ("W1: no word blue | W1: no word green", "W1: no word blue", "")
    assert model.remaining_count == 1
    last = model.requests[-1].messages[-1].text
    assert last.endswith("The last attempt:\n```python\nred green\n```")
    assert "TESTS" not in last


@pytest.mark.requirement("LG05")
async def test_a_repair_ends_when_the_errors_no_longer_change() -> None:
    model = drafts("red", "red green", "green red", "green green red", "spare")
    result = await repaired(RepairEngine("repair", model, [Words("check", "red", "green", "blue")]))
    assert (result.passed, result.ended, result.rounds) == (False, RepairEnd.STUCK, 4)
    assert (result.code, result.best_round) == ("red green\n", 2)
    assert "The same errors came back." in model.requests[-1].messages[-1].text
    assert model.remaining_count == 1


class Cases(Executor):
    """A draft passes if it has all words; each one is a test, and all fail with the same words."""

    @handler
    async def on_code(self, given: GeneratedCode) -> TestOutput:
        failed = [word for word in ("red", "green", "blue") if word not in given.code]
        findings = tuple(CodeFinding(test=word, text="no") for word in failed)
        return TestOutput(
            code=given.code,
            language=given.language,
            passed=not failed,
            errors=tuple(map(str, findings)),
            findings=findings,
            test_count=3,
            tests_passed=3 - len(failed),
        )


@pytest.mark.requirement("LG05")
async def test_a_repair_continues_while_other_tests_fail_than_before() -> None:
    model = drafts("red green", "red blue", "green blue", "red green blue")
    assert (await repaired(RepairEngine("repair", model, [Cases("test")]))).rounds == 4
    stuck = await repaired(
        RepairEngine("repair", drafts("red green", "green red", "red green!"), [Cases("t")])
    )
    assert (stuck.ended, stuck.rounds) == (RepairEnd.STUCK, 3)


@pytest.mark.requirement("LG05")
@pytest.mark.parametrize("max_rounds", [1, 2, 3])
async def test_a_repair_ends_after_its_rounds_with_the_best_draft(max_rounds: int) -> None:
    texts = ["red", "red green", "blue"][:max_rounds]
    engine = RepairEngine(
        "repair", drafts(*texts), [Words("check", "red", "green", "blue")], max_rounds=max_rounds
    )
    result = await repaired(engine)
    assert (result.ended, result.rounds) == (RepairEnd.ROUNDS, max_rounds)
    assert (result.code, result.best_round) == ([("red\n", 1), ("red green\n", 2)][max_rounds > 1])


@pytest.mark.requirement("LG05")
async def test_a_draft_that_comes_further_in_the_checks_is_better() -> None:
    checks = [Words("first", "red"), Words("second", "green", "blue")]
    result = await repaired(RepairEngine("repair", drafts("red", "green blue"), checks, max_rounds=2))
    assert (result.code, result.check, result.best_round) == ("red\n", "second", 1)


async def test_a_reply_without_code_is_a_draft_that_fails() -> None:
    model = ScriptedModel(["", "```python\nred\n```"])
    result = await repaired(RepairEngine("repair", model, [Words("check", "red")]))
    assert (result.passed, result.rounds) == (True, 2)


@pytest.mark.requirement("LG05")
async def test_an_engine_is_a_node_that_takes_the_errors_of_later_nodes() -> None:
    model = drafts("red", "red green", "red green blue")
    engine = RepairEngine("repair", model, [Words("inner", "red", "green")])
    assert engine.kind is ExecutorKind.WORKER
    later = Words("later", "blue")
    workflow = (
        WorkflowBuilder("outer")
        .set_start(engine)
        .add_edge(engine, later)
        .add_edge(later, accept, lambda output: output.passed)
        .add_retry_edge(later, engine, when=lambda output: not output.passed)
        .build()
    )
    store = MemoryCheckpointStore()
    done = await workflow.run(TASK.to_value(), run_id="r", checkpoints=store)
    assert done.output(CompileOutput).code == "red green blue\n"
    assert "Words are missing." in model.requests[2].messages[-1].text
    assert (await workflow.resume("r", checkpoints=store)).outputs == done.outputs


async def test_an_engine_takes_tasks_and_parts_of_tasks() -> None:
    model = drafts("red", "red")
    workflow = WorkflowBuilder("w").set_start(RepairEngine("repair", model, [Words("c", "red")])).build()
    for task in (
        GenerationRequest(task="Say red", language="python"),
        SubTaskRequest(task_id="1", task="Say red", language="python", context="of a shop"),
    ):
        assert (await workflow.run(task)).output(RepairResult).passed


@pytest.mark.requirement("LG04", "LG05")
async def test_errors_that_come_back_are_mended_by_the_smart_model() -> None:
    fast, smart = drafts("red", "red", "spare"), drafts("red green blue")
    tiered = TieredModel(fast, smart, RepairPick())
    result = await repaired(RepairEngine("repair", tiered, [Words("check", "red", "green", "blue")]))
    assert (result.passed, result.rounds) == (True, 3)
    assert (fast.remaining_count, smart.remaining_count) == (1, 0)


@pytest.mark.requirement("LG04")
@pytest.mark.parametrize(
    ("errors", "tier"),
    [
        ([], "fast"),
        (["- main.rs:1:1 E0308: mismatched types"], "fast"),
        (["- main.rs:1:1 E0502: cannot borrow `x`"], "smart"),  # complex
        (["- E0502: cannot borrow `x`", "- E0308: mismatched types"], "fast"),  # mended
        (["- main.rs:1:1 E0425: no `x`", "- main.rs:7:9 E0425: no `y`"], "smart"),  # came back
        (["- E1: a", "- E2: b", "- E3: c"], "smart"),  # still errors after two drafts
    ],
)
async def test_the_fingerprints_of_errors_choose_the_model(errors: list[str], tier: str) -> None:
    model = drafts("red")
    await repaired(RepairEngine("repair", model, [Words("check")]), TASK.with_errors(errors))
    assert RepairPick()(model.requests[0]) == tier


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(CodingError, match="the repair engine 'r' has no check"):
        RepairEngine("r", drafts(), [])
    with pytest.raises(CodingError, match="max_rounds of the repair engine 'r' is 0; give at least 1"):
        RepairEngine("r", drafts(), [Words("c")], max_rounds=0)


async def test_the_limits_of_a_workflow_hold_for_its_loop() -> None:
    engine = RepairEngine("r", drafts("red"), [Words("c", "blue")], config=WorkflowConfig(max_supersteps=1))
    with pytest.raises(Exception, match="superstep"):
        await engine.workflow.run(TASK)


outputs = st.builds(
    lambda passed, failed, check: (
        TestOutput(
            code=f"{passed} {failed}",
            language="python",
            passed=not failed,
            errors=tuple(f"E{number}: no" for number in range(failed)),
            test_count=passed + failed,
            tests_passed=passed,
        ),
        check,
    ),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
)


@pytest.mark.requirement("LG05")
@given(st.lists(outputs, min_size=1, max_size=8))
def test_the_best_draft_is_never_lost(found: list[tuple[TestOutput, int]]) -> None:
    state = RepairState()
    scores = []
    for number, (output, check) in enumerate(found, 1):
        fingerprint = CodeFingerprinter().fingerprint(listed(output))
        state, verdict = judge(state, output, str(check), check, fingerprint)
        state = RepairState.model_validate(state.model_dump(mode="json"))
        scores.append(state.score)
        assert verdict.best.rounds == len(verdict.best.fingerprints) == number
        assert (verdict.ended is RepairEnd.PASSED) == output.passed
        assert verdict.code == output.code
    best, check = max(
        found, key=lambda one: (one[1] + one[0].passed, one[0].tests_passed, -len(one[0].errors))
    )
    assert scores == sorted(scores)
    assert state.best is not None
    assert (state.best.code, state.best.check) == (best.code, str(check))
