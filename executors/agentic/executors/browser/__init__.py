"""The browser behind :mod:`agentic.core.browser`: Chromium by Playwright, which is loaded when used."""

from agentic.executors.browser.folder import clear_leftovers
from agentic.executors.browser.pool import PlaywrightBrowser

__all__ = ["PlaywrightBrowser", "clear_leftovers"]
