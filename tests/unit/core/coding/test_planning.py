"""Plans of tasks, and locks on parts that are done."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentic.core.coding import (
    BadPlanError,
    CodePlan,
    CodeTask,
    CodeTaskKind,
    GeneratedCode,
    GenerationRequest,
    GeneratorInput,
    LockedPart,
    LockOutput,
    LockValidator,
    SubTaskRequest,
    TaskDecomposer,
    find_language,
)
from agentic.core.coding.planning.locking import changes_in
from agentic.core.graph import Workflow, WorkflowBuilder
from agentic.core.llm import ScriptedModel

DIVIDED = [
    {"id": "shapes", "kind": "types", "task": "Write Shape", "needs": []},
    {"id": "area tests", "kind": "tests", "task": "Test area", "needs": ["shapes"]},
    {"id": "area", "kind": "logic", "task": "Write area", "needs": ["shapes"]},
]


def alone(node: TaskDecomposer | LockValidator) -> Workflow:
    return WorkflowBuilder("alone").set_start(node).build()


@pytest.mark.requirement("LG06", "LE04")
async def test_a_task_is_divided_into_types_stubs_tests_and_logic() -> None:
    workflow = alone(TaskDecomposer("plan"))
    plan = (await workflow.run(GenerationRequest(task="A queue", language="ts"))).output(CodePlan)
    assert (plan.task, plan.language) == ("A queue", "typescript")
    assert [(task.id, task.needs) for task in plan.order()] == [
        ("types", ()),
        ("stubs", ("types",)),
        ("tests", ("stubs",)),  # they are written first, and independently of the logic
        ("logic", ("types", "stubs")),
    ]
    assert all(task.task.startswith("A queue\n\nWrite") for task in plan.tasks)
    for message in (
        GeneratorInput.new("A queue", "ts").to_value(),
        SubTaskRequest(task_id="1", task="A queue", language="ts"),
    ):
        assert (await workflow.run(message)).output(CodePlan) == plan
    given = GeneratorInput.new("A queue", "ts").with_tests("T").with_context("of a shop")
    with_tests = (await workflow.run(given)).output(CodePlan)
    assert [task.kind for task in with_tests.tasks] == ["types", "stubs", "logic"]
    assert (with_tests.tests, "of a shop" in with_tests.task) == ("T", True)


@pytest.mark.requirement("LG06")
async def test_a_model_divides_a_task_and_is_asked_again_if_its_plan_is_not_valid() -> None:
    circle = [{**DIVIDED[0], "needs": ["area"]}, DIVIDED[2]]
    model = ScriptedModel(["no plan", json.dumps({"tasks": circle}), json.dumps({"tasks": DIVIDED})])
    workflow = alone(TaskDecomposer("plan", model))
    plan = (await workflow.run(GenerationRequest(task="Areas", language="python"))).output(CodePlan)
    assert [task.model_dump(mode="json") for task in plan.tasks] == DIVIDED
    assert "these tasks need each other: " in model.requests[2].messages[-1].text
    assert "the answer is not valid JSON" in model.requests[2].messages[-1].text


@pytest.mark.requirement("LG06")
async def test_a_model_without_a_valid_plan_is_an_error() -> None:
    model = ScriptedModel.repeating('{"tasks": []}', times=3)
    with pytest.raises(BadPlanError, match="'plan' has no plan that it can use: tasks: Tuple should have"):
        await alone(TaskDecomposer("plan", model)).run(GenerationRequest(task="Areas", language="python"))


def task(name: str, *needs: str) -> CodeTask:
    return CodeTask(id=name, kind=CodeTaskKind.LOGIC, task=f"Write {name}", needs=needs)


@pytest.mark.parametrize(
    ("tasks", "fault"),
    [
        ([task("a"), task("a")], "two tasks have the id 'a'; rename one"),
        ([task("a", "b")], "task 'a' needs 'b', which is not a task of the plan"),
        ([task("a", "b"), task("b", "a")], "these tasks need each other"),
        ([task("a", "a")], "these tasks need each other"),
    ],
)
def test_plans_that_cannot_be_carried_out_are_refused(tasks: list[CodeTask], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        CodePlan(task="t", language="python", tasks=tuple(tasks))


@st.composite
def plans(draw: st.DrawFn) -> CodePlan:
    size = draw(st.integers(1, 8))
    tasks = [
        task(str(number), *(str(other) for other in range(number) if draw(st.booleans())))
        for number in range(size)
    ]
    return CodePlan(task="t", language="python", tasks=tuple(draw(st.permutations(tasks))))


@pytest.mark.requirement("LG06")
@given(plans())
def test_a_plan_is_carried_out_to_its_end_and_each_task_sees_what_it_needs(plan: CodePlan) -> None:
    done: dict[str, str] = {}
    while ready := plan.ready(done):
        for one in ready:
            assert set(one.needs) <= done.keys()
            request = plan.request(one, done)
            assert request.task_id == one.id
            assert all(f"{name}:\ncode of {name}" in (request.context or "") for name in one.needs)
        done |= {one.id: f"code of {one.id}" for one in ready}
    assert done.keys() == {one.id for one in plan.tasks} == {one.id for one in plan.order()}


TYPES = """
from enum import Enum


