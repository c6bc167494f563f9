"""Events about what a pipeline does when something fails."""

from __future__ import annotations

from agentic.core.graph import CustomEvent, WorkflowContext
from agentic.core.pipeline.attempts import Tell
from agentic.core.pipeline.policies import Attempt, Decision
from agentic.core.types import JSONValue

STRATEGY_CHANGED = "strategy.changed"
"""Type of the event that tells of another way taken: a fallback, a step run anew, an item given up."""


def tell_changes(ctx: WorkflowContext, subject: str) -> Tell:
    """Return what tells an event for each change of strategy; a plain retry is none.

    Args:
        ctx: Of the activation.
        subject: The step, or the page of a crawl.
    """

    async def tell(attempt: Attempt) -> None:
        failure, decision = attempt.failure, attempt.decision
        if failure is None or decision is None or decision.action == "retry":
            return
        data: dict[str, JSONValue] = {
            "subject": subject,
            "actor": attempt.actor,
            "action": decision.action,
            "next": _next(decision),
            "failure_class": failure.failure_class,
            "reason": failure.message,
        }
        await ctx.add_event(CustomEvent(type=STRATEGY_CHANGED, data=data))

    return tell


def _next(decision: Decision) -> str | None:
    return decision.actor or decision.step or decision.then
