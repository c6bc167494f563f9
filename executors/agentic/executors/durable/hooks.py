"""What a workflow adds to its durable runs, besides its graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentic.core.graph.events import WorkflowEvent
from agentic.core.graph.records import record
from agentic.core.graph.state import RunState

OnRest = Callable[[Any, RunState], object]
"""Called with the session of the transaction in which a run begins, rests or goes on, and its state."""


def _as_it_is(event: WorkflowEvent) -> WorkflowEvent:
    return event


@record
class RunHooks:
    """What a workflow adds to its durable runs.

    Attributes:
        clean: Takes out of an event what nobody may see, before it is kept or told.
        on_rest: Writes what else follows from how a run stands.
    """

    clean: Callable[[WorkflowEvent], WorkflowEvent] = _as_it_is
    on_rest: OnRest | None = None


NO_HOOKS = RunHooks()
