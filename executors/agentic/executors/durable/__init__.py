"""Durable runs: any worker can continue any run, whatever happens to the others."""

from agentic.executors.durable.errors import (
    CancelledRunError,
    CrashedError,
    DurableError,
    IdempotencyKeyError,
    LateAnswerError,
    PriorityError,
    RunFailedError,
    UnknownWorkflowError,
)
from agentic.executors.durable.runs.catalog import RegisteredWorkflow, RunHooks, WorkflowCatalog
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.runs.local import HostOptions, LocalRuns
from agentic.executors.durable.runs.service import Submission

__all__ = [
    "AsyncRunHandle",
    "CancelledRunError",
    "CrashedError",
    "DurableError",
    "HostOptions",
    "IdempotencyKeyError",
    "LateAnswerError",
    "LocalRuns",
    "PriorityError",
    "RegisteredWorkflow",
    "RunFailedError",
    "RunHooks",
    "Submission",
    "UnknownWorkflowError",
    "WorkflowCatalog",
]


def __getattr__(name: str) -> object:
    from agentic.core.lazily import loaded

    return loaded(__name__, {}, name)
