"""Settings of a run and its executors: limits, retries, crashes, approvals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agentic.core.graph.errors import InvalidPolicyError
from agentic.core.graph.model.history import HistorySource


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a failing activation is tried, and the delays between tries.

    The delay before try ``n + 1`` is ``first_delay_s * backoff ** (n - 1)``, at most ``max_delay_s``,
    shortened by up to ``jitter`` of itself at random (Brooker, Exponential Backoff And Jitter, 2015).

    Attributes:
        max_attempts: Tries in all, the first one included.
        first_delay_s: Seconds before the second try.
        backoff: Factor from one delay to the next.
        max_delay_s: The longest delay, even if the error asks for more.
        jitter: The largest share of a delay to cut at random, from 0 to 1.
        retry_on: Only errors of these classes are tried again.
        respect_retry_after: An error with a number ``retry_after_s`` sets the least delay itself.
    """

    max_attempts: int = 3
    first_delay_s: float = 0.5
    backoff: float = 2.0
    max_delay_s: float = 60.0
    jitter: float = 0.5
    retry_on: tuple[type[Exception], ...] = (Exception,)
    respect_retry_after: bool = True

    def __post_init__(self) -> None:
        checks = (
            (self.max_attempts >= 1, "max_attempts", "at least 1"),
            (self.first_delay_s >= 0, "first_delay_s", "0 or more seconds"),
            (self.backoff >= 1, "backoff", "1 or more"),
            (self.max_delay_s >= 0, "max_delay_s", "0 or more seconds"),
            (0 <= self.jitter <= 1, "jitter", "a share from 0 to 1"),
        )
        for holds, name, wanted in checks:
            if not holds:
                raise InvalidPolicyError(name, getattr(self, name), wanted)


ONCE = RetryPolicy(max_attempts=1)
"""A single attempt."""


def delay_before_retry(policy: RetryPolicy, attempt: int, error: Exception, chance: float) -> float | None:
    """Return the seconds to wait after a failed try, or None after the last one.

    Args:
        policy: The executor's.
        attempt: The number of the failed try, from 1.
        error: The error. An attribute ``is_retriable`` that is false makes it final.
        chance: A random number from 0 to 1, for the jitter.
    """
    if attempt >= policy.max_attempts or not isinstance(error, policy.retry_on):
        return None
    if getattr(error, "is_retriable", True) is False:
        return None
    delay = min(policy.first_delay_s * policy.backoff ** (attempt - 1), policy.max_delay_s)
    delay *= 1 - policy.jitter * chance
    asked_for = getattr(error, "retry_after_s", None)
    if policy.respect_retry_after and isinstance(asked_for, (int, float)):
        delay = max(delay, min(float(asked_for), policy.max_delay_s))
    return delay


OnCrash = Literal["retry", "fail", "review"]
"""Run the activation again; fail it; or hold it for review by a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPolicy:
    """The reaction when the process of an activation dies, in runs with a ledger.

    Attributes:
        on_crash: ``retry`` suits repeatable work, such as fetching; ``review`` other work, such as posting.
        max_crashes: With ``retry``: how often the process may die before the activation fails.
    """

    on_crash: OnCrash = "retry"
    max_crashes: int = 2

    def __post_init__(self) -> None:
        if self.on_crash not in get_args(OnCrash):
            raise InvalidPolicyError("on_crash", self.on_crash, "'retry', 'fail' or 'review'")
        if self.max_crashes < 0:
            raise InvalidPolicyError("max_crashes", self.max_crashes, "0 or more")


TWICE_MORE = CrashPolicy()
"""A process may die for other reasons; after three deaths the activation counts as the cause."""


class ApprovalRequest(BaseModel):
    """An action that a person must approve."""

    __wire_name__ = "agentic.core.graph.approvals.ApprovalRequest"

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = Field(min_length=1, description="The action: a verb, for people and for rules.")
    details: JsonValue = Field(default=None, description="Facts for the decision.")


class ApprovalResponse(BaseModel):
    """The decision of the person."""

    __wire_name__ = "agentic.core.graph.approvals.ApprovalResponse"

    model_config = ConfigDict(extra="forbid", frozen=True)

    approved: bool = Field(description="Whether the action is allowed.")
    reason: str = Field(default="", description="Reason of the decision.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowConfig:
    """Limits and modes of a run.

    Attributes:
        max_supersteps: A run that still has messages in flight after these ends with ``ConvergenceError``.
        strict: An undelivered message fails the run; else it is only an event.
        fail_fast: The first failure cancels the activations beside it, instead of waiting for them.
        max_parallel: Activations handled at a time, over all executors; None for no limit. Sub-workflows have
            limits of their own.
        retry: For executors that have no policy of their own.
        crash: For executors that have no policy of their own.
        timeout_s: Seconds an attempt may take, for executors that have no timeout of their own.
        run_timeout_s: Seconds the run may take.
        on_checkpoint_failure: ``fail`` ends the run when a checkpoint cannot be saved; ``continue`` only
            emits an event.
        keep_checkpoints: How many of a run's checkpoints to keep; None for all.
        history: The source of ``ctx.history()``; without one the history is empty.
    """

    max_supersteps: int = 1000
    strict: bool = True
    fail_fast: bool = False
    max_parallel: int | None = None
    retry: RetryPolicy = ONCE
    crash: CrashPolicy = TWICE_MORE
    timeout_s: float | None = None
    run_timeout_s: float | None = None
    on_checkpoint_failure: Literal["fail", "continue"] = "fail"
    keep_checkpoints: int | None = None
    history: HistorySource | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_supersteps", 1), ("max_parallel", 1), ("keep_checkpoints", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InvalidPolicyError(name, value, f"at least {least}")
        if self.on_checkpoint_failure not in {"fail", "continue"}:
            raise InvalidPolicyError(
                "on_checkpoint_failure", self.on_checkpoint_failure, "'fail' or 'continue'"
            )
        for name in ("timeout_s", "run_timeout_s"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InvalidPolicyError(name, value, "more than 0 seconds")
