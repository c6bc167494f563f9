"""The two decorators of the plugin system."""

from __future__ import annotations

import pluggy

PROJECT_NAME = "agentic"
ENTRY_POINT_GROUP = "agentic"

hookspec = pluggy.HookspecMarker(PROJECT_NAME)
"""Marks the declaration of a hook in :mod:`agentic.core.hooks.specs`."""

hookimpl = pluggy.HookimplMarker(PROJECT_NAME)
"""Marks a plugin's implementation of a hook."""
