from __future__ import annotations

import asyncio

import pytest
from tests.unit.core.coding.programs import words

from agentic.core.coding import (
    CodeAssemblerExecutor,
    CodingError,
    GeneratedCode,
    IncrementalPipeline,
    IncrementalResult,
    PartResult,
    SubTaskRequest,
)
from agentic.core.coding.executors.assembler import assemble
from agentic.core.graph import EventKind, Executor, WorkflowContext, handler

pytestmark = pytest.mark.requirement("LG09")


def parts(*tasks: str) -> list[SubTaskRequest]:
    return [
        SubTaskRequest(task_id=f"part_{number}", task=task, language="python")
        for number, task in enumerate(tasks, 1)
    ]


class Writes(Executor):
    """Writes its task, and the word "a" once it was told to; waits where it is told to."""

    def __init__(self, gates: dict[str, asyncio.Event] | None = None) -> None:
        super().__init__("write")
        self.gates = gates or {}
        self.calls: list[str] = []

    @handler
    async def on_task(self, task: SubTaskRequest, ctx: WorkflowContext) -> GeneratedCode:
        self.calls.append(task.task_id)
        if task.task == "broken":
            raise OSError("no model")
        if gate := self.gates.get(task.task_id):
            async with asyncio.timeout(10):
                await gate.wait()
        mended = " a" if ctx.previous_errors and task.task != "hopeless" else ""
        return GeneratedCode(code=task.task + mended, language=task.language)


async def test_a_part_is_checked_and_repaired_while_another_one_is_still_written() -> None:
    gate = asyncio.Event()
    flow = IncrementalPipeline(Writes({"part_1": gate}), words("a")).as_workflow("parts")
    stream = flow.run_stream(parts("slow a", "quick"))
    checked = 0
    async for event in stream:
        if event.kind is EventKind.EXECUTOR_COMPLETED and event.path == "part/has_a":
            checked += 1
            if checked == 2:  # the quick one, twice; the slow one is not written yet
                gate.set()
    result = (await stream.result()).output(IncrementalResult)
    assert checked == 3
    assert result.passed
    assert [(part.task_id, part.report and part.report.code) for part in result.parts] == [
        ("part_1", "slow a"),
        ("part_2", "quick a"),
    ]


async def test_only_the_parts_that_fail_are_written_again() -> None:
    writes = Writes()
    flow = IncrementalPipeline(writes, words("a"), max_passes=2).as_workflow("parts")
    result = (await flow.run(parts("good a", "odd", "hopeless"))).output(IncrementalResult)
    assert [part.passed for part in result.parts] == [True, True, False]
    assert sorted(writes.calls) == ["part_1", *["part_2"] * 2, *["part_3"] * 3]
    assert not result.passed


async def test_a_part_that_cannot_be_written_is_told_of_and_others_are_kept() -> None:
    flow = IncrementalPipeline(Writes(), words("a")).as_workflow("parts")
    result = (await flow.run(parts("good a", "broken"))).output(IncrementalResult)
    assert result.parts[1] == PartResult(task_id="part_2", error="OSError: no model")
    assert not result.passed
    with pytest.raises(CodingError, match="so nothing can be assembled: part_2"):
        result.to_assembly()


async def test_parts_become_one_program_in_their_order() -> None:
    flow = IncrementalPipeline(Writes(), words("a"), max_parallel=1).as_workflow("parts")
    result = (await flow.run(parts("x = 'a'", "y"))).output(IncrementalResult)
    given = result.to_assembly()
    assert assemble(given) == "# part_1\nx = 'a'\n\n# part_2\ny a\n"
    assert CodeAssemblerExecutor("assemble").accepts(given)
    with pytest.raises(CodingError, match="assembled: all"):
        IncrementalResult().to_assembly()


async def test_parts_of_one_name_are_refused_and_no_parts_pass() -> None:
    flow = IncrementalPipeline(Writes(), words("a")).as_workflow("parts")
    with pytest.raises(CodingError, match="two parts have one task_id; give each its own: part_1, part_1"):
        await flow.run([*parts("a"), *parts("a")])
    assert (await flow.run([])).output(IncrementalResult).passed
