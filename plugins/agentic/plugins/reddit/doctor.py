"""The report of ``agentic doctor`` on the Reddit agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from agentic.core.browser import BrowserUnavailableError
from agentic.core.hooks import Finding, warning
from agentic.core.settings import load_settings
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.browser.checkup import find_browser
from agentic.plugins.reddit.settings import RedditSettings

PLATFORM_NAME = "reddit"


def _look(settings: RedditSettings) -> Iterator[Finding]:
    match settings.mode:
        case "oauth":
            return
        case "feed":
            yield from _feed_findings(settings)
        case "archive":
            yield warning("reads by mode archive: a copy by others, with scores of 36 hours after the post")
        case "browser":
            yield from _browser_findings()


def _feed_findings(settings: RedditSettings) -> Iterator[Finding]:
    text = "reads by mode feed, which has no scores"
    if settings.target_count > 1:
        minutes = settings.target_count * settings.feed_interval_s / 60
        text += (
            f", one page every {settings.feed_interval_s:g} s: its {settings.target_count} feeds take "
            f"{minutes:.0f} minutes a run; join subreddits as a+b"
        )
    yield warning(text)


def _browser_findings() -> Iterator[Finding]:
    try:
        asyncio.run(find_browser(load_settings().browser_path))
    except BrowserUnavailableError as exc:
        yield Finding(f"reads by mode browser, but it cannot: {exc}")
    else:
        yield warning("reads by mode browser: the first posts of a page, and no comments")


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=RedditSettings, look=_look)
"""Reports agents that cannot run, and their modes. Reddit is not called."""
