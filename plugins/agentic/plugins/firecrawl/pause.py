"""Pauses requests to the service as long as it wants, in all workers of a project: they share its account."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from agentic.core.actors import ProjectMemory
from agentic.core.logging import get_logger
from agentic.plugins.firecrawl.failures import failure

log = get_logger(__name__)


class Pause:
    """When the service accepts requests again, stored in the project's memory.

    Limits belong to an account: the pace and robots.txt of the requested site are not the service's, so the
    fetcher's host budget does not help here.

    Args:
        memory: Of the project.
        host: Of the service.
        max_wait_s: Longest wait.
        clock: Unix time.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        memory: ProjectMemory,
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
        """Return once the service accepts requests.

        Raises:
            ActorError: The wait would be too long (``rate_limited``).
        """
        while (left_s := await self._left_s()) > 0:
            if left_s > self._max_wait_s:
                reason = (
                    f"it asked for a pause of {left_s:.0f} s, more than max_wait_s ({self._max_wait_s:g} s)"
                )
                raise failure(subject, "rate_limited", reason, wait_s=left_s, detail="account")
            await self._sleep(left_s)

    async def begin(self, seconds: float) -> None:
        """Pause all requests for ``seconds``; a longer pause stays."""
        if seconds > await self._left_s():
            log.info("host.blocked", host=self._host, status=429, wait_s=seconds)
            await self._memory.put(self._key, self._clock() + seconds)

    @property
    def _key(self) -> str:
        return f"firecrawl.blocked_until:{self._host}"

    async def _left_s(self) -> float:
        until = await self._memory.get(self._key)
        return until - self._clock() if isinstance(until, int | float) else 0.0
