"""Events about the reactions of a pipeline to failures."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agentic.core.actors import Failure
from agentic.core.actors.context import Decide
from agentic.core.audit import ENGINE, DecisionKind, decided
from agentic.core.audit import Decision as Audited
from agentic.core.graph import CustomEvent, WorkflowContext
from agentic.core.pipeline.policies.attempts import OnAttempt
from agentic.core.pipeline.policies.policies import Action, FailureDecision, StepAttempt
from agentic.core.types import JSONValue, RunId

STRATEGY_CHANGED = "strategy.changed"
"""Type of the event about a fallback, a rerun step or a dead letter."""


_KINDS: Mapping[Action, DecisionKind] = {
    "retry": DecisionKind.ATTEMPT_RETRIED,
    "rerun": DecisionKind.STEP_RERUN,
    "fallback": DecisionKind.FALLBACK_CHOSEN,
    "give_up": DecisionKind.ITEM_GIVEN_UP,
}

OF_PAGES: Collection[Action] = frozenset({"rerun", "fallback"})
"""Decisions about pages that enter the audit: the others are stored with each page."""


def tell_changes(
    ctx: WorkflowContext, subject: str, decide: Decide, actions: Collection[Action] = frozenset(_KINDS)
) -> OnAttempt:
    """Return a function that sends an event for each change of strategy, and records the decisions.

    Args:
        ctx: Of the activation.
        subject: The step, or the page of a crawl.
        decide: Records a decision.
        actions: The actions to record; a plain retry sends no event.
    """

    async def tell(attempt: StepAttempt) -> None:
        failure, decision = attempt.failure, attempt.decision
        if failure is None or decision is None:
            return
        if decision.action in actions:
            await decide(_decided(ctx.run_id, subject, attempt.actor, failure, decision))
        if decision.action == "retry":
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


def _decided(run_id: RunId, subject: str, actor: str, failure: Failure, decision: FailureDecision) -> Audited:
    then: Mapping[Action, str] = {
        "retry": f"retry in {decision.wait_s:g} s",
        "rerun": f"rerun of step {decision.step}, then retry",
        "fallback": f"fallback to {decision.actor}",
        "give_up": f"failed for good, then: {decision.then or 'the default'}",
    }
    return decided(
        _KINDS[decision.action],
        run_id,
        f"{subject}: {actor} failed; {then[decision.action]}",
        reason=f"{failure.failure_class}: {failure.message}",
        who=ENGINE,
        item=subject,
        actor=actor,
        next=_next(decision),
        failure_class=failure.failure_class,
        rule=decision.rule or None,
    )


def _next(decision: FailureDecision) -> str | None:
    return decision.actor or decision.step or decision.then
