"""Runs of code workers, continued from each of their checkpoints."""

from __future__ import annotations

import pytest
from tests.unit.core.coding.programs import words
from tests.unit.core.coding.test_incremental import Writes, parts

from agentic.core.coding import (
    GeneratorInput,
    IncrementalPipeline,
    LLMGeneratorExecutor,
    ValidationMode,
    ValidationReport,
    best_of,
)
from agentic.core.graph import MemoryCheckpointStore, Workflow, WorkflowBuilder, executor
from agentic.core.llm import FunctionModel, ModelRequest, OverloadedError, ScriptLine
from agentic.core.types import RunId

TASK = GeneratorInput.new("Write the words", "python")


def mending(request: ModelRequest) -> ScriptLine:
    """Do what the newest feedback asks for."""
    text = request.messages[-1].text
    return "a b" if "Write b" in text else "a" if "Write a" in text else "x"


def writer(id: str, line: ScriptLine | None = None) -> LLMGeneratorExecutor:
    return LLMGeneratorExecutor(id, FunctionModel(mending if line is None else lambda _: line))


def loop(mode: ValidationMode) -> Workflow:
    worker = writer("write")
    builder = WorkflowBuilder("loop").set_start(worker)
    report = words("a", "b").connect(builder, worker, mode)

    @executor(id="end")
    async def end(report: ValidationReport) -> ValidationReport:
        return report

    builder.add_conditional_edge(report, end, lambda report: report.passed)
    return builder.add_retry_edge(report, worker, when=lambda report: not report.passed).build()


CANDIDATES = [writer("x", "a"), writer("y", OverloadedError("scripted:model", "busy")), writer("z", "a b")]


@pytest.mark.parametrize(
    ("flow", "given"),
    [
        pytest.param(loop(ValidationMode.FAIL_FAST), TASK, id="fail fast"),
        pytest.param(loop(ValidationMode.ALL), TASK, id="all"),
        pytest.param(best_of("best", CANDIDATES, words("a", "b")), TASK, id="best of three"),
        pytest.param(
            IncrementalPipeline(Writes(), words("a", "b"), max_passes=1).as_workflow("parts"),
            parts("b", "a b", "broken"),
            id="parts",
        ),
    ],
)
async def test_a_run_comes_to_the_same_end_from_each_of_its_checkpoints(
    flow: Workflow, given: object
) -> None:
    store = MemoryCheckpointStore()
    done = await flow.run(given, run_id="r", checkpoints=store)
    points = await store.list_metadata(run_id=RunId("r"))
    assert len(points) > 2
    for point in points:
        again = await flow.resume("r", checkpoints=store, checkpoint_id=point.id)
        assert again.outputs == done.outputs, point.id
