"""Runs chat agents: scheduled prompts on workers, conversations on the command line, turns as rows."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks import Platform, hookimpl, platform_at


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``chat``."""
    place = "agentic.plugins.chat"
    return [platform_at(f"{place}.platform:PLATFORM", name="chat", migrations=f"{place}.migrations")]
