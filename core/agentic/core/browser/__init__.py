"""Pages as a browser shows them, fetched with the politeness of :mod:`agentic.core.http`.

    async with open_fetcher() as fetcher, PlaywrightBrowser() as browser:
        page = await BrowserFetcher(fetcher, browser).fetch(
            BrowserRequest(url="https://example.org/", wait_for="ul.results li")
        )

This is the port and its messages; the browser itself is :mod:`agentic.executors.browser`.
"""

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


def __getattr__(name: str) -> object:
    from agentic.core.lazily import loaded

    return loaded(__name__, {}, name)
