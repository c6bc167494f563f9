"""Hacker News: story lists, searches and comments into the table ``hn_items``, users into ``hn_users``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    from agentic.core.graph import Workflow


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``hackernews``."""
    place = "agentic.plugins.hackernews"
    return [platform_at(f"{place}.platform:PLATFORM", name="hackernews", migrations=f"{place}.migrations")]


@hookimpl
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Provide the graph of an agent that reads a list, as ``hackernews``."""
    from agentic.plugins.hackernews.workflow import default_workflow

    return {"hackernews": default_workflow}
