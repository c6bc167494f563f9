"""What ``agentic doctor`` says of feeds and the agents that watch them."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.hooks import Finding, warning
from agentic.core.reading.extras import MissingExtraError
from agentic.executors.agents_doctor import AgentsDoctor
from agentic.plugins.feed.libraries import check_libraries
from agentic.plugins.feed.settings import FeedSettings

PLATFORM_NAME = "feed"

_AGENTS = AgentsDoctor(platform=PLATFORM_NAME, settings=FeedSettings)


def doctor() -> Iterator[Finding]:
    """Tell of agents that cannot be run; without any, missing libraries are a warning. No feed is asked."""
    try:
        check_libraries()
    except MissingExtraError as exc:
        yield warning(f"{exc}; agents that watch feeds need it")
    yield from _AGENTS()
