"""The plugin of this room: the builder that needs no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from agentic.core.actors import Actor
    from agentic.core.pipeline.spec.intents import PipelineBuilder


@hookimpl
def agentic_builders() -> Mapping[str, Callable[[Mapping[str, type[Actor]]], PipelineBuilder]]:
    """Offer the builder that works by rules."""
    from agentic.core.pipeline.spec.building import RuleBuilder

    return {"rules": RuleBuilder}
