"""The executors of a choice: one evaluates the condition, one joins the branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agentic.core.graph import Executor, WorkflowContext, handler
from agentic.core.pipeline.expressions.expressions import ReferenceFailedError
from agentic.core.pipeline.steps.positions import StepPosition, give_up, is_true, leave_out, never_tried
from agentic.core.pipeline.steps.state import MissingResultError, PipelineState

STEPS = "steps"
OTHERWISE = "otherwise"


class ChooseNode(Executor):
    """Evaluates which branch to take; edges with :func:`leads_to` take it."""

    def __init__(self, name: str, position: StepPosition, when: str) -> None:
        super().__init__(name)
        self._position = position
        self._when = when

    @handler
    async def run(self, state: PipelineState, ctx: WorkflowContext) -> PipelineState | None:
        """Return the state with the chosen branch; without one if the condition cannot be evaluated."""
        try:
            way = STEPS if is_true(self._when, state) else OTHERWISE
        except MissingResultError as exc:
            return await leave_out(self._position, state, exc, ctx)
        except ReferenceFailedError as exc:
            return await give_up(self._position, state, never_tried(self._position, exc), None, ctx)
        return replace(state, branch=way)


class BranchJoinNode(Executor):
    """Where the branches of a choice join."""

    def __init__(self, name: str, position: StepPosition) -> None:
        super().__init__(name)
        self._position = position

    @handler
    async def run(self, state: PipelineState) -> PipelineState:
        """Return the state, without a chosen branch."""
        return replace(state.bind({}, self._position.keep), branch="")


def leads_to(*ways: str) -> Callable[[object], bool]:
    """Return a test whether a message of a :class:`ChooseNode` takes one of ``ways``."""

    def leads(message: object) -> bool:
        return isinstance(message, PipelineState) and message.branch in ways

    return leads
