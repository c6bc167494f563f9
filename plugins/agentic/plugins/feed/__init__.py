"""Watches feeds: RSS, Atom and JSON Feed into the tables ``feeds`` and ``feed_entries``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    from agentic.core.graph import Workflow


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``feed``."""
    place = "agentic.plugins.feed"
    return [platform_at(f"{place}.platform:PLATFORM", name="feed", migrations=f"{place}.migrations")]


@hookimpl
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Provide the graph of an agent, as ``feed``."""
    from agentic.plugins.feed.workflow import default_workflow

    return {"feed": default_workflow}
