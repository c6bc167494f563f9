"""The graph engine: workflows that run in deterministic supersteps."""

from agentic.core.graph.builder import Case, Default, WorkflowBuilder
from agentic.core.graph.checkpoints import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointStore,
    StoredCheckpoint,
)
from agentic.core.graph.config import WorkflowConfig
from agentic.core.graph.context import WorkflowContext
from agentic.core.graph.errors import (
    AnswerError,
    CheckpointConflictError,
    CheckpointError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    CheckpointVersionError,
    ConvergenceError,
    CorruptCheckpointError,
    ExecutorTimeoutError,
    GraphError,
    GraphWarning,
    HandlerError,
    HandlerStoppedError,
    IncompleteLogError,
    InvalidGraphError,
    InvalidPolicyError,
    InvalidRunIdError,
    MessageCopyError,
    MessageTypeError,
    OutputTypeError,
    RequestExpiredError,
    RetriesExhaustedError,
    RunEndedError,
    RunTimeoutError,
    SelectorError,
    SendTypeError,
    StateConflictError,
    UndeliverableMessageError,
    UnencodableError,
    UnknownRequestError,
)
from agentic.core.graph.events import CustomEvent, EventKind, WorkflowEvent
from agentic.core.graph.executor import Executor, ExecutorKind, handler
from agentic.core.graph.function import FunctionExecutor, executor
from agentic.core.graph.memory_checkpoints import MemoryCheckpointStore
from agentic.core.graph.messages import ExecutorFailure, ItemResult
from agentic.core.graph.progress import FailedAttempt, InfoRequest
from agentic.core.graph.replaying import replay
from agentic.core.graph.result import RunResult, RunStatus
from agentic.core.graph.retries import RetryPolicy
from agentic.core.graph.run_view import DueView, ExecutorView, RunView
from agentic.core.graph.workflow import RunStream, Workflow

__all__ = [
    "AnswerError",
    "Case",
    "Checkpoint",
    "CheckpointConflictError",
    "CheckpointError",
    "CheckpointMetadata",
    "CheckpointNotFoundError",
    "CheckpointStore",
    "CheckpointStoreError",
    "CheckpointVersionError",
    "ConvergenceError",
    "CorruptCheckpointError",
    "CustomEvent",
    "Default",
    "DueView",
    "EventKind",
    "Executor",
    "ExecutorFailure",
    "ExecutorKind",
    "ExecutorTimeoutError",
    "ExecutorView",
    "FailedAttempt",
    "FunctionExecutor",
    "GraphError",
    "GraphWarning",
    "HandlerError",
    "HandlerStoppedError",
    "IncompleteLogError",
    "InfoRequest",
    "InvalidGraphError",
    "InvalidPolicyError",
    "InvalidRunIdError",
    "ItemResult",
    "MemoryCheckpointStore",
    "MessageCopyError",
    "MessageTypeError",
    "OutputTypeError",
    "RequestExpiredError",
    "RetriesExhaustedError",
    "RetryPolicy",
    "RunEndedError",
    "RunResult",
    "RunStatus",
    "RunStream",
    "RunTimeoutError",
    "RunView",
    "SelectorError",
    "SendTypeError",
    "StateConflictError",
    "StoredCheckpoint",
    "UndeliverableMessageError",
    "UnencodableError",
    "UnknownRequestError",
    "Workflow",
    "WorkflowBuilder",
    "WorkflowConfig",
    "WorkflowContext",
    "WorkflowEvent",
    "executor",
    "handler",
    "replay",
]
