"""The browser for :mod:`agentic.core.browser`: Chromium with Playwright, loaded on first use."""

from agentic.executors.browser.folder import clear_leftovers
from agentic.executors.browser.pool import PlaywrightBrowser

__all__ = ["PlaywrightBrowser", "clear_leftovers"]
