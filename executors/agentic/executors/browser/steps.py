"""Steps and waits on a page."""

from __future__ import annotations

import asyncio
from typing import assert_never

from playwright.async_api import Locator, Page
from pydantic import SecretStr

from agentic.core.browser import BrowserStep, Click, Fill, Press, Scroll, WaitFor

TO_THE_END = """() => {
    const height = document.documentElement.scrollHeight;
    window.scrollTo(0, height);
    return height;
}"""
HAS_GROWN = "height => document.documentElement.scrollHeight > height"


async def take_step(page: Page, step: BrowserStep) -> None:
    """Do one step. The caller limits its time."""
    match step:
        case Fill():
            value = step.value.get_secret_value() if isinstance(step.value, SecretStr) else step.value
            await first(page, step.selector).fill(value)
        case Click():
            await _click(page, step)
        case Press():
            await first(page, step.selector).press(step.key)
        case Scroll():
            await _scroll(page, step)
        case WaitFor():
            await first(page, step.selector).wait_for(state="attached")
        case _:
            assert_never(step)


def first(page: Page, selector: str) -> Locator:
    """Return the first element that matches a CSS selector."""
    return page.locator(f"css={selector}").first


async def _click(page: Page, step: Click) -> None:
    await first(page, step.selector).click()
    for _ in range(step.times - 1):
        try:
            async with asyncio.timeout(step.wait_s):
                await first(page, step.selector).click()
        except TimeoutError:
            return


async def _scroll(page: Page, step: Scroll) -> None:
    for _ in range(step.times):
        height = await page.evaluate(TO_THE_END)
        try:
            async with asyncio.timeout(step.wait_s):
                await page.wait_for_function(HAS_GROWN, arg=height)
        except TimeoutError:
            return
