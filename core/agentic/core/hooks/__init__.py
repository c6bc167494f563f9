"""The offers of a plugin, and how plugins are found.

A plugin is a module (or object) with functions marked :data:`hookimpl`, named by an entry point in the group
``agentic``. The project's own platforms and commands are loaded in exactly the same way.
"""

from agentic.core.hooks.findings import Finding, Severity, warning
from agentic.core.hooks.later import ActorAt, actor_at
from agentic.core.hooks.manager import (
    LoadedPlugin,
    PluginRegistry,
    get_registry,
)
from agentic.core.hooks.markers import ENTRY_POINT_GROUP, PROJECT_NAME, hookimpl, hookspec
from agentic.core.hooks.observed import ObservedExecution, Observer
from agentic.core.hooks.offers import Offers
from agentic.core.hooks.platform import Platform, platform_at

__all__ = [
    "ENTRY_POINT_GROUP",
    "PROJECT_NAME",
    "ActorAt",
    "Finding",
    "LoadedPlugin",
    "ObservedExecution",
    "Observer",
    "Offers",
    "Platform",
    "PluginRegistry",
    "Severity",
    "actor_at",
    "get_registry",
    "hookimpl",
    "hookspec",
    "platform_at",
    "warning",
]
