"""The job of a call: begun once, found again on a resume, cancelled if the call is abandoned."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import count
from uuid import NAMESPACE_URL, uuid5

from agentic.core.actors import ActorContext, ActorError
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.crawl_jobs import CONFLICT, Job, end, look
from agentic.plugins.firecrawl.client import open_firecrawl
from agentic.plugins.firecrawl.settings import ServiceInput

END_S = 3.0
"""Time for the service to end a job, in each of three attempts."""

LAST_S = 10.0
"""Wait for the id of a job that is no longer needed."""

Begin = Callable[[str | None], Awaitable[JSONValue]]
"""Starts a job; a second start with the same key returns the first job."""


async def current_job(ctx: ActorContext, name: str, begin: Begin) -> Job:
    """Return the job of this call; begin it if missing.

    If the call is cancelled while a job begins, the job is remembered for a repeated call, or to end it.

    Args:
        ctx: Of the call.
        name: Under which the job is remembered.
        begin: Begins one.

    Raises:
        ActorError: It cannot be begun.
    """
    key = name
    while True:
        job = await _once(ctx, key, begin)
        if not await ctx.memory.get(_ended(job)):
            return job
        key = f"{name}/{job.id}"


async def call_off(ctx: ActorContext, name: str, given: ServiceInput) -> None:
    """End the job of a call, if it has one; a repeated call begins another one.

    Args:
        ctx: Of the call.
        name: Under which the job is remembered.
        given: Names the service.

    Raises:
        ActorError: It may still run.
    """
    key = name
    while (kept := await ctx.once(key, _nothing) or await _interrupted(ctx, key)) is not None:
        job = Job.read(kept)
        if not await ctx.memory.get(_ended(job)):
            await _call_off(ctx, job, given)
            return
        key = f"{name}/{job.id}"


async def _call_off(ctx: ActorContext, job: Job, given: ServiceInput) -> None:
    try:
        async with asyncio.timeout(END_S):
            service = await open_firecrawl(ctx, given, END_S)
            is_ended = await end(service, job) or (await look(service, job)).status == "cancelled"
    except (ActorError, TimeoutError) as exc:
        if isinstance(exc, ActorError) and exc.status == 404:
            return  # the service no longer has it
        raise _unended(job, exc) from exc
    if is_ended:
        await ctx.memory.put(_ended(job), True)


async def _once(ctx: ActorContext, key: str, begin: Begin) -> Job:
    """Return the job with that name, or begin it; remember a job that was begun in vain."""
    begun: list[Job] = []

    async def kept() -> JSONValue:
        told = await _whole(partial(_begin, ctx, key, begin), begun)
        begun.append(Job.read(told))
        return told

    try:
        return Job.read(await ctx.once(key, kept))
    except asyncio.CancelledError:
        if begun and (name := await _key(ctx, key)) is not None:
            await ctx.memory.put(_begun(name), begun[-1].kept())
        raise


async def _begin(ctx: ActorContext, name: str, begin: Begin) -> JSONValue:
    key = await _key(ctx, name)
    if (kept := await _interrupted(ctx, name)) is not None:
        return kept
    try:
        return await begin(key)
    except ActorError as exc:
        # After a refusal there is no job, but the service may have recorded the key. Otherwise a job may
        # exist, so the key stays.
        if key is not None and _is_refusal(exc):
            await ctx.memory.put(_refused(key), True)
        raise


def _is_refusal(exc: ActorError) -> bool:
    """Whether no job began. Proxies between us and the service answer 408 and 5xx themselves."""
    return exc.status is not None and 400 <= exc.status < 500 and exc.status not in (408, CONFLICT)


async def _key(ctx: ActorContext, name: str) -> str | None:
    """Return the service's key for the job of this call; None for a call without a name."""
    if not ctx.call:
        return None
    tries = (str(uuid5(NAMESPACE_URL, f"{ctx.call}/{name}/{number}")) for number in count())
    return await anext(key for key in tries if not await ctx.memory.get(_refused(key)))


async def _interrupted(ctx: ActorContext, name: str) -> JSONValue:
    """Return the job of a call that was cancelled before the job was recorded; None without one."""
    key = await _key(ctx, name)
    return None if key is None else await ctx.memory.get(_begun(key))


def _begun(key: str) -> str:
    return f"firecrawl.begun/{key}"


def _refused(key: str) -> str:
    return f"firecrawl.refused/{key}"


async def _whole(begin: Callable[[], Awaitable[JSONValue]], begun: list[Job]) -> JSONValue:
    """Begin a job; if cancelled meanwhile, wait for its id."""
    begins = asyncio.ensure_future(begin())
    try:
        return await asyncio.shield(begins)
    except asyncio.CancelledError:
        await asyncio.wait([begins], timeout=LAST_S)
        begins.cancel()
        with suppress(ActorError, asyncio.CancelledError, asyncio.InvalidStateError):
            begun.append(Job.read(begins.result()))
        raise


async def _nothing() -> JSONValue:
    return None


def _ended(job: Job) -> str:
    """Return the project's name for a cancelled job."""
    return f"firecrawl.ended/{job.id}"


def _unended(job: Job, exc: ActorError | TimeoutError) -> ActorError:
    reason = str(exc) or f"no answer within {END_S:g} s"
    message = (
        f"the crawl {job.id} may continue at Firecrawl and cost credits because it could not be cancelled "
        f"({reason}); cancel it there: DELETE {job.path} with your key"
    )
    return ActorError(message, failure_class=getattr(exc, "failure_class", "timeout"))
