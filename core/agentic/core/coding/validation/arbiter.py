"""Best of n: several candidates in parallel, and the validators choose one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never

from agentic.core.coding.errors import CodingError, NoCandidateError
from agentic.core.coding.findings import FindingLevel
from agentic.core.coding.messages import CodingTask, ValidatorOutput
from agentic.core.coding.validation.pipeline import ValidatorPipeline
from agentic.core.coding.validation.report import ValidationMode, ValidationReport
from agentic.core.graph import (
    Executor,
    ExecutorFailure,
    ExecutorKind,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)


class Arbiter(Executor):
    """Sends the best of several candidates.

    They come by a fan-in from validators or repair engines, with ``mode="available", on="always"``.

    The best one passed; of these, or if none did, the one that passed most validators; then the one with most
    passed tests, the fewest errors, and the fewest warnings. **Of equals, the first one** in the order of the
    fan-in wins. A candidate that failed as a node does not count, unless all did.

    Args:
        id: Of the node.
        yields_status: Whether it yields a line of text about its choice.
    """

    def __init__(self, id: str, *, yields_status: bool = True) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.yields_status = yields_status

    @handler
    async def on_candidates(
        self, candidates: list[ValidatorOutput | ExecutorFailure], ctx: WorkflowContext[Never, str]
    ) -> ValidatorOutput:
        """Choose one.

        Raises:
            NoCandidateError: All candidates failed.
        """
        rated = [one for one in candidates if not isinstance(one, ExecutorFailure)]
        if not rated:
            raise NoCandidateError(self.id, [_reason(one) for one in candidates])
        best = max(rated, key=rank)  # the first one of equals
        if self.yields_status:
            verdict = "PASSED" if best.passed else "FAILED"
            await ctx.yield_output(f"Arbiter: {candidates.index(best) + 1} of {len(candidates)} ({verdict})")
        return best


def rank(output: ValidatorOutput) -> tuple[int, ...]:
    """Return the rank of a candidate; the arbiter takes the highest."""
    verdicts = output.verdicts if isinstance(output, ValidationReport) else ()
    own_tests: int = getattr(output, "tests_passed", 0)  # of tests, or of a repair
    errors = sum(finding.level is FindingLevel.ERROR for finding in output.findings)
    return (
        output.passed,
        sum(one.passed for one in verdicts),
        own_tests + sum(one.tests_passed for one in verdicts),
        -errors,
        errors - len(output.findings),
    )


def best_of(
    id: str,  # noqa: A002  # as of every workflow
    writers: Sequence[Executor],
    pipeline: ValidatorPipeline,
    mode: ValidationMode = ValidationMode.ALL,
) -> Workflow:
    """Return a workflow: writers work on one task at a time, and the report of the best code is its output.

    Args:
        id: Of the workflow.
        writers: At least two, such as generators with different models or prompts.
        pipeline: Their validators.
        mode: Whether the validators after a failed one still run.

    Raises:
        CodingError: There are fewer than two writers.
        InvalidGraphError: Two writers have one id.
    """
    if len(writers) < 2:
        raise CodingError(f"the best of {len(writers)} writers was asked for; give at least two")
    candidates = [_Candidate(writer, pipeline, mode) for writer in writers]
    return (
        WorkflowBuilder(id)
        .set_start(*candidates)
        .add_fan_in_edge(candidates, Arbiter("arbiter"), mode="available", on="always")
        .build()
    )


class _Candidate(Executor):
    """Has a writer write code, and validators check it, in a run of its own."""

    def __init__(self, writer: Executor, pipeline: ValidatorPipeline, mode: ValidationMode) -> None:
        super().__init__(writer.id, kind=ExecutorKind.ORCHESTRATOR)
        builder = WorkflowBuilder("candidate").set_start(writer)
        pipeline.connect(builder, writer, mode)
        self.workflow = builder.build()

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """The run of a candidate, for stored runs."""
        return (self.workflow,)

    @handler
    async def on_task(self, task: CodingTask, ctx: WorkflowContext[Never, str]) -> ValidationReport:
        """Write and check code for a task."""
        result = await ctx.run_workflow(self.workflow, task)
        for output in result.outputs:
            if isinstance(output, str):
                await ctx.yield_output(f"{self.id}: {output}")
        return result.output(ValidationReport)


def _reason(candidate: object) -> str:
    if isinstance(candidate, ExecutorFailure):
        return f"{candidate.executor_id}: {candidate.error_type}: {candidate.message[:200]}"
    return str(candidate)
