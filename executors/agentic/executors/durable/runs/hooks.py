"""Hooks that a workflow adds to its durable runs, besides its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.state import RunState
from agentic.core.masking import KnownSecrets
from agentic.core.records import record
from agentic.core.types import RunId

OnceKept = Callable[[], object]
"""Called after the commit: once, by the process that wrote."""

OnRest = Callable[[Any, RunState], OnceKept | None]
"""Called in the transaction that starts, rests or continues a run, with its session and the run's state."""


def _as_it_is(event: WorkflowEvent) -> WorkflowEvent:
    return event


def _nothing(_: RunId) -> Mapping[str, str]:
    return {}


@record
class RunHooks:
    """Hooks of a workflow's durable runs.

    Attributes:
        clean: Removes secrets from an event before it is kept or sent.
        on_rest: Writes changes when a run starts, rests or continues; returns what to do after the commit.
        context: Returns the log context of a run's handlers, by the run's id.
        secrets: Learns the secrets that handlers read or receive.
    """

    clean: Callable[[WorkflowEvent], WorkflowEvent] = _as_it_is
    on_rest: OnRest | None = None
    context: Callable[[RunId], Mapping[str, str]] = _nothing
    secrets: KnownSecrets | None = None


NO_HOOKS = RunHooks()


def hooks_within(hooks: RunHooks) -> RunHooks:
    """Return a workflow's hooks for the runs of one of its nodes."""
    return RunHooks(clean=hooks.clean, context=hooks.context, secrets=hooks.secrets)
