"""Errors of durable runs."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.errors import AgenticError
from agentic.core.types import RunId


class DurableError(AgenticError):
    """Base of the errors of durable runs."""


MAX_NAME_CHARS = 200
"""Maximum characters of a name in a message; a crafted row may have a very long one."""


class UnknownWorkflowError(DurableError):
    """No workflow has this name."""

    def __init__(self, name: str, reason: str) -> None:
        shown = name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}..."
        super().__init__(f"workflow {shown!r} does not exist: {reason[: 10 * MAX_NAME_CHARS]}")
        self.name = name


class CrashedError(DurableError):
    """An activation failed because the processes that ran it died."""

    is_retriable = False

    def __init__(self, activation: str, crashes: int, worker: str | None, reason: str | None = None) -> None:
        last = f"last on {worker or 'an unknown worker'}"
        then = (
            "check its log for the cause"
            if reason is None
            else f"{reason}; move the blocking call to a thread"
        )
        super().__init__(
            f"{activation} failed for good: its process died {crashes} time(s), {last}; {then}, then run "
            "`agentic runs retry`"
        )


class TimeLimitError(DurableError, TimeoutError):
    """A try was stopped because the time limit of its Celery task passed."""

    def __init__(self, executor_id: str) -> None:
        super().__init__(
            f"executor {executor_id!r} was stopped by the time limit of its task; give the executor a "
            "timeout_s, or raise task_soft_time_limit in celeryconfig"
        )


class CancelledRunError(DurableError, RuntimeError):
    """An answer came to a cancelled run, which only an explicit decision continues."""

    def __init__(self, run_id: RunId, *, is_over: bool) -> None:
        state = "cancelled" if is_over else "to be cancelled"
        super().__init__(
            f"run {run_id!r} is {state} and cannot be answered; continue it first with `agentic runs retry`"
        )
        self.run_id = run_id


class LateAnswerError(DurableError, TimeoutError):
    """An answer came after the deadline of its request."""

    def __init__(self, request: str, late_s: float) -> None:
        super().__init__(
            f"request {request!r} expired {late_s:.1f} s ago, and its run continues without an answer; set "
            "a later deadline next time"
        )
        self.request = request


class IdempotencyKeyError(DurableError, ValueError):
    """An idempotency key cannot be stored."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the idempotency key {key!a} contains lone surrogates, which no store accepts; clean the text "
            "first, e.g. with key.encode(errors='replace').decode()"
        )
        self.key = key


class PriorityError(DurableError, ValueError):
    """A priority is invalid."""

    def __init__(self, priority: object) -> None:
        super().__init__(f"priority {priority!r} is not between 0 and 9 (9 runs first)")


class RunFailedError(DurableError):
    """Runs failed; Flower shows this for the task that decided it."""

    def __init__(self, failed: Mapping[RunId, str]) -> None:
        super().__init__("; ".join(f"run {run_id} failed: {error}" for run_id, error in failed.items()))
