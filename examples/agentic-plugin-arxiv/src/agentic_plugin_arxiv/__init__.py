"""The platform ``arxiv``."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks import Platform, hookimpl


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform. Imports wait until somebody asks, as this module is loaded by every command."""
    from agentic_plugin_arxiv.platform import PLATFORM

    return [PLATFORM]
