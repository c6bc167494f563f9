"""Hacker News: the head of a story list into the table ``hn_items``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl

if TYPE_CHECKING:
    from agentic.core.graph import Workflow


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform ``hackernews``."""
    from agentic.plugins.hackernews.platform import PLATFORM

    return [PLATFORM]


@hookimpl
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Offer the graph that an agent runs, as ``hackernews``."""
    from agentic.plugins.hackernews.workflow import default_workflow

    return {"hackernews": default_workflow}
