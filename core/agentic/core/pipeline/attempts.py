"""Tries a piece of work until it succeeds or the rules give it up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from agentic.core.actors import Failure, describe_failure
from agentic.core.logging import get_logger
from agentic.core.pipeline.policies import Attempt, Ending, Levels, decide

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Success(Generic[T]):
    """A piece of work that was done: what it gave, and every try in order."""

    value: T
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """A piece of work that was given up.

    Attributes:
        failure: The last one, which decided it.
        attempts: Every try in order.
        then: What the rule says is to follow, if one does.
    """

    failure: Failure
    attempts: tuple[Attempt, ...]
    then: Ending | None = None


async def try_until_settled(
    call: Callable[[str], Awaitable[T]],
    actor: str,
    levels: Levels,
    *,
    subject: str,
    sleep: Sleep = asyncio.sleep,
) -> Success[T] | GivenUp:
    """Call ``call(actor)`` and do about failures what ``levels`` say.

    Args:
        call: Does the work with the actor of that name; whatever it raises is a failure.
        actor: The first one to try.
        levels: Rules, nearest first.
        subject: What is tried, for the log.
        sleep: Waits between attempts.
    """
    attempts: list[Attempt] = []
    while True:
        try:
            value = await call(actor)
        except Exception as exc:
            failure = describe_failure(exc)
            cause = exc
        else:
            return Success(value=value, attempts=(*attempts, Attempt(actor=actor)))
        decision = decide(levels, failure, attempts)
        attempts.append(Attempt(actor=actor, failure=failure, decision=decision))
        log.info(
            "attempt.failed",
            subject=subject,
            actor=actor,
            failure_class=failure.failure_class,
            reason=failure.message,
            action=decision.action,
            wait_s=decision.wait_s,
            # An error nobody has a word for is a bug somewhere: its traceback is what helps.
            exc_info=cause if failure.failure_class == "error" else None,
        )
        if decision.action == "give_up":
            return GivenUp(failure=failure, attempts=tuple(attempts), then=decision.then)
        actor = decision.actor or actor
        if decision.wait_s:
            await sleep(decision.wait_s)
