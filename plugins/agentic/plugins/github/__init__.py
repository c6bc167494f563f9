"""GitHub: repositories, issues, pull requests and releases into their own tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    from agentic.core.graph import Workflow


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``github``."""
    place = "agentic.plugins.github"
    return [platform_at(f"{place}.platform:PLATFORM", name="github", migrations=f"{place}.migrations")]


@hookimpl
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Provide the graph of an agent, as ``github``."""
    from agentic.plugins.github.workflow import default_workflow

    return {"github": default_workflow}
