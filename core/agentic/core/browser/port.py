"""The port between pipelines and a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from agentic.core.browser.messages import BrowserRequest, RenderedPage
from agentic.core.http import AddressGuard


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """The politeness and the safety rules for a page.

    Attributes:
        guard: Allowed addresses for the page and everything it loads.
        user_agent: Sent with every request.
        timeout_s: For a page whose request names no other.
        max_bytes: Largest page: everything it loads as it comes over the network, and the text read at the
            end.
        enter: Awaited with the URL of each document before the window requests it: the first one, and where
            redirects, scripts and steps lead. Its time does not count as time of the page; if it raises, the
            page ends.
        proxy: URL of a proxy that all connections go through, http or https; None for none.
    """

    guard: AddressGuard
    user_agent: str
    timeout_s: float
    max_bytes: int
    enter: Callable[[str], Awaitable[None]]
    proxy: SecretStr | None = None


class Browser(Protocol):
    """Shows pages, each separate from all others: no cookie, cache or storage is shared.

    An implementation connects to no address that ``guard`` refuses, for any reason; it opens no windows,
    answers no dialogs, keeps no downloads and installs no service workers.
    """

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        """Show a page and return its final state, whatever its status.

        With a status of 400 and above, the page is read as it came: without steps and without waiting.

        Raises:
            FetchError: ``timeout``, ``dns``, ``connect``, ``tls``, ``private_address``, ``too_large``,
                ``too_many_redirects``, ``decode``, ``invalid_url``, ``not_html``, ``empty``,
                ``selector_missing`` or ``browser_crashed``; or what ``politeness.enter`` raised.
            BrowserUnavailableError: No browser is available that starts.
        """
        ...
