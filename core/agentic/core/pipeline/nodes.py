"""The executors that begin a pipeline, run its actors and end it."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from agentic.core.actors import ActorContext
from agentic.core.graph import Executor, WorkflowContext, handler
from agentic.core.pipeline.attempts import GivenUp
from agentic.core.pipeline.calls import ActorCall, results_of
from agentic.core.pipeline.inputs import read_inputs
from agentic.core.pipeline.places import Place, give_up, leave_out, never_tried
from agentic.core.pipeline.references import ReferenceFailedError
from agentic.core.pipeline.result import result_of
from agentic.core.pipeline.spec import PipelineSpec
from agentic.core.pipeline.state import MissingResultError, PipelineState, Retried, StepFailure
from agentic.core.types import JSONValue


class InputsNode(Executor):
    """Checks what the pipeline is given."""

    def __init__(self, name: str, spec: PipelineSpec, keep: frozenset[str]) -> None:
        super().__init__(name)
        self._spec = spec
        self._keep = keep

    @handler
    async def run(self, given: dict[str, object]) -> PipelineState:
        """Return the state before the first step."""
        inputs = read_inputs(self._spec, cast(dict[str, JSONValue], given))
        return PipelineState().bind({**inputs, "inputs": inputs}, self._keep | {"inputs"})


class ResultNode(Executor):
    """Ends the pipeline."""

    def __init__(self, name: str, spec: PipelineSpec) -> None:
        super().__init__(name)
        self._spec = spec

    @handler
    async def run(self, state: PipelineState) -> dict[str, JSONValue]:
        """Return the result as JSON-able data."""
        result: dict[str, JSONValue] = result_of(self._spec, state).model_dump(mode="json")
        return result


class ActorNode(Executor):
    """Runs an actor step."""

    def __init__(self, name: str, place: Place, call: ActorCall, context: ActorContext) -> None:
        super().__init__(name)
        self._place = place
        self._call = call
        self._context = context

    @handler
    async def run(self, state: PipelineState, ctx: WorkflowContext) -> PipelineState | None:
        """Return the state with the actor's results."""
        try:
            given = self._call.prepare(state)
        except MissingResultError as exc:
            return await leave_out(self._place, state, exc, ctx)
        except ReferenceFailedError as exc:
            return await give_up(self._place, state, never_tried(self._place, exc), None, ctx)
        outcome = await self._call.run(self._context, given)
        if isinstance(outcome, GivenUp):
            failed = StepFailure(step=self._place.step, failure=outcome.failure, attempts=outcome.attempts)
            return await give_up(self._place, state, failed, outcome.then, ctx)
        if len(outcome.attempts) > 1:
            retried = Retried(step=self._place.step, attempts=outcome.attempts)
            state = replace(state, retried=(*state.retried, retried))
        return self._place.bind(state, results_of(outcome.value))
