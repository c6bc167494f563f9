"""The engine, with all that a plugin needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import find_old_paths, loaded

if TYPE_CHECKING:
    from agentic.core.errors import AgenticError
    from agentic.core.graph import (
        Case,
        CheckpointStore,
        CustomEvent,
        Default,
        EventKind,
        Executor,
        ExecutorFailure,
        ExecutorKind,
        FailedAttempt,
        InfoRequest,
        ItemResult,
        MemoryCheckpointStore,
        RetryPolicy,
        RunResult,
        RunStatus,
        RunStream,
        Workflow,
        WorkflowBuilder,
        WorkflowConfig,
        WorkflowContext,
        WorkflowEvent,
        executor,
        handler,
    )
    from agentic.core.hooks import Platform, hookimpl
    from agentic.core.types import JSONValue

__all__ = [
    "AgenticError",
    "Case",
    "CheckpointStore",
    "CustomEvent",
    "Default",
    "EventKind",
    "Executor",
    "ExecutorFailure",
    "ExecutorKind",
    "FailedAttempt",
    "InfoRequest",
    "ItemResult",
    "JSONValue",
    "MemoryCheckpointStore",
    "Platform",
    "RetryPolicy",
    "RunResult",
    "RunStatus",
    "RunStream",
    "Workflow",
    "WorkflowBuilder",
    "WorkflowConfig",
    "WorkflowContext",
    "WorkflowEvent",
    "executor",
    "handler",
    "hookimpl",
]

_HOMES = {
    "AgenticError": "errors",
    "Case": "graph",
    "CheckpointStore": "graph",
    "CustomEvent": "graph",
    "Default": "graph",
    "EventKind": "graph",
    "Executor": "graph",
    "ExecutorFailure": "graph",
    "ExecutorKind": "graph",
    "FailedAttempt": "graph",
    "InfoRequest": "graph",
    "ItemResult": "graph",
    "JSONValue": "types",
    "MemoryCheckpointStore": "graph",
    "Platform": "hooks",
    "RetryPolicy": "graph",
    "RunResult": "graph",
    "RunStatus": "graph",
    "RunStream": "graph",
    "Workflow": "graph",
    "WorkflowBuilder": "graph",
    "WorkflowConfig": "graph",
    "WorkflowContext": "graph",
    "WorkflowEvent": "graph",
    "executor": "graph",
    "handler": "graph",
    "hookimpl": "hooks",
}


find_old_paths()


def __getattr__(name: str) -> object:
    # Every command and every TAB imports this package; the engine would add 0.2 s.
    return loaded(__name__, _HOMES, name)
