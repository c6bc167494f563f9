"""Tries a piece of work until it succeeds or the rules give it up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, TypeVar

from agentic.core.actors import Failure, describe_failure
from agentic.core.http.politeness.slots import idle, note_begun
from agentic.core.logging import get_logger
from agentic.core.pipeline.expressions.secret_masking import NOTHING_HIDDEN, Hidden
from agentic.core.pipeline.policies.policies import (
    Attempt,
    Config,
    Ending,
    Levels,
    chance_of,
    decide,
    fallback_config,
)
from agentic.core.records import record

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
Tell = Callable[[Attempt], Awaitable[None]]

log = get_logger(__name__)


@record
class Success(Generic[T]):
    """A piece of work that was done: what it gave, and every try in order."""

    value: T
    attempts: tuple[Attempt, ...]


@record
class GivenUp:
    """A piece of work that was given up.

    Attributes:
        failure: The last one, which decided it.
        attempts: Every try in order.
        then: What the rule says is to follow, if one does.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.attempts.GivenUp"

    failure: Failure
    attempts: tuple[Attempt, ...]
    then: Ending | None = None


@record
class Manner:
    """How failures are met.

    Attributes:
        levels: Rules, nearest first.
        subject: What is tried, for the log.
        seed: What tells it from others of that subject: they do not wait equally long.
        hidden: Secrets that no message may hold.
        tell: Told of every failed attempt and what follows it.
        rerun: Runs an earlier step anew, by its id.
        sleep: Waits between attempts.
    """

    levels: Levels
    subject: str
    seed: str = ""
    hidden: Hidden = NOTHING_HIDDEN
    tell: Tell | None = None
    rerun: Callable[[str], Awaitable[None]] | None = None
    sleep: Sleep = asyncio.sleep


async def try_until_settled(
    call: Callable[[str, Config | None], Awaitable[T]], actor: str, manner_of: Callable[[], Manner]
) -> Success[T] | GivenUp:
    """Call ``call(actor, None)`` and do about failures what the rules say.

    Args:
        call: Does the work with the actor of that name; whatever it raises is a failure. A fallback is
            given its own config, too.
        actor: The first one to try.
        manner_of: Says how failures are met; asked at the first one.
    """
    attempts: list[Attempt] = []
    manner: Manner | None = None
    step: str | None = None
    config: Config | None = None
    while True:
        try:
            if manner is not None and manner.rerun is not None and step is not None:
                await manner.rerun(step)
            value = await call(actor, config)
        except Exception as exc:
            manner = manner or manner_of()
            failure = manner.hidden.failure(describe_failure(exc))
            cause = exc
        else:
            return Success(value=value, attempts=(*attempts, Attempt(actor=actor)))
        chance = chance_of(f"{manner.subject}:{manner.seed}", len(attempts))
        decision = decide(manner.levels, failure, attempts, chance)
        attempt = Attempt(actor=actor, failure=failure, decision=decision)
        attempts.append(attempt)
        note_begun()
        log.info(
            "attempt.failed",
            subject=manner.subject,
            actor=actor,
            failure_class=failure.failure_class,
            reason=failure.message,
            action=decision.action,
            wait_s=decision.wait_s,
            # An error nobody has a word for is a bug somewhere: its traceback is what helps, unless it may
            # quote a secret.
            exc_info=cause if failure.failure_class == "error" and not manner.hidden.values else None,
        )
        if manner.tell is not None:
            await manner.tell(attempt)
        if decision.action == "give_up":
            return GivenUp(failure=failure, attempts=tuple(attempts), then=decision.then)
        actor, step = decision.actor or actor, decision.step
        if decision.action == "fallback":
            config = fallback_config(manner.levels, decision.rule)
        if decision.wait_s:
            async with idle(decision.wait_s, in_turn=True):
                await manner.sleep(decision.wait_s)
