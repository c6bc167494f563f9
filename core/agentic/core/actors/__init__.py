"""Reusable steps of pipelines: what an actor is, how it fails, and the actors every installation has."""

from agentic.core.actors.actor import Actor, ActorContext
from agentic.core.actors.aggregate import AggregateActor, AggregateInput, AggregateOutput
from agentic.core.actors.errors import ActorError, PipelineError
from agentic.core.actors.failures import (
    FAILURE_CLASSES,
    Failure,
    describe_failure,
    failure_class_of,
)
from agentic.core.actors.pages import ItemOutput, LinksOutput, Page, PageOutput

__all__ = [
    "FAILURE_CLASSES",
    "Actor",
    "ActorContext",
    "ActorError",
    "AggregateActor",
    "AggregateInput",
    "AggregateOutput",
    "Failure",
    "ItemOutput",
    "LinksOutput",
    "Page",
    "PageOutput",
    "PipelineError",
    "describe_failure",
    "failure_class_of",
]
