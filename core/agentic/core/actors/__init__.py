"""Reusable steps of pipelines: the actor class, its failures, and the actors of every installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.actors.actor import Actor, Again, FromResults, ListingActor
    from agentic.core.actors.aggregate import AggregateActor, AggregateInput, AggregateOutput
    from agentic.core.actors.context import ActorContext
    from agentic.core.actors.errors import ActorError, PipelineError, UnknownSecretError
    from agentic.core.actors.failures import (
        FAILURE_CLASSES,
        Failure,
        describe_failure,
        failure_class_of,
    )
    from agentic.core.actors.model_use import ModelUse
    from agentic.core.actors.pages import (
        ContentsOutput,
        FilesOutput,
        ItemOutput,
        ItemsOutput,
        LinksOutput,
        Page,
        PageLink,
        PageOutput,
    )
    from agentic.core.actors.ports import (
        FileStore,
        ProjectMemory,
        SecretStore,
        SessionStore,
        StoredFile,
        stored_file,
    )

__all__ = [
    "FAILURE_CLASSES",
    "Actor",
    "ActorContext",
    "ActorError",
    "Again",
    "AggregateActor",
    "AggregateInput",
    "AggregateOutput",
    "ContentsOutput",
    "Failure",
    "FileStore",
    "FilesOutput",
    "FromResults",
    "ItemOutput",
    "ItemsOutput",
    "LinksOutput",
    "ListingActor",
    "ModelUse",
    "Page",
    "PageLink",
    "PageOutput",
    "PipelineError",
    "ProjectMemory",
    "SecretStore",
    "SessionStore",
    "StoredFile",
    "UnknownSecretError",
    "describe_failure",
    "failure_class_of",
    "stored_file",
]

_HOMES = {
    "FAILURE_CLASSES": "failures",
    "Actor": "actor",
    "ActorContext": "context",
    "ActorError": "errors",
    "Again": "actor",
    "AggregateActor": "aggregate",
    "AggregateInput": "aggregate",
    "AggregateOutput": "aggregate",
    "ContentsOutput": "pages",
    "Failure": "failures",
    "FileStore": "ports",
    "FilesOutput": "pages",
    "FromResults": "actor",
    "ItemOutput": "pages",
    "ItemsOutput": "pages",
    "LinksOutput": "pages",
    "ListingActor": "actor",
    "ModelUse": "model_use",
    "ProjectMemory": "ports",
    "Page": "pages",
    "PageLink": "pages",
    "PageOutput": "pages",
    "PipelineError": "errors",
    "SecretStore": "ports",
    "SessionStore": "ports",
    "StoredFile": "ports",
    "UnknownSecretError": "errors",
    "describe_failure": "failures",
    "failure_class_of": "failures",
    "stored_file": "ports",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of one of its modules: loading all would delay every command.
    return loaded(__name__, _HOMES, name)
