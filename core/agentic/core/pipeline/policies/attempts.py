"""Tries work until it succeeds or the rules end it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, TypeVar

from agentic.core.actors import Failure, describe_failure
from agentic.core.http.politeness.slots import idle, note_begun
from agentic.core.logging import get_logger
from agentic.core.pipeline.expressions.secret_masking import NOTHING_HIDDEN, Hidden
from agentic.core.pipeline.policies.policies import (
    Config,
    Ending,
    Levels,
    StepAttempt,
    chance_of,
    decide,
    fallback_config,
)
from agentic.core.records import record
from agentic.core.settings import safe_url

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
OnAttempt = Callable[[StepAttempt], Awaitable[None]]

log = get_logger(__name__)

PART = "part"
"""Stands for the actor in the attempts at a part of its work."""


@record
class Success(Generic[T]):
    """Work that succeeded: its result, and every attempt in order."""

    value: T
    attempts: tuple[StepAttempt, ...]


@record
class GivenUp:
    """Work that failed for good.

    Attributes:
        failure: The last one, which decided the result.
        attempts: Every attempt in order.
        then: What follows by the rule, if it says so.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.attempts.GivenUp"

    failure: Failure
    attempts: tuple[StepAttempt, ...]
    then: Ending | None = None


@record
class RetryContext:
    """How failures are handled.

    Attributes:
        levels: Rules, nearest first.
        subject: The name of the work, for the log.
        seed: Differs for each piece of work on that subject, so that their waits differ.
        hidden: Secrets that no message may hold.
        tell: Receives every failed attempt and what follows it.
        rerun: Runs an earlier step again, by its id.
        sleep: Waits between attempts.
    """

    levels: Levels
    subject: str
    seed: str = ""
    hidden: Hidden = NOTHING_HIDDEN
    tell: OnAttempt | None = None
    rerun: Callable[[str], Awaitable[None]] | None = None
    sleep: Sleep = asyncio.sleep


async def try_until_settled(
    call: Callable[[str, Config | None], Awaitable[T]],
    actor: str,
    retry_context_of: Callable[[], RetryContext],
) -> Success[T] | GivenUp:
    """Call ``call(actor, None)`` and handle failures as the rules say.

    Args:
        call: Does the work with the actor of that name; any exception is a failure. A fallback also gets its
            own config.
        actor: The first one to try.
        retry_context_of: Returns the handling of failures; called at the first one.
    """
    attempts: list[StepAttempt] = []
    retry_context: RetryContext | None = None
    step: str | None = None
    config: Config | None = None
    while True:
        try:
            if retry_context is not None and retry_context.rerun is not None and step is not None:
                await retry_context.rerun(step)
            value = await call(actor, config)
        except Exception as exc:
            retry_context = retry_context or retry_context_of()
            failure = retry_context.hidden.failure(describe_failure(exc))
            cause = exc
        else:
            return Success(value=value, attempts=(*attempts, StepAttempt(actor=actor)))
        chance = chance_of(f"{retry_context.subject}:{retry_context.seed}", len(attempts))
        decision = decide(retry_context.levels, failure, attempts, chance)
        attempt = StepAttempt(actor=actor, failure=failure, decision=decision)
        attempts.append(attempt)
        note_begun()
        log.info(
            "attempt.failed",
            subject=retry_context.subject,
            actor=actor,
            failure_class=failure.failure_class,
            reason=failure.message,
            action=decision.action,
            wait_s=decision.wait_s,
            # An error without a failure class is a bug somewhere: its traceback helps, unless it may quote a
            # secret.
            exc_info=cause if failure.failure_class == "error" and not retry_context.hidden.values else None,
        )
        if retry_context.tell is not None:
            await retry_context.tell(attempt)
        if decision.action == "give_up":
            return GivenUp(failure=failure, attempts=tuple(attempts), then=decision.then)
        actor, step = decision.actor or actor, decision.step
        if decision.action == "fallback":
            config = fallback_config(retry_context.levels, decision.rule)
        if decision.wait_s:
            async with idle(decision.wait_s, in_turn=True):
                await retry_context.sleep(decision.wait_s)


def retrying(
    levels: Levels, hidden: Hidden = NOTHING_HIDDEN
) -> Callable[[str, Callable[[], Awaitable[None]]], Awaitable[None]]:
    """Return a function that does a part of a work, and repeats it as the rules say.

    Only the retries of a rule count: a fallback cannot do a part.
    """

    async def retry(subject: str, work: Callable[[], Awaitable[None]]) -> None:
        failures: list[Exception] = []

        async def once(_actor: str, _config: Config | None) -> None:
            if failures and not is_retry:
                raise failures[-1]
            try:
                await work()
            except Exception as exc:
                failures.append(exc)
                raise

        is_retry = True

        async def note(attempt: StepAttempt) -> None:
            nonlocal is_retry
            is_retry = attempt.decision is not None and attempt.decision.action == "retry"

        outcome = await try_until_settled(
            once,
            PART,
            lambda: RetryContext(levels=levels, subject=safe_url(subject), hidden=hidden, tell=note),
        )
        if isinstance(outcome, GivenUp):
            raise failures[-1]

    return retry
