"""A child workflow, as a node of a graph with typed input and output."""

from __future__ import annotations

from typing import Never

from agentic.core.coding.errors import ChildFailedError
from agentic.core.coding.messages import (
    SubTaskRequest,
    SubTaskResult,
    SubWorkflowInput,
    SubWorkflowOutput,
)
from agentic.core.errors import line_of
from agentic.core.graph import Executor, ExecutorKind, RunResult, Workflow, WorkflowContext, handler
from agentic.core.types import JSONValue


class SubWorkflowExecutor(Executor):
    """Runs a workflow for each message. Sends :class:`SubWorkflowOutput`, and yields a line about it.

    A workflow that is added to a graph directly is a node, too; this one adds counts, times and failures as
    data.

    Args:
        id: Of the node.
        workflow: The child.
        fail_on_child_failure: Whether this node fails with its child; otherwise its output holds the error.
        yields_status: Whether it yields a line of text about each result.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        workflow: Workflow,
        *,
        fail_on_child_failure: bool = True,
        yields_status: bool = True,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.workflow = workflow
        self.fail_on_child_failure = fail_on_child_failure
        self.yields_status = yields_status

    @handler
    async def on_input(self, given: SubWorkflowInput, ctx: WorkflowContext[Never, str]) -> SubWorkflowOutput:
        """Run the child with an input."""
        return await self._run(given.input, ctx)

    @handler
    async def on_sub_task(self, request: SubTaskRequest, ctx: WorkflowContext[Never, str]) -> SubTaskResult:
        """Run the child for a part of a task."""
        output = await self._run(request, ctx)
        passed = output.success and not any(
            isinstance(one, dict) and one.get("passed") is False for one in output.outputs
        )
        return SubTaskResult(
            task_id=request.task_id, outputs=output.outputs, passed=passed, error=output.error
        )

    @handler
    async def on_value(
        self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]
    ) -> SubWorkflowOutput:
        """Run the child with an input as a JSON value."""
        return await self.on_input(SubWorkflowInput.model_validate(value), ctx)

    async def _run(self, message: object, ctx: WorkflowContext[Never, str]) -> SubWorkflowOutput:
        output = await self._output(message, ctx)
        if self.fail_on_child_failure and not output.success:
            raise ChildFailedError(self.id, output.error or "it did not complete")
        if self.yields_status:
            verdict = "COMPLETED" if output.success else "FAILED"
            counts = f"{len(output.outputs)} outputs, {output.superstep_count} supersteps"
            await ctx.yield_output(f"Sub-workflow: {verdict} ({counts})")
        return output

    async def _output(self, message: object, ctx: WorkflowContext[Never, str]) -> SubWorkflowOutput:
        try:
            result: RunResult = await ctx.run_workflow(self.workflow, message)
        except Exception as exc:
            if self.fail_on_child_failure:
                raise
            return SubWorkflowOutput(success=False, error=line_of(exc))
        return SubWorkflowOutput.from_result(result)
