"""The executors that begin a pipeline, run its actors and end it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from agentic.core.actors import ActorContext, ActorError, Again, ModelUse
from agentic.core.actors.model_use import add_use
from agentic.core.graph import Executor, WorkflowContext, handler
from agentic.core.http.exits.uses import counting_proxies
from agentic.core.pipeline.expressions.expressions import ReferenceFailedError
from agentic.core.pipeline.policies.attempts import GivenUp
from agentic.core.pipeline.policies.retry_events import tell_changes
from agentic.core.pipeline.spec.inputs import read_inputs
from agentic.core.pipeline.spec.own_secrets import OwnSecrets
from agentic.core.pipeline.spec.spec import PipelineSpec
from agentic.core.pipeline.steps.calls import ActorCall, Given, results_of
from agentic.core.pipeline.steps.on_cancel import cancel_call
from agentic.core.pipeline.steps.positions import StepPosition, give_up, leave_out, never_tried
from agentic.core.pipeline.steps.result import result_of
from agentic.core.pipeline.steps.state import (
    MissingResultError,
    PipelineState,
    RecoveredStep,
    StepFailure,
    StepNote,
    add_notes,
    dump,
)
from agentic.core.types import JSONValue, RunId


class InputsNode(Executor):
    """Checks the inputs of the pipeline."""

    def __init__(self, name: str, spec: PipelineSpec, keep: frozenset[str], own: OwnSecrets) -> None:
        super().__init__(name)
        self._spec = spec
        self._keep = keep
        self._own = own

    @handler
    async def run(self, given: dict[str, object]) -> PipelineState:
        """Return the state before the first step."""
        inputs = read_inputs(self._spec, cast(dict[str, JSONValue], given))
        return _with_inputs(
            cast(dict[str, JSONValue], self._own.credentials.stripped_data(inputs)), self._keep
        )


class ResultNode(Executor):
    """Ends the pipeline."""

    def __init__(self, name: str, spec: PipelineSpec, *, may_be_empty: bool) -> None:
        super().__init__(name)
        self._spec = spec
        self._may_be_empty = may_be_empty

    @handler
    async def run(self, state: PipelineState) -> dict[str, JSONValue]:
        """Return the result as JSON-able data."""
        found = result_of(self._spec, state, may_be_empty=self._may_be_empty)
        result: dict[str, JSONValue] = found.model_dump(mode="json")
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorTurn:
    """A further call of an actor that waits for a person or service.

    Attributes:
        state: The pipeline's state at the first call.
        done: (name, JSON text) of work that was done once, and is final.
        after_s: Seconds until the call.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.nodes.ActorTurn"

    state: PipelineState
    done: tuple[tuple[str, str], ...]
    after_s: float


