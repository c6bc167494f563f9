"""Reddit: posts, comments and subreddits into their own tables, in the remaining ways to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    from agentic.core.graph import Workflow


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``reddit``."""
    place = "agentic.plugins.reddit"
    return [platform_at(f"{place}.platform:PLATFORM", name="reddit", migrations=f"{place}.migrations")]


@hookimpl
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Provide the graph of an agent, as ``reddit``."""
    from agentic.plugins.reddit.workflow import default_workflow

    return {"reddit": default_workflow}
