"""Where a step stands in its pipeline, and what giving it up means there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentic.core.actors import describe_failure
from agentic.core.graph import WorkflowContext
from agentic.core.logging import get_logger
from agentic.core.pipeline.errors import StepFailedError
from agentic.core.pipeline.policies import Ending
from agentic.core.pipeline.state import MissingResultError, PipelineState, Retried, StepFailure
from agentic.core.types import JSONValue

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a step stands.

    Attributes:
        step: Its id, with those of the loops around it.
        name: Under which its results are known as a whole.
        gives: Names of its results.
        keep: Names that later steps may look at.
        in_loop: Whether giving up ends an item of a loop, and not the pipeline.
    """

    step: str
    name: str
    gives: tuple[str, ...]
    keep: frozenset[str]
    in_loop: bool

    def bind(self, state: PipelineState, results: Mapping[str, JSONValue]) -> PipelineState:
        """Return the state with the results of this step."""
        return state.bind({**results, self.name: dict(results)}, self.keep)

    def skip(self, state: PipelineState) -> PipelineState:
        """Return the state of a pipeline that goes on without this step's results, and without older ones."""
        keep = self.keep - {*self.gives, self.name}
        return replace(state.bind({}, keep), skipped=(*state.skipped, self.step))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOutcome:
    """What the steps of a loop made of an item: a value as JSON text, or what went wrong."""

    value: str | None
    failures: tuple[StepFailure, ...]
    retried: tuple[Retried, ...] = ()


async def give_up(
    place: Place, state: PipelineState, failed: StepFailure, then: Ending | None, ctx: WorkflowContext
) -> PipelineState | None:
    """Return the state to go on with; in a loop end the item instead.

    Raises:
        StepFailedError: The pipeline is to fail.
    """
    if then == "fail" or (then is None and not place.in_loop):
        raise StepFailedError(place.step, failed.failure, len(failed.attempts))
    if place.in_loop:
        failures = (*state.failures, failed)
        await ctx.yield_output(ItemOutcome(value=None, failures=failures, retried=state.retried))
        return None
    log.warning("step.skipped", step=place.step, failure_class=failed.failure.failure_class)
    return place.skip(replace(state, failures=(*state.failures, failed)))


async def leave_out(
    place: Place, state: PipelineState, missing: MissingResultError, ctx: WorkflowContext
) -> PipelineState | None:
    """Return the state to go on with when a step lacks what a skipped one was to give."""
    if place.in_loop:
        return await give_up(place, state, never_tried(place, missing), None, ctx)
    log.warning("step.skipped", step=place.step, reason=str(missing))
    return place.skip(state)


def never_tried(place: Place, reason: Exception) -> StepFailure:
    """Return the failure of a step whose input could not be put together."""
    return StepFailure(step=place.step, failure=describe_failure(reason))
