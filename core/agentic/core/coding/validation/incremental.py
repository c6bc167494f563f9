"""Writes a program in parts: each is checked and repaired while others are still being written."""

from __future__ import annotations

from typing import Never

from agentic.core.coding.errors import CodingError
from agentic.core.coding.messages import (
    AssemblyInput,
    CodePart,
    CodingMessage,
    SubTaskRequest,
)
from agentic.core.coding.validation.pipeline import ValidatorPipeline
from agentic.core.coding.validation.report import ValidationMode, ValidationReport
from agentic.core.graph import (
    Executor,
    ExecutorKind,
    ItemResult,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)


class PartResult(CodingMessage):
    """The result of one part.

    Attributes:
        task_id: Of the part.
        report: The validators' report on its last code; None if it could not be written.
        error: Why it could not be written.
    """

    __wire_name__ = "agentic.coding.PartResult"

    task_id: str
    report: ValidationReport | None = None
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the validators accepted it."""
        return self.report is not None and self.report.passed


class IncrementalResult(CodingMessage):
    """The results of all parts, in order. Edges decide by ``passed``."""

    __wire_name__ = "agentic.coding.IncrementalResult"

    parts: tuple[PartResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every part passed."""
        return all(part.passed for part in self.parts)

    def to_assembly(self) -> AssemblyInput:
        """Return the parts for an assembler.

        Raises:
            CodingError: A part was not written, or the list is empty.
        """
        missing = [part.task_id for part in self.parts if part.report is None]
        if missing or not self.parts:
            raise CodingError(
                f"these parts were not written, so nothing can be assembled: {', '.join(missing) or 'all'}"
            )
        reports = [(part.task_id, part.report) for part in self.parts if part.report is not None]
        made = tuple(
            CodePart(name=name, code=report.code, language=report.language, section=name)
            for name, report in reports
        )
        return AssemblyInput(parts=made, language=reports[0][1].language)


class IncrementalPipeline:
    """Writes and checks parts of a program, each on its own and all at a time.

    A part is a run of its own: its validators begin when it is written, and their feedback goes back to its
    writer, while other parts are still being written. ``as_workflow(...).run_stream`` reports each verdict
    as it comes.

    Args:
        writer: Takes :class:`SubTaskRequest` and sends code, such as :class:`LLMGeneratorExecutor`.
        pipeline: The validators of each part.
        mode: Whether the validators after a failed one still run.
        max_passes: How often a part is repaired.
        max_parallel: Parts in progress at a time.
    """

    def __init__(
        self,
        writer: Executor,
        pipeline: ValidatorPipeline,
        *,
        mode: ValidationMode = ValidationMode.FAIL_FAST,
        max_passes: int = 3,
        max_parallel: int = 16,
    ) -> None:
        self.max_parallel = max_parallel
        builder = WorkflowBuilder("part").set_start(writer)
        report = pipeline.connect(builder, writer, mode)
        end = _PartEnd("checked")
        self.part = (
            builder.add_conditional_edge(report, end, _passed, "passed")
            .add_retry_edge(report, writer, when=_failed, max_passes=max_passes, exhausted=end)
            .build()
        )

    def as_workflow(self, id: str) -> Workflow:  # noqa: A002  # as of every workflow
        """Return a workflow that takes ``list[SubTaskRequest]`` and yields one :class:`IncrementalResult`."""
        return (
            WorkflowBuilder(id)
            .set_start(_Parts("parts"))
            .add_map_edge("parts", _Part("part", self.part), _Join("join"), max_parallel=self.max_parallel)
            .build()
        )


class _Parts(Executor):
    """Hands the parts out."""

    @handler
    async def on_parts(self, parts: list[SubTaskRequest]) -> list[SubTaskRequest]:
        """Return the parts."""
        names = [part.task_id for part in parts]
        if len(set(names)) < len(names):
            raise CodingError(f"two parts have one task_id; give each its own: {', '.join(names)[:500]}")
        return parts


class _Part(Executor):
    """Writes, checks and repairs one part, in a run of its own."""

    def __init__(self, id: str, workflow: Workflow) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.workflow = workflow

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """The run of a part, for stored runs."""
        return (self.workflow,)

    @handler
    async def on_part(self, part: SubTaskRequest, ctx: WorkflowContext[Never, str]) -> ValidationReport:
        """Return the report on the last code."""
        result = await ctx.run_workflow(self.workflow, part)
        for output in result.outputs:
            if isinstance(output, str):
                await ctx.yield_output(f"{part.task_id}: {output}")
        return result.output(ValidationReport)


class _PartEnd(Executor):
    """Yields the last report on a part."""

    @handler
    async def on_report(self, report: ValidationReport) -> ValidationReport:
        """Yield it."""
        return report


class _Join(Executor):
    """Joins the results of the parts."""

    @handler
    async def on_results(self, results: list[ItemResult]) -> IncrementalResult:
        """Return them, in the order of the parts."""
        return IncrementalResult(parts=tuple(map(_part_of, results)))


def _part_of(result: ItemResult) -> PartResult:
    item, value, error = result.item, result.value, result.error
    name = item.task_id if isinstance(item, SubTaskRequest) else str(result.index)
    if isinstance(value, ValidationReport):
        return PartResult(task_id=name, report=value)
    reason = "nothing was written" if error is None else f"{error.error_type}: {error.message}"
    return PartResult(task_id=name, error=reason)


def _passed(report: ValidationReport) -> bool:
    return report.passed


def _failed(report: ValidationReport) -> bool:
    return not report.passed
