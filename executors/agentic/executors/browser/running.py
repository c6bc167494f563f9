"""One running browser, with its driver, folder and proxy. Loads Playwright."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

from playwright.async_api import Browser, BrowserContext, Error, StorageState, async_playwright

from agentic.core.browser import BrowserRequest, BrowserUnavailableError, Politeness, RenderedPage
from agentic.core.browser.storage import storage_state
from agentic.core.finishing import finish
from agentic.core.http import FailureClass, FetchError
from agentic.core.logging import get_logger
from agentic.core.threads import in_thread
from agentic.executors.browser.executable import find_executable
from agentic.executors.browser.faults import CRASHED
from agentic.executors.browser.folder import BrowserFolder
from agentic.executors.browser.proxy import USER, GuardedProxy, Pass
from agentic.executors.browser.visit import Visit

log = get_logger(__name__)

OPEN_S = 30.0
CLOSE_S = 10.0
# Without this, requests to this machine would bypass the proxy.
NO_BYPASS = "<-loopback>"
SWITCHES = (
    "--disable-gpu",
    "--disable-quic",
    # By default WebRTC uses UDP with any address, past every proxy: the headless shell obeys the first
    # switch, the whole browser the second.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)


class RunningBrowser:
    """A running browser; :func:`start_browser` makes it.

    Attributes:
        folder: The folder of its profile, which identifies its processes.
    """

    def __init__(self, browser: Browser, proxy: GuardedProxy, folder: Path, parts: AsyncExitStack) -> None:
        self.folder = folder
        self._browser = browser
        self._proxy = proxy
        self._parts = parts
        self._is_broken = False
        self._shows = set[asyncio.Timeout]()
        # Once the browser has died, some calls of the library never return, such as opening a page.
        browser.on("disconnected", self._end_shows)

    @property
    def is_usable(self) -> bool:
        """Whether it runs and answers."""
        return self._browser.is_connected() and not self._is_broken

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        """See :meth:`agentic.core.browser.Browser.render`."""
        given = self._proxy.admit(politeness)
        show = asyncio.timeout(None)
        try:
            async with show, self._among_shows(show), self._visit(request, given) as visit:
                return await visit.render()
        except Error:
            # Not chained: the library's message may quote text typed into a form.
            raise self._crash(request) from None
        except TimeoutError:
            if not show.expired():
                raise
            raise self._crash(request) from None
        finally:
            await self._proxy.withdraw(given)

    async def aclose(self) -> None:
        """End it, in any state."""
        await finish(self._parts.aclose())

    @asynccontextmanager
    async def _among_shows(self, show: asyncio.Timeout) -> AsyncIterator[None]:
        self._shows.add(show)
        try:
            yield
        finally:
            self._shows.discard(show)

    def _end_shows(self, _: Browser) -> None:
        for show in self._shows:
            show.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def _visit(self, request: BrowserRequest, given: Pass) -> AsyncIterator[Visit]:
        state = storage_state(request.session)
        try:
            async with asyncio.timeout(OPEN_S):
                context = await self._context(request, given, cast(StorageState, state))
        except TimeoutError as exc:
            raise self._crash(request) from exc
        try:
            yield Visit(context, request, given, state["cookies"])
        finally:
            await finish(self._close(context))

    async def _context(self, request: BrowserRequest, given: Pass, state: StorageState) -> BrowserContext:
        return await self._browser.new_context(
            accept_downloads=False,
            proxy={
                "server": self._proxy.url,
                "bypass": NO_BYPASS,
                "username": USER,
                "password": given.password,
            },
            service_workers="block",
            storage_state=state,
            user_agent=given.politeness.user_agent,
            viewport={"width": request.viewport.width, "height": request.viewport.height},
        )

    async def _close(self, context: BrowserContext) -> None:
        if self._browser.is_connected() and not await _in_time(context.close):
            self._is_broken = True

    def _crash(self, request: BrowserRequest) -> FetchError:
        self._is_broken = True
        return FetchError(request.url, FailureClass.BROWSER_CRASHED, CRASHED)


async def start_browser(configured: str) -> RunningBrowser:
    """Start a browser.

    Args:
        configured: The browser; empty for the first one found.

    Raises:
        BrowserUnavailableError: There is none, or it does not start.
    """
    try:
        async with asyncio.timeout(OPEN_S):
            return await _started(configured)
    except (Error, OSError) as exc:
        reason = " ".join(str(exc).split())[:500] or f"no answer within {OPEN_S:g} s"
        raise BrowserUnavailableError(
            f"the browser does not start: {reason}; start it by hand to see more, or set "
            "AGENTIC_BROWSER_PATH to another"
        ) from exc


async def _started(configured: str) -> RunningBrowser:
    async with AsyncExitStack() as parts:
        manager = async_playwright()
        driver = await manager.start()
        parts.push_async_callback(_in_time, manager.__aexit__)
        executable = find_executable(configured, Path(driver.chromium.executable_path))
        folder = await in_thread(BrowserFolder, executable)
        parts.push_async_callback(in_thread, folder.remove)
        proxy = GuardedProxy()
        await proxy.start()
        parts.push_async_callback(proxy.aclose)
        browser = await driver.chromium.launch(
            executable_path=folder.launch,
            artifacts_dir=folder.path,
            args=SWITCHES,
            # Requests outside of a page have no credential, and are refused.
            proxy={"server": proxy.url, "bypass": NO_BYPASS},
        )
        parts.push_async_callback(_in_time, browser.close)
        log.info("browser.started", executable=str(executable), version=browser.version)
        return RunningBrowser(browser, proxy, folder.path, parts.pop_all())


async def _in_time(close: Callable[[], Awaitable[None]]) -> bool:
    """Close a part of Playwright; return whether this succeeded in time."""
    try:
        async with asyncio.timeout(CLOSE_S):
            await close()
    except (Error, TimeoutError):
        return False
    return True
