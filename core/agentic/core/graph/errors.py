"""What can go wrong in a graph.

GraphError
  InvalidGraphError (ValueError)          the graph cannot be built; every fault listed
  InvalidRunIdError (ValueError)          a run cannot be named like that
  HandlerError (TypeError)                a handler's signature cannot be used
  MessageTypeError (TypeError)            a message has no handler
  UndeliverableMessageError (LookupError) a sent message reached nobody
  HandlerCancelledError (RuntimeError)    a handler's own code cancelled it
  ConvergenceError (RuntimeError)         still messages in flight after ``max_supersteps``
  OutputTypeError (TypeError)             ``RunResult.output(T)`` found no T
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError


class GraphError(AgenticError):
    """Something about a graph or its run."""


class InvalidGraphError(GraphError, ValueError):
    """A graph cannot be built; ``faults`` holds every reason."""

    def __init__(self, workflow_id: str, faults: Sequence[str]) -> None:
        listed = "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"workflow {workflow_id!r} cannot be built:{listed}")
        self.workflow_id = workflow_id
        self.faults = tuple(faults)


class InvalidRunIdError(GraphError, ValueError):
    """A run id holds a character that separates runs from their sub-runs."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run id {run_id!r} must not be empty or hold '/' (it separates a run from its sub-runs)"
        )
        self.run_id = run_id


class HandlerError(GraphError, TypeError):
    """A handler's signature cannot be used."""


class MessageTypeError(GraphError, TypeError):
    """An executor was given a message that none of its handlers takes."""

    def __init__(self, executor_id: str, message: object, accepts: Sequence[str]) -> None:
        super().__init__(
            f"executor {executor_id!r} takes {' or '.join(accepts)}, not {type(message).__name__}; "
            f"send another type or add a handler"
        )
        self.executor_id = executor_id


class UndeliverableMessageError(GraphError, LookupError):
    """A message was sent and no executor could take it."""

    def __init__(self, source: str, message: object, reason: str) -> None:
        super().__init__(
            f"a {type(message).__name__} sent by {source!r} reached nobody: {reason}; "
            f"add a handler or an edge, or build with WorkflowConfig(strict=False) to only record it"
        )
        self.source = source
        self.reason = reason


class HandlerCancelledError(GraphError, RuntimeError):
    """A handler ended in CancelledError although nobody had cancelled the run."""

    def __init__(self, executor_id: str) -> None:
        super().__init__(
            f"executor {executor_id!r} was cancelled by its own code; "
            f"catch CancelledError around the awaits it cancels"
        )
        self.executor_id = executor_id


class ConvergenceError(GraphError, RuntimeError):
    """Messages were still in flight after ``max_supersteps``."""

    def __init__(self, run_id: str, max_supersteps: int, waiting: Sequence[str]) -> None:
        super().__init__(
            f"run {run_id!r} did not come to rest within {max_supersteps} supersteps "
            f"(still due: {', '.join(waiting)}); check the conditions of its loops, "
            f"or raise WorkflowConfig(max_supersteps=...)"
        )
        self.max_supersteps = max_supersteps
        self.waiting = tuple(waiting)


class OutputTypeError(GraphError, TypeError):
    """A run yielded no output of the wanted type."""
