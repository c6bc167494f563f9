"""The browser of a process: started on first use, shared by its pages, replaced after some use."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agentic.core.browser import BrowserRequest, Politeness, RenderedPage
from agentic.core.finishing import finish
from agentic.core.logging import get_logger
from agentic.core.settings import Settings, load_settings
from agentic.core.threads import in_thread
from agentic.executors.browser.checkup import no_playwright
from agentic.executors.browser.processes import memory_of

if TYPE_CHECKING:
    from agentic.executors.browser.running import RunningBrowser

log = get_logger(__name__)

IDLE_S = 60.0
"""How long an idle browser is kept."""

LOOK_EVERY_S = 1.0
MIB = 1024 * 1024
HARD_LIMIT = 2
"""At this multiple of a browser's memory limit, its largest process is killed."""


class PlaywrightBrowser:
    """Implements :class:`~agentic.core.browser.Browser` with one Chromium at a time, by Playwright.

    Each page has its own context. A browser is replaced after ``browser_max_pages`` pages, beyond
    ``browser_max_mib`` of memory, and after a crash; it is closed when it is idle for a while. None outlives
    this process, however the process ends. It belongs to the event loop that uses it first; make one per
    process, and use it with ``async with`` or :meth:`aclose` it.

    Args:
        settings: The browser and its limits; by default from the environment.
        idle_s: Seconds without a page until the browser is closed; the next page starts a new one.
    """

    def __init__(self, settings: Settings | None = None, *, idle_s: float = IDLE_S) -> None:
        self._settings = settings or load_settings()
        self._idle_s = idle_s
        self._places = asyncio.Semaphore(self._settings.browser_pages)
        self._gate = asyncio.Lock()
        self._lease: _Lease | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        """See :meth:`agentic.core.browser.Browser.render`."""
        async with self._places, self._leased() as browser:
            return await browser.render(request, politeness)

    async def aclose(self) -> None:
        """End the browser, if one runs. Its open pages fail."""
        async with self._gate:
            await finish(self._end())

    @asynccontextmanager
    async def _leased(self) -> AsyncIterator[RunningBrowser]:
        async with self._gate:
            await self._drain()
            lease = await finish(self._current())
            lease.take()
        try:
            yield lease.browser
        finally:
            lease.give_back()

    async def _drain(self) -> None:
        """Wait for the last pages of a browser before replacing it: there is never a second one."""
        if self._lease is not None and self._lease.is_spent(self._settings.browser_max_pages):
            await self._lease.unused.wait()
            await finish(self._end())

    async def _current(self) -> _Lease:
        if self._lease is None:
            self._lease = _Lease(await _start(self._settings.browser_path))
            self._keeper = asyncio.create_task(self._keep(self._lease), name="browser-keeper")
        return self._lease

    async def _end(self) -> None:
        lease, self._lease = self._lease, None
        if lease is None:
            return
        if self._keeper is not None:
            self._keeper.cancel()
        await lease.browser.aclose()
        log.info("browser.closed", page_count=lease.page_count)

    async def _keep(self, lease: _Lease) -> None:
        """Watch a browser: measure its memory while it is used, close it when it is idle."""
        while self._lease is lease:
            await asyncio.sleep(LOOK_EVERY_S)
            if not lease.unused.is_set():
                await self._weigh(lease)
            elif lease.unused_s > self._idle_s:
                await self._close_unused(lease)

    async def _weigh(self, lease: _Lease) -> None:
        sizes = await in_thread(memory_of, lease.browser.folder)
        limit, taken = self._settings.browser_max_mib * MIB, sum(sizes.values())
        lease.is_too_big = lease.is_too_big or taken > limit
        if taken > HARD_LIMIT * limit:
            largest = max(sizes, key=sizes.__getitem__)
            log.warning("browser.process_killed", mib=taken // MIB, process_mib=sizes[largest] // MIB)
            with suppress(ProcessLookupError):
                os.kill(largest, signal.SIGKILL)

    async def _close_unused(self, lease: _Lease) -> None:
        async with self._gate:
            if lease.unused.is_set() and self._lease is lease:
                self._keeper = None  # else it would be stopped before the end
                await finish(self._end())


class _Lease:
    """A browser and its users."""

    def __init__(self, browser: RunningBrowser) -> None:
        self.browser = browser
        self.page_count = 0
        self.is_too_big = False
        self.unused = asyncio.Event()
        self.unused.set()
        self._users = 0
        self._unused_since = time.monotonic()

    @property
    def unused_s(self) -> float:
        return time.monotonic() - self._unused_since

    def is_spent(self, max_pages: int) -> bool:
        return self.page_count >= max_pages or self.is_too_big or not self.browser.is_usable

    def take(self) -> None:
        self._users += 1
        self.page_count += 1
        self.unused.clear()

    def give_back(self) -> None:
        self._users -= 1
        if not self._users:
            self._unused_since = time.monotonic()
            self.unused.set()


async def _start(configured: str) -> RunningBrowser:
    start = await in_thread(_starter)
    return await start(configured)


def _starter() -> Callable[[str], Awaitable[RunningBrowser]]:
    try:
        from agentic.executors.browser.running import start_browser  # takes half a second
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != "playwright":
            raise
        raise no_playwright() from exc
    return start_browser
