"""Checks whether there is a browser, without starting it."""

from __future__ import annotations

from pathlib import Path

from agentic.core.browser import BrowserUnavailableError
from agentic.executors.browser.executable import find_executable


async def find_browser(configured: str) -> Path:
    """Return the browser that would be started; Playwright reports its own path.

    Args:
        configured: The browser; empty for the first one found.

    Raises:
        BrowserUnavailableError: There is none, or Playwright is not installed.
    """
    try:
        from playwright.async_api import async_playwright
    except ModuleNotFoundError as exc:
        raise no_playwright() from exc
    async with async_playwright() as driver:
        return find_executable(configured, Path(driver.chromium.executable_path))


def no_playwright() -> BrowserUnavailableError:
    """Return the error of a machine without Playwright."""
    return BrowserUnavailableError(
        "browsers need Playwright, which is not installed; `pip install 'agentic-pipelines[browser]'`"
    )
