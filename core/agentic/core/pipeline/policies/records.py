"""The attempts of a step as data that is stored with their result."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.pipeline.policies.policies import StepAttempt
from agentic.core.types import JSONValue

ATTEMPTS = "_attempts"
"""Key of the attempts of a loop item, if it took more than one."""


def attempt_records(attempts: Iterable[StepAttempt]) -> list[JSONValue]:
    """Return each attempt as JSON: its actor, and if it failed, why and what followed."""
    return [_record(attempt) for attempt in attempts]


def _record(attempt: StepAttempt) -> dict[str, JSONValue]:
    failure, decision = attempt.failure, attempt.decision
    if failure is None or decision is None:
        return {"actor": attempt.actor}
    record: dict[str, JSONValue] = {
        "actor": attempt.actor,
        "failure_class": failure.failure_class,
        "message": failure.message,
        "action": decision.action,
        "wait_s": decision.wait_s,
    }
    more: dict[str, JSONValue] = {"detail": failure.detail, "next": decision.actor or decision.step}
    return {**record, **{name: value for name, value in more.items() if value}}
