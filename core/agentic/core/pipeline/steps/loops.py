"""The executors of a loop: a list of items, steps for each of them, one result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from agentic.core.actors import describe_failure
from agentic.core.actors.model_use import add_use
from agentic.core.graph import Executor, ItemResult, WorkflowContext, handler
from agentic.core.logging import get_logger
from agentic.core.pipeline.expressions.expressions import ReferenceFailedError, evaluate, kind_of
from agentic.core.pipeline.expressions.references import expression_of
from agentic.core.pipeline.policies.records import ATTEMPTS, attempt_records
from agentic.core.pipeline.spec.spec import LoopStep
from agentic.core.pipeline.steps.positions import (
    LoopItemOutcome,
    StepPosition,
    check_failed,
    give_up,
    leave_out,
    never_tried,
)
from agentic.core.pipeline.steps.state import MissingResultError, PipelineState, StepFailure, add_notes, dump
from agentic.core.types import JSONValue

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopItem:
    """An item on its way through a loop.

    Attributes:
        inner: The values that the steps of the loop may use, without earlier failures.
        text: The item as JSON.
        outer: The state before the loop. Only the first item carries it, because it may be large: the end of
            the loop continues from there.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.loops.LoopItem"

    inner: PipelineState
    text: str
    outer: PipelineState | None = None


def state_around(items: Sequence[ItemResult]) -> PipelineState:
    """Return the state before the items were processed."""
    return cast(PipelineState, cast(LoopItem, items[0].item).outer)


class LoopNode(Executor):
    """Begins a loop: makes a list of its source."""

    def __init__(
        self, name: str, position: StepPosition, step: LoopStep, outer_names: frozenset[str]
    ) -> None:
        super().__init__(name)
        self._position = position
        self._source = expression_of(step.source)
        self._item_as = step.item_as
        self._max_items = step.max_items
        self._outer_names = outer_names

    @handler
    async def run(self, state: PipelineState, ctx: WorkflowContext) -> list[LoopItem] | PipelineState | None:
        """Return the items, or the next state if the list is empty."""
        try:
            if not self._position.is_due(state):
                return self._position.pass_over(state)
            items = self._read(state)
        except MissingResultError as exc:
            return await leave_out(self._position, state, exc, ctx)
        except ReferenceFailedError as exc:
            return await give_up(self._position, state, never_tried(self._position, exc), None, ctx)
        left_out = max(len(items) - self._max_items, 0)
        if left_out:
            log.warning("items.left_out", step=self._position.step, count=left_out, max_items=self._max_items)
        outer = replace(state, left_out=state.left_out + left_out)
        if not items:
            return self._position.bind(outer, {"items": [], "failed": 0})
        seen = state.only(self._outer_names)
        made = [self._item(seen, item) for item in items[: self._max_items]]
        return [replace(made[0], outer=outer), *made[1:]]

    def _read(self, state: PipelineState) -> list[JSONValue]:
        items = evaluate(self._source, state.lookup)
        if not isinstance(items, list):
            raise ReferenceFailedError(self._source.text, f"is a {kind_of(items)}; a loop needs a list")
        return items

    def _item(self, seen: PipelineState, item: JSONValue) -> LoopItem:
        return LoopItem(
            inner=seen.bind({self._item_as: item}, {self._item_as, *self._outer_names}), text=dump(item)
        )


class ItemNode(Executor):
    """Begins the steps of a loop for one item."""

    @handler
    async def run(self, item: LoopItem) -> PipelineState:
        """Return the values that the steps may use."""
        return item.inner


class CollectNode(Executor):
    """Ends the steps of a loop for one item."""

    def __init__(self, name: str, step: str, collect: str) -> None:
        super().__init__(name)
        self._step = step
        self._collect = expression_of(collect)

    @handler
    async def run(self, state: PipelineState) -> LoopItemOutcome:
        """Return the result that the loop keeps of the item."""
        outcome = LoopItemOutcome(
            value=None,
            failures=state.failures,
            retried=state.retried,
            notes=state.notes,
            models=state.models,
            proxies=state.proxies,
        )
        try:
            value = dump(evaluate(self._collect, state.lookup))
        except ReferenceFailedError as exc:
            failed = StepFailure(step=self._step, failure=describe_failure(exc))
            return replace(outcome, failures=(*state.failures, failed))
        return replace(outcome, value=value)


class JoinNode(Executor):
    """Ends a loop."""

    def __init__(self, name: str, position: StepPosition) -> None:
        super().__init__(name)
        self._position = position

    @handler
    async def gather(self, results: list[ItemResult]) -> PipelineState:
        """Return the state with the results of the items, in item order."""
        items = [cast(LoopItem, result.item) for result in results]
        outcomes = [cast(LoopItemOutcome, result.value) for result in results]
        outer = state_around(results)
        failures = [
            replace(failed, item=failed.item or item.text)
            for item, outcome in zip(items, outcomes, strict=True)
            for failed in outcome.failures
        ]
        retried = [
            replace(tried, item=tried.item or item.text)
            for item, outcome in zip(items, outcomes, strict=True)
            for tried in outcome.retried
        ]
        after = replace(
            outer,
            failures=(*outer.failures, *failures),
            retried=(*outer.retried, *retried),
            notes=add_notes(outer.notes, (note for outcome in outcomes for note in outcome.notes)),
            models=add_use(outer.models, (outcome.models for outcome in outcomes)),
        )
        after = after.with_proxies([use for outcome in outcomes for use in outcome.proxies])
        check_failed(self._position, after.failures)
        values = [_value(outcome) for outcome in outcomes if outcome.value is not None]
        return self._position.bind(after, {"items": values, "failed": len(outcomes) - len(values)})

    @handler
    async def passed(self, state: PipelineState) -> PipelineState:
        """Return the state of a loop that had nothing to do."""
        return state


def _value(outcome: LoopItemOutcome) -> JSONValue:
    """Return a loop's result of an item, with the attempts if there was more than one."""
    value: JSONValue = json.loads(outcome.value or "null")
    if isinstance(value, dict) and outcome.retried:
        attempts = [record for tried in outcome.retried for record in attempt_records(tried.attempts)]
        return {**value, ATTEMPTS: attempts}
    return value