class ActorNode(Executor):
    """Runs an actor step. While its actor waits, it sends itself an :class:`ActorTurn`."""

    def __init__(
        self, name: str, position: StepPosition, call: ActorCall, context: Callable[[RunId], ActorContext]
    ) -> None:
        super().__init__(name)
        self._position = position
        self._call = call
        self._context = context

    @handler
    async def run(self, state: PipelineState, ctx: WorkflowContext) -> PipelineState | ActorTurn | None:
        """Return the state with the actor's results."""
        try:
            if not self._position.is_due(state):
                return self._position.pass_over(state)
        except MissingResultError as exc:
            return await leave_out(self._position, state, exc, ctx)
        except ReferenceFailedError as exc:
            return await give_up(self._position, state, never_tried(self._position, exc), None, ctx)
        return await self._turn(_first_turn(state), ctx)

    @handler
    async def go_on(self, turn: ActorTurn, ctx: WorkflowContext) -> PipelineState | ActorTurn | None:
        """Call again; return the state with the actor's results, or the next turn."""
        await asyncio.sleep(turn.after_s)
        return await self._turn(turn, ctx)

    @property
    def has_cancel_hook(self) -> bool:
        """Whether one of its actors has external work to end."""
        return self._call.has_cancel_hook

    async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
        """Call the actor, so that it ends its external work."""
        turn = message if isinstance(message, ActorTurn) else _first_turn(cast(PipelineState, message))
        context = self._context_of(ctx, TurnOnce(ctx, turn.done))
        try:
            given = await self._call.prepare(turn.state, context)
        except MissingResultError:
            return  # it was never called
        await cancel_call(self._call, context, given, ctx)

    def _context_of(self, ctx: WorkflowContext, once: TurnOnce) -> ActorContext:
        return replace(self._context(ctx.run_id), call=f"{ctx.run_id}/{self._position.step}", once=once)

    async def _turn(self, turn: ActorTurn, ctx: WorkflowContext) -> PipelineState | ActorTurn | None:
        state = turn.state
        once = TurnOnce(ctx, turn.done)
        warned: list[tuple[str, str]] = []
        uses: list[ModelUse] = []
        context = replace(
            self._context_of(ctx, once),
            warn=lambda sentence: warned.append(("", sentence)),
            tally=lambda subject, sentence: warned.append((subject, sentence)),
            used=uses.append,
        )
        try:
            given = await self._call.prepare(state, context)
        except MissingResultError as exc:
            return await leave_out(self._position, state, exc, ctx)
        except ActorError as exc:
            return await give_up(self._position, state, never_tried(self._position, exc), None, ctx)
        tell = tell_changes(ctx, self._position.step, context.decide)
        with counting_proxies(context.http.exits is not None) as tally:
            outcome = await self._call.run(context, given, state, tell)
        state = state.with_proxies(tally.take())
        if uses:
            state = replace(state, models=add_use(state.models, uses))
        if isinstance(outcome, GivenUp):
            failed = StepFailure(step=self._position.step, failure=outcome.failure, attempts=outcome.attempts)
            follows = await give_up(self._position, state, failed, outcome.then, ctx)
            if self.has_cancel_hook:  # a run that fails because of it ends the work itself
                await cancel_call(self._call, replace(context, once=once.known), given, ctx)
            return follows
        if isinstance(outcome.value, Again):
            ctx.report_progress(0, None, outcome.value.note)
            return ActorTurn(state=state, done=once.done, after_s=outcome.value.after_s)
        if len(outcome.attempts) > 1:
            retried = RecoveredStep(step=self._position.step, attempts=outcome.attempts)
            state = replace(state, retried=(*state.retried, retried))
        if context.http.exits is not None:
            warned += context.http.exits.take_news()
        if warned:
            notes = [
                StepNote(step=self._position.label, message=given.hidden.text(sentence), subject=subject)
                for subject, sentence in warned
            ]
            state = replace(state, notes=add_notes(state.notes, notes))
        return self._position.bind(state, _shown(results_of(outcome.value), given))


def _first_turn(state: PipelineState) -> ActorTurn:
    return ActorTurn(state=state, done=(), after_s=0.0)


class TurnOnce:
    """The work a call did once: saved in the ledger at once, and passed on from turn to turn.

    Args:
        ctx: Of the activation.
        done: (name, JSON text) of earlier turns.
    """

    def __init__(self, ctx: WorkflowContext, done: tuple[tuple[str, str], ...] = ()) -> None:
        self.done = done
        self._ctx = ctx

    async def __call__(self, name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Return the result of the first ``work``."""
        for known, text in self.done:
            if known == name:
                return cast(JSONValue, json.loads(text))
        value = await self._ctx.once(f"actor:{name}", work)
        self.done = (*self.done, (name, dump(value)))
        return value

    async def known(self, name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Return the saved result, or run ``work`` without saving its result."""
        return await self(name, work) if name in dict(self.done) else await work()


def first_state(spec: PipelineSpec, given: dict[str, JSONValue], keep: frozenset[str]) -> PipelineState:
    """Return the state before the first step.

    Raises:
        PipelineInputError: The inputs are not the declared ones.
    """
    return _with_inputs(read_inputs(spec, given), keep)


def _with_inputs(inputs: dict[str, JSONValue], keep: frozenset[str]) -> PipelineState:
    return PipelineState().bind({**inputs, "inputs": inputs}, keep | {"inputs"})


def _shown(results: dict[str, JSONValue], given: Given) -> dict[str, JSONValue]:
    if not given.hidden.values:
        return results
    return {name: given.hidden.value(value) for name, value in results.items()}
