"""One page, from the first request to its rendered content."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import cast

from playwright.async_api import BrowserContext, Error, Page

from agentic.core.browser import BrowserRequest, BrowserStep, Politeness, RenderedPage, Scroll
from agentic.core.browser.cookies import keep_cookies
from agentic.core.http import FailureClass, FetchError
from agentic.core.http.urls import host_of, without_credentials
from agentic.core.types import JSONValue
from agentic.executors.browser.faults import CRASHED, net_failure
from agentic.executors.browser.interception import Interception, LoadedDocument
from agentic.executors.browser.proxy import Pass
from agentic.executors.browser.steps import first, take_step


class TimeLimit:
    """Ends its block after a number of seconds, without pauses.

    Args:
        seconds: As in :func:`asyncio.timeout`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._began = 0.0
        self._paused_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, without pauses."""
        return time.monotonic() - self._began - self._paused_s

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Count the time, once.

        Raises:
            TimeoutError: The time is over.
        """
        async with self._timeout:
            self._began = time.monotonic()
            self._go_on()
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock in a block; only within :meth:`running`."""
        self._timeout.reschedule(None)
        began = time.monotonic()
        try:
            yield
        finally:
            self._paused_s += time.monotonic() - began
            self._go_on()

    def end(self) -> None:
        """End the time now."""
        self.seconds = 0
        self._go_on()

    def _go_on(self) -> None:
        left_s = self.seconds - self.elapsed_s
        self._timeout.reschedule(asyncio.get_running_loop().time() + left_s)


ERROR_PAGE = "chrome-error:"
NO_CONTENT = frozenset({204, 205})


class Visit:
    """A page in its own browser context.

    Args:
        context: The context; its opener closes it.
        request: The request.
        given: The page's pass for the proxy.
        cookies: The session's cookies, as given to the context.
    """

    def __init__(
        self, context: BrowserContext, request: BrowserRequest, given: Pass, cookies: list[JSONValue]
    ) -> None:
        self._context = context
        self._request = request
        self._given = given
        self._cookies = cookies
        self._politeness: Politeness = given.politeness
        self._limit = TimeLimit(request.timeout_s or given.politeness.timeout_s)
        self._wanted = ""
        self._has_crashed = False

    async def render(self) -> RenderedPage:
        """Return the rendered page.

        Raises:
            FetchError: See :meth:`agentic.core.browser.Browser.render`.
        """
        self._context.set_default_timeout(0)  # one limit for everything
        page = await self._context.new_page()
        page.on("crash", self._crash)
        page.on("popup", _close)
        self._interception = Interception(
            await self._context.new_cdp_session(page), self._request, self._enter_next, self._limit.end
        )
        self._given.on_used_up = self._limit.end
        try:
            await self._interception.start()
            await self._politeness.enter(self._request.url)
            return await self._shown(page)
        finally:
            await self._interception.aclose()

    async def _shown(self, page: Page) -> RenderedPage:
        try:
            async with self._limit.running():
                await self._load(page)
                return await self._read(page)
        except TimeoutError:
            raise self._refusal() or self._late() from None
        except Error as exc:
            # Not chained: the library's message may quote text typed into a form.
            raise self._refusal() or self._failure(exc.message) from None

    async def _load(self, page: Page) -> None:
        try:
            await page.goto(self._request.url, wait_until=self._request.wait_until)
        except Error:
            if not self._is_refused:
                raise
        if self._is_refused:
            return
        for step in self._request.steps:
            self._wanted = _wanted_by(step)
            await take_step(page, step)
        if self._request.steps:
            self._wanted = ""
            await page.wait_for_load_state(self._request.wait_until)
        if self._request.wait_for:
            self._wanted = repr(self._request.wait_for)
            await first(page, self._request.wait_for).wait_for(state="attached")
        self._wanted = ""

    async def _read(self, page: Page) -> RenderedPage:
        html = await self._content(page)
        asked = self._request
        is_full = asked.screenshot == "full_page"
        screenshot = await page.screenshot(full_page=is_full) if asked.screenshot else None
        pdf = await page.pdf(print_background=True) if asked.pdf else None
        storage = await self._leave()
        if refusal := self._refusal():
            raise refusal
        document = self._document(page)
        shown = RenderedPage(
            url=without_credentials(page.url),
            status=document.response.status,
            headers=document.response.headers,
            html=document.response.text if document.is_text else html,
            screenshot=screenshot,
            pdf=pdf,
            storage=storage,
            elapsed_s=self._limit.elapsed_s,
        )
        if len(shown.body) > self._politeness.max_bytes:
            raise self._too_large()
        return shown

    async def _content(self, page: Page) -> str:
        while True:
            try:
                return await page.content()
            except Error as exc:
                if "navigating" not in exc.message:
                    raise
                await page.wait_for_load_state(self._request.wait_until)

    async def _leave(self) -> JSONValue:
        """Return the cookies to the session; return the local storage."""
        session = self._request.session
        if session is None:
            return None
        state = cast(Mapping[str, list[JSONValue]], await self._context.storage_state())
        keep_cookies(session.cookies, self._cookies, state["cookies"])
        return state["origins"]

    def _document(self, page: Page) -> LoadedDocument:
        document = self._interception.document
        if document is None or page.url.startswith(ERROR_PAGE):
            raise self._failure("net::ERR_FAILED")
        return document

    async def _enter_next(self, url: str) -> None:
        with self._limit.paused():
            await self._politeness.enter(url)

    def _crash(self, _page: Page) -> None:
        self._has_crashed = True

    @property
    def _is_refused(self) -> bool:
        document = self._interception.document
        return document is not None and document.response.status >= 400

    def _refusal(self) -> Exception | None:
        """Return our own decision against the page; it explains all other failures."""
        return self._too_large() if self._given.is_used_up else self._interception.fault

    def _failure(self, message: str) -> FetchError:
        """Return the failure for a message of the browser."""
        url = self._interception.going_to
        if self._has_crashed:
            return FetchError(url, FailureClass.BROWSER_CRASHED, CRASHED)
        if refused := self._given.refusals.get(host_of(url)):
            return FetchError(url, refused.failure_class, refused.reason, detail=refused.detail)
        if found := net_failure(message):
            return FetchError(url, *self._without_page(*found))
        if self._wanted and "closed" not in message:
            reason = f"{self._wanted} failed on the page; check its selector"
            return FetchError(url, FailureClass.SELECTOR_MISSING, reason)
        return FetchError(url, FailureClass.BROWSER_CRASHED, CRASHED)

    def _without_page(self, failure_class: FailureClass, reason: str) -> tuple[FailureClass, str]:
        """Distinguish a response without content from a file download."""
        document = self._interception.document
        if failure_class != FailureClass.EMPTY or (document and document.response.status in NO_CONTENT):
            return failure_class, reason
        if document and not document.response.content_type:
            return FailureClass.NOT_HTML, "it is not a page; fetch it over HTTP"
        return FailureClass.BROWSER_CRASHED, CRASHED

    def _late(self) -> FetchError:
        url = self._interception.going_to
        if self._wanted:
            reason = f"{self._wanted} did not appear within {self._limit.seconds:g} s"
            return FetchError(url, FailureClass.SELECTOR_MISSING, reason)
        reason = f"the page was not loaded ({self._request.wait_until}) within {self._limit.seconds:g} s"
        return FetchError(url, FailureClass.TIMEOUT, reason)

    def _too_large(self) -> FetchError:
        limit = self._politeness.max_bytes
        reason = (
            f"it is larger than {limit} bytes with all its resources; raise max_bytes, or block more of them"
        )
        return FetchError(self._interception.going_to, FailureClass.TOO_LARGE, reason)


async def _close(popup: Page) -> None:
    with suppress(Error):  # it may have closed by itself
        await popup.close()


def _wanted_by(step: BrowserStep) -> str:
    return "scrolling" if isinstance(step, Scroll) else f"{step.type} {step.selector!r}"
