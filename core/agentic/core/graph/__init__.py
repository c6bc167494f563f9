"""The graph engine: workflows that run in deterministic supersteps."""

from agentic.core.graph.builder import WorkflowBuilder
from agentic.core.graph.context import WorkflowContext
from agentic.core.graph.errors import (
    ConvergenceError,
    GraphError,
    HandlerError,
    HandlerStoppedError,
    InvalidGraphError,
    InvalidRunIdError,
    MessageCopyError,
    MessageTypeError,
    OutputTypeError,
    SelectorError,
    UndeliverableMessageError,
)
from agentic.core.graph.events import CustomEvent, EventKind, WorkflowEvent
from agentic.core.graph.executor import Executor, ExecutorKind, handler
from agentic.core.graph.function import executor
from agentic.core.graph.messages import ExecutorFailure, ItemResult
from agentic.core.graph.planner import WorkflowConfig
from agentic.core.graph.result import RunResult, RunStatus
from agentic.core.graph.workflow import RunStream, Workflow

__all__ = [
    "ConvergenceError",
    "CustomEvent",
    "EventKind",
    "Executor",
    "ExecutorFailure",
    "ExecutorKind",
    "GraphError",
    "HandlerError",
    "HandlerStoppedError",
    "InvalidGraphError",
    "InvalidRunIdError",
    "ItemResult",
    "MessageCopyError",
    "MessageTypeError",
    "OutputTypeError",
    "RunResult",
    "RunStatus",
    "RunStream",
    "SelectorError",
    "UndeliverableMessageError",
    "Workflow",
    "WorkflowBuilder",
    "WorkflowConfig",
    "WorkflowContext",
    "WorkflowEvent",
    "executor",
    "handler",
]
