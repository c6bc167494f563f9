"""A browser that is killed while it shows a page, and the processes that browsers are."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace

import psutil

from agentic.core.browser import Browser, BrowserRequest, Politeness, RenderedPage

IN_TIME_S = 15


def processes(kind: str) -> list[psutil.Process]:
    """Return the processes below this one whose command line has ``kind`` in it."""
    return [child for child in psutil.Process().children(recursive=True) if kind in " ".join(line_of(child))]


def line_of(process: psutil.Process) -> list[str]:
    """Return the command line of a process; nothing once it is gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def kill(kind: str) -> None:
    """Kill those processes."""
    for process in processes(kind):
        os.kill(process.pid, signal.SIGKILL)


class KilledBrowser:
    """Shows pages by a real browser, and kills it while it waits for what is never on them.

    Args:
        browser: The real one.
        asked: How often the site was asked for the page.
        until: Waits until something holds.
    """

    def __init__(
        self,
        browser: Browser,
        asked: Callable[[], int],
        until: Callable[[Callable[[], bool]], Awaitable[None]],
    ) -> None:
        self._browser = browser
        self._asked = asked
        self._until = until

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        """Fail, as the browser is killed."""
        before = self._asked()
        shows = asyncio.ensure_future(self._browser.render(replace(request, wait_for="#never"), politeness))
        await self._until(lambda: self._asked() > before)
        kill("--user-data-dir=")
        async with asyncio.timeout(IN_TIME_S):
            return await shows
