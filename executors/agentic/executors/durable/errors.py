"""What can go wrong with durable runs."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.errors import AgenticError
from agentic.core.types import RunId


class DurableError(AgenticError):
    """Something is wrong with a durable run."""


MAX_NAME_CHARS = 200
"""What a message shows of a name, which a crafted row may have made as long as it likes."""


class UnknownWorkflowError(DurableError):
    """A name leads to no workflow."""

    def __init__(self, name: str, reason: str) -> None:
        shown = name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}..."
        super().__init__(f"there is no workflow {shown!r}: {reason[: 10 * MAX_NAME_CHARS]}")
        self.name = name


class CrashedError(DurableError):
    """An activation was given up, as the processes that ran it died."""

    is_retriable = False

    def __init__(self, activation: str, crashes: int, worker: str | None, reason: str | None = None) -> None:
        last = f"last on {worker or 'an unknown worker'}"
        then = "look there for the cause" if reason is None else f"{reason}; let it block in a thread instead"
        super().__init__(
            f"{activation} was given up: the process that ran it died {crashes} time(s), {last}; {then}, "
            f"then `agentic runs retry`"
        )


class TimeLimitError(DurableError, TimeoutError):
    """A try was stopped, as the time limit of its Celery task passed."""

    def __init__(self, executor_id: str) -> None:
        super().__init__(
            f"executor {executor_id!r} was stopped: the time limit of its task passed; give the executor a "
            f"timeout_s, or raise task_soft_time_limit in celeryconfig"
        )


class CancelledRunError(DurableError, RuntimeError):
    """An answer came to a run that was cancelled: to let that go on is a decision of its own."""

    def __init__(self, run_id: RunId, *, is_over: bool) -> None:
        state = "cancelled" if is_over else "to be cancelled"
        super().__init__(
            f"run {run_id!r} is {state} and cannot be answered; ask for it to go on first "
            f"(`agentic runs retry` lets it go on)"
        )
        self.run_id = run_id


class LateAnswerError(DurableError, TimeoutError):
    """An answer came after the deadline of its request."""

    def __init__(self, request: str, late_s: float) -> None:
        super().__init__(
            f"request {request!r} expired {late_s:.1f} s ago, and its run goes on without an answer; "
            f"give the request a later deadline the next time"
        )
        self.request = request


class IdempotencyKeyError(DurableError, ValueError):
    """An idempotency key cannot be stored."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the idempotency key {key!a} holds lone surrogates, which no store takes; clean the text first, "
            f"as by key.encode(errors='replace').decode()"
        )
        self.key = key


class PriorityError(DurableError, ValueError):
    """A priority is none."""

    def __init__(self, priority: object) -> None:
        super().__init__(f"priority {priority!r} is not from 0 to 9; higher goes first")


class RunFailedError(DurableError):
    """Runs failed; what Flower shows of the task in which that was decided."""

    def __init__(self, failed: Mapping[RunId, str]) -> None:
        super().__init__("; ".join(f"run {run_id} failed: {error}" for run_id, error in failed.items()))
