"""Pages as a browser shows them, fetched with the politeness of :mod:`agentic.core.http`.

    async with open_fetcher() as fetcher, PlaywrightBrowser() as browser:
        page = await BrowserFetcher(fetcher, browser).fetch(
            BrowserRequest(url="https://example.org/", wait_for="ul.results li")
        )

This is the port and its messages; the browser itself is :mod:`agentic.executors.browser`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.browser.errors import BrowserUnavailableError, InvalidStorageError
    from agentic.core.browser.fetcher import BrowserFetcher
    from agentic.core.browser.messages import BrowserRequest, RenderedPage, ResourceType, Viewport
    from agentic.core.browser.port import Browser, Politeness
    from agentic.core.browser.steps import BrowserStep, Click, Fill, Press, Scroll, WaitFor

__all__ = [
    "Browser",
    "BrowserFetcher",
    "BrowserRequest",
    "BrowserStep",
    "BrowserUnavailableError",
    "Click",
    "Fill",
    "InvalidStorageError",
    "Politeness",
    "Press",
    "RenderedPage",
    "ResourceType",
    "Scroll",
    "Viewport",
    "WaitFor",
]

_HOMES = {
    "Browser": "port",
    "BrowserFetcher": "fetcher",
    "BrowserRequest": "messages",
    "BrowserStep": "steps",
    "BrowserUnavailableError": "errors",
    "Click": "steps",
    "Fill": "steps",
    "InvalidStorageError": "errors",
    "Politeness": "port",
    "Press": "steps",
    "RenderedPage": "messages",
    "ResourceType": "messages",
    "Scroll": "steps",
    "Viewport": "messages",
    "WaitFor": "steps",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name: a pipeline that describes steps of a browser is read without one.
    return loaded(__name__, _HOMES, name)
