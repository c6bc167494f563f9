"""Parts of a program that are made apart, or one after the other."""

from __future__ import annotations

import pytest

from agentic.core.coding import (
    BadPlanError,
    CodePlan,
    CodeTask,
    CodeTaskKind,
    CodeToValidate,
    CoherenceOutput,
    CoherenceValidator,
    GeneratedCode,
    GeneratorInput,
    ProgressiveResult,
    ProgressiveWriter,
    RepairEnd,
    SandboxValidator,
    TaskDecomposer,
)
from agentic.core.coding.planning.progressive import stage_input, stages_of
from agentic.core.graph import MemoryCheckpointStore, WorkflowBuilder
from agentic.core.llm import ScriptedModel

pytestmark = pytest.mark.integration

FITTING = {
    "python": ("def area(side: int) -> int: ...", "from main import area", "from main import surface"),
    "typescript": (
        "export declare function area(side: number): number;",
        "import { area } from './main.ts'; area(2);",
        "import { surface } from './main.ts'; surface(2);",
    ),
    "rust": (
        "pub fn area(side: u8) -> u8 { todo!() }",
        "use super::*;\n#[test]\nfn it() { area(2); }",
        "use super::*;\n#[test]\nfn it() { surface(2); }",
    ),
}


@pytest.mark.requirement("LG10")
@pytest.mark.parametrize("language", FITTING)
async def test_tests_must_fit_to_a_program_that_has_no_logic_yet(
    language: str, validator: SandboxValidator
) -> None:
    code, good, bad = FITTING[language]
    workflow = WorkflowBuilder("w").set_start(CoherenceValidator("fits", validator)).build()
    fits = await workflow.run(CodeToValidate(code=code, language=language, tests=good).to_value())
    assert fits.output(CoherenceOutput).passed
    assert fits.outputs[0] == "Coherence: PASSED"
    # Of the writer of the tests, who got the program.
    output = (await workflow.run(GeneratedCode(code=bad, language=language, program=code))).output(
        CoherenceOutput
    )
    assert (output.passed, output.code) == (False, bad)
    assert "surface" in str(output.findings[0])
    assert "The code and the tests do not fit together" in (output.feedback or "")


TYPES = "from enum import Enum\n\n\nclass Color(Enum):\n    RED = 1\n    GREEN = 2\n"
STUBS = f"{TYPES}\n\ndef turned(color: Color) -> Color:\n    raise NotImplementedError\n"
WORKS = "    return Color.GREEN if color is Color.RED else Color.RED\n"
LOGIC = STUBS.replace("    raise NotImplementedError\n", WORKS)
TESTS = "from main import Color, turned\n\n\ndef test_it():\n    assert turned(Color.RED) is Color.GREEN\n"


def writing(*drafts: str) -> ScriptedModel:
    return ScriptedModel([f"```python\n{draft}```\n" for draft in drafts])


@pytest.mark.requirement("LG06", "LG07", "LG10", "LE04")
async def test_a_program_is_written_part_after_part_and_each_valid_part_is_locked(
    validator: SandboxValidator,
) -> None:
    model = writing(
        TYPES,
        STUBS.replace("GREEN = 2", "BLUE = 2"),  # changes the types
        STUBS,
        TESTS.replace("Color.GREEN", "Color.BLUE"),  # a name that the types do not have
        TESTS,
        LOGIC.replace("(color: Color)", "(color: Color, times: int = 1)"),  # changes a signature
        LOGIC.replace("Color.GREEN if", "Color.RED if"),  # fails the test
        LOGIC,
    )
    writer = ProgressiveWriter("write", model, validator)
    workflow = WorkflowBuilder("w").set_start(TaskDecomposer("plan")).add_edge("plan", writer).build()
    store = MemoryCheckpointStore()
    run = await workflow.run(GeneratorInput.new("A light", "python"), run_id="r", checkpoints=store)
    result = run.output(ProgressiveResult)
    assert (result.passed, result.code, result.tests) == (True, LOGIC, TESTS)
    assert [(stage.kind, stage.rounds) for stage in result.stages] == [
        (CodeTaskKind.TYPES, 1),
        (CodeTaskKind.STUBS, 2),
        (CodeTaskKind.TESTS, 2),
        (CodeTaskKind.LOGIC, 3),
    ]
    texts = [request.messages[-1].text for request in model.requests]
    assert "main.py locked: the line 'GREEN = 2' of the types was changed or removed" in texts[2]
    assert "'Color.BLUE', but Color has no 'BLUE'" in texts[4]
    assert "the signature 'def turned(color: Color) -> Color' of the stubs is missing" in texts[6]
    assert "assert <Color.RED: 1> is <Color.GREEN: 2>" in texts[7]
    assert not any("return Color" in text for text in texts[:5])  # tests are made without the logic
    assert not any("def test_it" in text for text in texts[5:7])  # and the logic without the tests
    assert (await workflow.resume("r", checkpoints=store)).outputs == run.outputs


async def test_a_stage_that_fails_ends_the_program(validator: SandboxValidator) -> None:
    model = writing(TYPES, *["x = 1\n"] * 3)
    writer = ProgressiveWriter("write", model, validator)
    given = GeneratorInput.new("A light", "python").with_tests(TESTS)
    result = (await WorkflowBuilder("w").set_start(writer).build().run(given)).output(ProgressiveResult)
    assert (result.passed, result.code, result.tests) == (False, "x = 1\n", TESTS)
    assert [stage.ended for stage in result.stages] == [RepairEnd.PASSED, RepairEnd.STUCK]
    assert result.feedback is not None


async def test_types_and_stubs_can_be_left_out(validator: SandboxValidator) -> None:
    """Then the tests have nothing to fit to; tests that are missing are written again."""
    model = ScriptedModel(["", FITTING["python"][1], "x =", "x ="])
    tasks = tuple(CodeTask(id=kind, kind=CodeTaskKind(kind), task="x") for kind in ("tests", "logic"))
    writer = ProgressiveWriter("write", model, validator, max_rounds=2)
    plan = CodePlan(task="x", language="python", tasks=tasks)
    result = (await WorkflowBuilder("w").set_start(writer).build().run(plan)).output(ProgressiveResult)
    assert (result.stages[0].ended, result.stages[0].rounds) == (RepairEnd.PASSED, 2)


@pytest.mark.parametrize(
    ("kinds", "fault"),
    [(["types", "tests"], "no task for the logic"), (["types", "logic"], "no tests, and no task for tests")],
)
async def test_plans_without_logic_or_tests_are_refused(
    kinds: list[str], fault: str, validator: SandboxValidator
) -> None:
    tasks = tuple(CodeTask(id=kind, kind=CodeTaskKind(kind), task="x") for kind in kinds)
    workflow = WorkflowBuilder("w").set_start(ProgressiveWriter("write", writing(), validator)).build()
    with pytest.raises(BadPlanError, match=fault):
        await workflow.run(CodePlan(task="x", language="python", tasks=tasks))


def test_tasks_of_one_kind_are_one_stage() -> None:
    tasks = [
        CodeTask(id=name, kind=CodeTaskKind(name[:-1]), task=f"Write {name}") for name in ("logic2", "logic1")
    ]
    first = tasks[0].model_copy(update={"needs": ("logic1",)})
    plan = CodePlan(task="x", language="python", tasks=(first, tasks[1]), tests="T")
    assert stages_of(plan) == [CodeTaskKind.LOGIC]
    given = stage_input(plan, CodeTaskKind.LOGIC, {})
    assert (given.prompt, given.tests) == ("Write logic1\n\nWrite logic2", "T")
