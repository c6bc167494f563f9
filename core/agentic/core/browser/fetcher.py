"""Fetches pages with a browser, with the politeness of the HTTP fetcher."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from pydantic import SecretStr

from agentic.core.browser.messages import BrowserRequest, RenderedPage
from agentic.core.browser.port import Browser, Politeness
from agentic.core.errors import SettingsError
from agentic.core.http import FailureClass, Fetcher, FetchError, HttpRequest
from agentic.core.http.exits.pool import Exit, Exits
from agentic.core.http.transports.shared import ReadSecret, whole_policy
from agentic.core.http.urls import origin_of

WAYS = ("http://", "https://")
"""URL schemes of proxies that browsers support."""


class BrowserFetcher:
    """Shows pages by the rules of a fetcher's policy.

    Each document of the window checks robots.txt and waits for its host's turn, wherever redirects, scripts
    and steps lead; other resources of a document do not wait. Turns and ``Retry-After`` are shared with
    ``fetcher``: both ways to a host keep one pace.

    Args:
        fetcher: Has the policy, and knows when each host may get a request.
        browser: Shows the pages.
        secret: Reads a secret by name, for a proxy that is one.
    """

    def __init__(self, fetcher: Fetcher, browser: Browser, *, secret: ReadSecret | None = None) -> None:
        self._fetcher = fetcher
        self._browser = browser
        self._secret = secret

    async def fetch(self, request: BrowserRequest | str) -> RenderedPage:
        """Return the page that the browser shows at the end.

        Args:
            request: A URL is short for a request without further options.

        Raises:
            FetchError: The page cannot be shown; ``failure_class`` says why. Nothing is retried here.
            BrowserUnavailableError: No browser is available that starts.
            SettingsError: The proxy is a socks5 one: browsers do not support these here.
        """
        asked = BrowserRequest(url=request) if isinstance(request, str) else request
        origin_of(asked.url)  # refuses URLs other than http and https
        policy = self._fetcher.policy
        exits = self._fetcher.exits
        used = None
        if exits is not None:
            used = await exits.choose(asked.url, asked.session.name if asked.session else None)
        proxy = await self._proxy(used)
        async with _Turns(self._fetcher, documents_allowed(asked, policy.max_redirects), used) as turns:
            politeness = Politeness(
                guard=self._fetcher.guard,
                user_agent=policy.user_agent,
                timeout_s=policy.timeout_s,
                max_bytes=policy.max_bytes,
                enter=turns.enter,
                proxy=proxy,
            )
            if exits is None or used is None:
                page = await self._browser.render(asked, politeness)
            else:
                page = await self._render_through(exits, used, asked, politeness, turns)
        response = page.as_response()
        await self._fetcher.judge(HttpRequest(url=asked.url, session=asked.session), response, used)
        return page

    async def _render_through(
        self, exits: Exits, used: Exit, asked: BrowserRequest, politeness: Politeness, turns: _Turns
    ) -> RenderedPage:
        """Show a page through one of several proxies, and note how it went."""
        sent_at = exits.begin(used)
        try:
            page = await self._browser.render(asked, politeness)
        except FetchError as exc:
            if exc is not turns.failure:  # a refused turn says nothing about the proxy
                exits.note_failure(used, exc, exc.url, sent_at)
            raise
        exits.note_answer(used, sent_at, len(page.body))
        return page

    async def _proxy(self, used: Exit | None) -> SecretStr | None:
        policy = used.policy if used else await whole_policy(self._fetcher.policy, self._secret)
        if policy.proxy is not None and not policy.proxy.get_secret_value().startswith(WAYS):
            raise SettingsError("browsers support http:// and https:// proxies only; set another one")
        return policy.proxy


def documents_allowed(request: BrowserRequest, max_redirects: int) -> int:
    """Return how many documents the window may load for ``request``: each step may lead to another page."""
    return (1 + len(request.steps)) * (1 + max_redirects)


class _Turns:
    """The turn of the window's current host: it ends before the wait for the next one.

    So a window never has one host's connection while it waits for another's: two windows that redirect to
    each other would wait forever.
    """

    def __init__(self, fetcher: Fetcher, allowed: int, used: Exit | None = None) -> None:
        self.failure: FetchError | None = None
        self._exit = used
        self._fetcher = fetcher
        self._allowed = allowed
        self._left = allowed
        self._turn = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self._turn.aclose()

    async def enter(self, url: str) -> None:
        await self._turn.aclose()
        if not self._left:
            reason = f"more than {self._allowed} pages lead to it; the site may redirect in a circle"
            raise FetchError(url, FailureClass.TOO_MANY_REDIRECTS, reason)
        self._left -= 1
        try:
            await self._turn.enter_async_context(self._fetcher.turn(url, self._exit))
        except FetchError as exc:
            self.failure = exc
            raise
