"""Reddit: posts, comments and subreddits into tables of their own, by the ways that are left to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl

if TYPE_CHECKING:
    from agentic.core.graph import Workflow


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform ``reddit``."""
    from agentic.plugins.reddit.platform import PLATFORM

    return [PLATFORM]


@hookimpl
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Offer the graph that an agent runs, as ``reddit``."""
    from agentic.plugins.reddit.workflow import default_workflow

    return {"reddit": default_workflow}
