"""Whether an activation that failed is tried again, and when."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.graph.errors import InvalidPolicyError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and how long apart, a failing activation is tried.

    The delay before try ``n + 1`` is ``first_delay_s * backoff ** (n - 1)``, at most ``max_delay_s``,
    shortened by up to ``jitter`` of itself at random (Brooker, Exponential Backoff And Jitter, 2015).

    Attributes:
        max_attempts: Tries in all, the first one included.
        first_delay_s: Seconds before the second try.
        backoff: Factor from one delay to the next.
        max_delay_s: No delay is longer, one that the error asks for included.
        jitter: Share of a delay that chance may take away, from 0 to 1.
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
"""No second try."""


def delay_before_retry(policy: RetryPolicy, attempt: int, error: Exception, chance: float) -> float | None:
    """Return the seconds to wait after a failed try, or None when it was the last.

    Args:
        policy: The executor's.
        attempt: Which try failed, from 1.
        error: Why. An attribute ``is_retriable`` that is false makes it final.
        chance: A random number from 0 to 1, which the jitter is made of.
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
