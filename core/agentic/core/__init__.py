"""The engine and everything a plugin needs of it."""

from agentic.core.errors import AgenticError
from agentic.core.graph import (
    CustomEvent,
    EventKind,
    Executor,
    ExecutorFailure,
    ExecutorKind,
    ItemResult,
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
    "CustomEvent",
    "EventKind",
    "Executor",
    "ExecutorFailure",
    "ExecutorKind",
    "ItemResult",
    "JSONValue",
    "Platform",
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
