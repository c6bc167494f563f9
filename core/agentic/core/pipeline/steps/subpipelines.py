"""The executors of a pipeline that is a step of another one."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from agentic.core.actors import ActorError
from agentic.core.actors.model_use import add_use
from agentic.core.graph import Executor, ItemResult, WorkflowContext, handler
from agentic.core.pipeline.errors import PipelineInputError
from agentic.core.pipeline.expressions.references import resolve
from agentic.core.pipeline.policies.policies import Levels, decide
from agentic.core.pipeline.spec.spec import Config, PipelineSpec
from agentic.core.pipeline.steps.loops import LoopItem, state_around
from agentic.core.pipeline.steps.nodes import first_state
from agentic.core.pipeline.steps.positions import (
    LoopItemOutcome,
    StepPosition,
    check_failed,
    give_up,
    leave_out,
    never_tried,
)
from agentic.core.pipeline.steps.result import PipelineResult, result_of
from agentic.core.pipeline.steps.state import MissingResultError, PipelineState, add_notes, dump
from agentic.core.types import JSONValue


class EnterNode(Executor):
    """Begins a pipeline within another one, as a loop over one item."""

    def __init__(
        self, name: str, position: StepPosition, spec: PipelineSpec, inputs: Config, keep: frozenset[str]
    ) -> None:
        super().__init__(name)
        self._position = position
        self._spec = spec
        self._inputs = inputs
        self._keep = keep

    @handler
    async def run(self, state: PipelineState, ctx: WorkflowContext) -> list[LoopItem] | PipelineState | None:
        """Return the pipeline's first state, or the next state if it must not run."""
        try:
            if not self._position.is_due(state):
                return self._position.pass_over(state)
            given = cast(dict[str, JSONValue], resolve(self._inputs, state.lookup))
            inner = first_state(self._spec, given, self._keep)
        except MissingResultError as exc:
            return await leave_out(self._position, state, exc, ctx)
        except (ActorError, PipelineInputError) as exc:
            return await give_up(self._position, state, never_tried(self._position, exc), None, ctx)
        return [LoopItem(outer=state, inner=inner, text=dump(given))]


class OutcomeNode(Executor):
    """Ends the steps of a pipeline within another one."""

    def __init__(self, name: str, spec: PipelineSpec) -> None:
        super().__init__(name)
        self._spec = spec

    @handler
    async def run(self, state: PipelineState) -> LoopItemOutcome:
        """Return the pipeline's result."""
        value = result_of(self._spec, state).model_dump(mode="json")
        return LoopItemOutcome(
            value=dump(value),
            failures=state.failures,
            retried=state.retried,
            crawl=state.crawl,
            notes=state.notes,
            models=state.models,
            proxies=state.proxies,
        )


class LeaveNode(Executor):
    """Continues after a pipeline within another one."""

    def __init__(self, name: str, position: StepPosition, levels: Levels) -> None:
        super().__init__(name)
        self._position = position
        self._levels = levels

    @handler
    async def gather(self, results: list[ItemResult], ctx: WorkflowContext) -> PipelineState | None:
        """Return the state with the items and counts of the pipeline."""
        outer = state_around(results)
        outcome = cast(LoopItemOutcome, results[0].value)
        after = replace(
            outer,
            failures=(*outer.failures, *outcome.failures),
            retried=(*outer.retried, *outcome.retried),
            crawl=outcome.crawl or outer.crawl,
            notes=add_notes(outer.notes, outcome.notes),
            models=add_use(outer.models, (outcome.models,)),
        ).with_proxies(outcome.proxies)
        if outcome.value is None:
            before = replace(outer, models=after.models, proxies=after.proxies)
            return await self._failed(before, outcome, ctx)
        check_failed(self._position, after.failures)
        result = PipelineResult.model_validate_json(outcome.value)
        return self._position.bind(after, {"items": list(result.items), "counts": dict(result.counts)})

    @handler
    async def passed(self, state: PipelineState) -> PipelineState:
        """Return the state of a pipeline that was not run."""
        return state

    async def _failed(
        self, outer: PipelineState, outcome: LoopItemOutcome, ctx: WorkflowContext
    ) -> PipelineState | None:
        failed = outcome.failures[-1]
        then = decide(self._levels, failed.failure, ()).then
        before = replace(outer, failures=(*outer.failures, *outcome.failures[:-1]))
        return await give_up(self._position, before, failed, then, ctx)
