"""The port between pipelines and a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from agentic.core.browser.messages import BrowserRequest, RenderedPage
from agentic.core.http import AddressGuard


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How politely and how cautiously to show a page.

    Attributes:
        guard: Which addresses the page and all it loads may be taken from.
        user_agent: Sent with every request.
        timeout_s: For a page whose request names no other.
        max_bytes: Largest page: all it loads as it comes over the network, and what is read in the end.
        enter: Awaited with the URL of each document before the window asks for it: the first one, and where
            redirects, scripts and steps lead. What it takes is not counted as time of the page; what it
            raises ends the page.
        proxy: URL of a proxy that all connections go through, http or https; None for none.
    """

    guard: AddressGuard
    user_agent: str
    timeout_s: float
    max_bytes: int
    enter: Callable[[str], Awaitable[None]]
    proxy: SecretStr | None = None


class Browser(Protocol):
    """Shows pages, each apart from all others: no cookie, cache or storage is shared.

    An implementation connects to no address that ``guard`` refuses, whatever leads there; it opens no
    windows, answers no dialogs, keeps no downloads and installs no service workers.
    """

    async def render(self, request: BrowserRequest, manners: Manners) -> RenderedPage:
        """Show a page and return what had become of it, whatever its status.

        With a status of 400 and above, it is read as it came: without steps and without waiting.

        Raises:
            FetchError: ``timeout``, ``dns``, ``connect``, ``tls``, ``private_address``, ``too_large``,
                ``too_many_redirects``, ``decode``, ``invalid_url``, ``not_html``, ``empty``,
                ``selector_missing`` or ``browser_crashed``; or what ``manners.enter`` raised.
            BrowserUnavailableError: There is no browser that starts.
        """
        ...
