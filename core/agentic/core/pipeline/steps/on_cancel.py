"""Ends external work of a call, and reports work that may continue."""

from __future__ import annotations

import asyncio

from agentic.core.actors import ActorContext, Failure, describe_failure
from agentic.core.audit import ENGINE, DecisionKind, decided
from agentic.core.graph import CustomEvent, WorkflowContext
from agentic.core.logging import get_logger
from agentic.core.pipeline.steps.calls import ActorCall, Given

CALL_LEFT = "call.left"
"""Type of the event about external work that may continue after its call was cancelled."""

PAUSES_S = (0.0, 0.5, 1.0)
"""Wait before each attempt: a service that is away for longer must not delay the end of a run."""

log = get_logger(__name__)


async def cancel_call(call: ActorCall, context: ActorContext, given: Given, ctx: WorkflowContext) -> None:
    """Call the actors of a step to end their external work; report what could not be ended.

    Args:
        call: The call of the step.
        context: The context of the actors.
        given: Its input.
        ctx: Of the activation.
    """
    failure = await _tried(call, context, given)
    if failure is None:
        return
    reason = failure.message
    log.warning("call.left", step=call.step, actor=call.actor, reason=reason)
    data = {
        "subject": call.step,
        "actor": call.actor,
        "failure_class": failure.failure_class,
        "reason": reason,
    }
    await ctx.add_event(CustomEvent(type=CALL_LEFT, data=data))
    what = (
        f"external work of {call.actor} for {call.step} may continue although its result is no longer needed"
    )
    left = DecisionKind.CALL_LEFT
    await context.decide(
        decided(left, ctx.run_id, what, reason=reason, who=ENGINE, item=call.step, actor=call.actor)
    )


async def _tried(call: ActorCall, context: ActorContext, given: Given) -> Failure | None:
    failure: Failure | None = None
    for pause_s in PAUSES_S:
        await asyncio.sleep(pause_s)
        try:
            await call.cancel(context, given)
        except Exception as exc:
            failure = given.hidden.failure(describe_failure(exc))
        else:
            return None
    return failure
