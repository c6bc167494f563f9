"""The position of a step in its pipeline, and the effect of its failure there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from agentic.core.actors import Failure, ModelUse, describe_failure
from agentic.core.graph import WorkflowContext
from agentic.core.http.exits.uses import ProxyUse
from agentic.core.logging import get_logger
from agentic.core.pipeline.errors import StepFailedError
from agentic.core.pipeline.expressions.expressions import evaluate
from agentic.core.pipeline.expressions.references import expression_of
from agentic.core.pipeline.policies.policies import Ending
from agentic.core.pipeline.spec.amounts import exceeds, is_share
from agentic.core.pipeline.spec.spec import Limits
from agentic.core.pipeline.steps.state import (
    CrawlTotals,
    MissingResultError,
    PipelineState,
    RecoveredStep,
    StepFailure,
    StepNote,
)
from agentic.core.types import JSONValue

log = get_logger(__name__)

Within = Literal["run", "loop", "pipeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPosition:
    """The position of a step.

    Attributes:
        step: Its id, after the ids of the loops around it.
        name: Name of all its results together.
        gives: Names of its results.
        keep: Names that later steps may use.
        within: What its failure ends: the run, an item of a loop, or a pipeline within another one.
        when: Expression that must be true for the step to run.
        limits: Of the pipeline.
        label: The step by its number and id, for people: ``"step 2 extract_list"``.
    """

    step: str
    name: str
    gives: tuple[str, ...]
    keep: frozenset[str]
    within: Within = "run"
    when: str | None = None
    limits: Limits = field(default_factory=Limits)
    label: str = ""

    def is_due(self, state: PipelineState) -> bool:
        """Whether the step must run, by its ``when``.

        Raises:
            ReferenceFailedError: ``when`` leads nowhere.
        """
        return self.when is None or is_true(self.when, state)

    def pass_over(self, state: PipelineState) -> PipelineState:
        """Return the state without this step, with older results unchanged."""
        return replace(state.bind({}, self.keep), passed_over=(*state.passed_over, self.step))

    def bind(self, state: PipelineState, results: Mapping[str, JSONValue]) -> PipelineState:
        """Return the state with the results of this step."""
        return state.bind({**results, self.name: dict(results)}, self.keep)

    def skip(self, state: PipelineState) -> PipelineState:
        """Return the state without this step's results, and without older ones."""
        keep = self.keep - {*self.gives, self.name}
        return replace(state.bind({}, keep), skipped=(*state.skipped, self.step))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopItemOutcome:
    """The result of the steps of a loop for an item: a value as JSON text, or the failure."""

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.places.ItemOutcome"

    value: str | None
    failures: tuple[StepFailure, ...]
    retried: tuple[RecoveredStep, ...] = ()
    crawl: CrawlTotals | None = None
    notes: tuple[StepNote, ...] = ()
    models: ModelUse | None = None
    proxies: tuple[ProxyUse, ...] = ()


async def give_up(
    position: StepPosition,
    state: PipelineState,
    failed: StepFailure,
    then: Ending | None,
    ctx: WorkflowContext,
) -> PipelineState | None:
    """Return the next state; within a loop or another pipeline, end that part instead.

    Raises:
        StepFailedError: The run must fail.
    """
    fails = then == "fail" or (then is None and position.within != "loop")
    if fails and position.within != "pipeline":
        raise StepFailedError(position.step, failed.failure, len(failed.attempts))
    failed = replace(failed, is_letter=then == "dead_letter")
    failures = (*state.failures, failed)
    if fails or position.within == "loop":
        await ctx.yield_output(
            LoopItemOutcome(
                value=None,
                failures=failures,
                retried=state.retried,
                notes=state.notes,
                models=state.models,
                proxies=state.proxies,
            )
        )
        return None
    log.warning("step.skipped", step=position.step, failure_class=failed.failure.failure_class)
    check_failed(position, failures)
    return position.skip(replace(state, failures=failures))


def check_failed(position: StepPosition, failures: Sequence[StepFailure]) -> None:
    """Raise if there are more failures than the pipeline's limit.

    Raises:
        StepFailedError: There are more.
    """
    most = position.limits.max_failed
    # A share is relative to the total, which is only known at the end: see the judgement of the result.
    if not is_share(most) and exceeds(len(failures), most, of=len(failures)):
        raise too_many_failed(position, len(failures), failures[-1].failure)


def too_many_failed(position: StepPosition, count: int, last: Failure) -> StepFailedError:
    """Return the error of a pipeline with more failures than its limit."""
    message = f"{count} failed, more than max_failed ({position.limits.max_failed}); the last: {last.message}"
    return StepFailedError(position.step, replace(last, message=message), 1)


def is_true(text: str, state: PipelineState) -> bool:
    """Whether an expression is true: null, 0, false and empty values are not.

    Raises:
        ReferenceFailedError: It leads nowhere.
    """
    return bool(evaluate(expression_of(text), state.lookup))


async def leave_out(
    position: StepPosition, state: PipelineState, missing: MissingResultError, ctx: WorkflowContext
) -> PipelineState | None:
    """Return the next state of a step that lacks the result of a skipped one."""
    if position.within == "loop":
        return await give_up(position, state, never_tried(position, missing), None, ctx)
    log.warning("step.skipped", step=position.step, reason=str(missing))
    return position.skip(state)


def never_tried(position: StepPosition, reason: Exception) -> StepFailure:
    """Return the failure of a step whose input could not be put together."""
    return StepFailure(step=position.step, failure=describe_failure(reason))