class Color(Enum):
    RED = 1
    GREEN = 2


@frozen
class Shape:
    color: Color
"""
STUBS = f"{TYPES}\n\ndef area(shape: Shape) -> float:\n    raise NotImplementedError\n"
PYTHON = find_language("python").signatures


def locked(code: str, *, keeps_bodies: bool = True) -> LockedPart:
    return LockedPart(name="the types", code=code, keeps_bodies=keeps_bodies)


@pytest.mark.requirement("LG07")
@pytest.mark.parametrize(
    ("code", "faults"),
    [
        (STUBS, []),
        (f"import math\n{STUBS}", []),
        (STUBS.replace("\n\n\n", "\n").replace("RED = 1", "RED = 1   \n"), []),
        ("".join(sorted(["x = 1\n", TYPES])), []),
        (TYPES.replace("    GREEN = 2\n", ""), ["the line 'GREEN = 2' of the types was changed or removed"]),
        (TYPES.replace("GREEN = 2", "GREEN = 3"), ["the line 'GREEN = 2' of the types"]),
        (TYPES.replace("@frozen\n", ""), ["the line '@frozen' of the types"]),
        (
            TYPES.replace("    RED = 1\n    GREEN = 2", "    GREEN = 2\n    RED = 1"),
            ["after 'class Color(Enum):'"],
        ),
        (f"{TYPES}\nclass Color:\n    pass\n", ["'class Color' of the types is declared again"]),
        ("", ["from enum", "class Color", "RED", "GREEN", "frozen", "class Shape", "color"]),
    ],
)
def test_a_locked_part_must_stay_as_it_is(code: str, faults: list[str]) -> None:
    found = list(changes_in(locked(TYPES), code, PYTHON))
    assert len(found) == len(faults)
    assert all(fault in text for fault, text in zip(faults, found, strict=True))


@pytest.mark.requirement("LG07")
@pytest.mark.parametrize(
    ("language", "stub", "changed", "fault"),
    [
        (
            "python",
            "def f(x: int) -> int:\n    ...",
            "def f(x: str) -> int:\n    return 1",
            "def f(x: int) -> int",
        ),
        ("python", "class A:\n    def f(self): ...", "class A:\n    def g(self): ...", "def f(self): ..."),
        (
            "typescript",
            "export function f(x: number): number { throw 1 }",
            "function f(x: number): number {",
            "export function f(x: number): number { throw 1 }",
        ),
        (
            "rust",
            "pub fn f(x: u8) -> u8 {\n    todo!()\n}",
            "pub fn f() -> u8 {\n    1\n}",
            "pub fn f(x: u8) -> u8",
        ),
    ],
)
def test_the_signatures_of_stubs_stay_and_their_bodies_may_change(
    language: str, stub: str, changed: str, fault: str
) -> None:
    beginnings = find_language(language).signatures
    part = locked(stub, keeps_bodies=False)
    body = stub.replace("    ...", "    return 2 * x").replace("todo!()", "2 * x")
    assert list(changes_in(part, body, beginnings)) == []
    (text, *_) = changes_in(part, changed, beginnings)
    assert text == f"the signature '{fault}' of the types is missing; keep it as it is"


@pytest.mark.requirement("LG07")
async def test_a_draft_that_changes_a_locked_part_is_refused_with_the_finding() -> None:
    workflow = alone(LockValidator("locks"))
    code = TYPES.replace("GREEN = 2", "GREEN = 3")
    draft = GeneratedCode(code=code, language="python", locked=(locked(TYPES),), tests="T")
    result = await workflow.run(draft)
    output = result.output(LockOutput)
    assert (output.passed, output.findings[0].code, output.tests) == (False, "locked", "T")
    assert "GREEN = 2" in (output.feedback or "")
    assert result.outputs[0] == "Locks: FAILED"
    kept = (await workflow.run(draft.model_copy(update={"code": STUBS}))).output(LockOutput)
    assert (kept.passed, kept.feedback) == (True, None)


words = st.sampled_from(["def f():", "class A:", "    x = 1", "y = 2", "", "    return x", "@deco", ")"])


@pytest.mark.requirement("LG07")
@given(st.lists(words, max_size=8), st.lists(st.sampled_from(["z = 1", "import os", ""]), max_size=4))
def test_what_is_added_around_a_part_changes_nothing_of_it(part: list[str], more: list[str]) -> None:
    code = "\n".join(part)
    around = "\n".join([*more, "", code, "", *more])
    assert list(changes_in(locked(code), code, PYTHON)) == []
    assert list(changes_in(locked(code), around, PYTHON)) == []
    assert list(changes_in(locked(code, keeps_bodies=False), around, PYTHON)) == []
