"""Leaves the service alone for as long as it wants: all workers of a project, as they share its account."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from agentic.core.actors import Memory
from agentic.core.logging import get_logger
from agentic.plugins.firecrawl.failures import failure

log = get_logger(__name__)


class Pause:
    """When the service may be asked again, kept in the project's memory.

    Limits are those of an account: neither the turns of the site that is asked for nor its robots.txt are
    the service's, so that the fetcher's host budget is of no use here.

    Args:
        memory: Of the project.
        host: Of the service.
        max_wait_s: Longest wait.
        clock: Unix time.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        memory: Memory,
        host: str,
        max_wait_s: float,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._memory = memory
        self._host = host
        self._max_wait_s = max_wait_s
        self._clock = clock
        self._sleep = sleep

    async def wait(self, subject: str) -> None:
        """Return once the service may be asked.

        Raises:
            ActorError: That is too long to wait for (``rate_limited``).
        """
        while (left_s := await self._left_s()) > 0:
            if left_s > self._max_wait_s:
                reason = (
                    f"it asked for a pause of {left_s:.0f} s, more than max_wait_s ({self._max_wait_s:g} s)"
                )
                raise failure(subject, "rate_limited", reason, wait_s=left_s, detail="account")
            await self._sleep(left_s)

    async def begin(self, seconds: float) -> None:
        """Let nobody ask for so long; a longer wish stands."""
        if seconds > await self._left_s():
            log.info("host.blocked", host=self._host, status=429, wait_s=seconds)
            await self._memory.put(self._key, self._clock() + seconds)

    @property
    def _key(self) -> str:
        return f"firecrawl.blocked_until:{self._host}"

    async def _left_s(self) -> float:
        until = await self._memory.get(self._key)
        return until - self._clock() if isinstance(until, int | float) else 0.0
