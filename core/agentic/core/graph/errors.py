"""What can go wrong in a graph.

GraphError
  InvalidGraphError (ValueError)          the graph cannot be built; every fault listed
  InvalidRunIdError (ValueError)          a run cannot be named like that
  HandlerError (TypeError)                a handler's signature cannot be used
  MessageTypeError (TypeError)            a message has no handler
  UndeliverableMessageError (LookupError) a sent message reached nobody
  HandlerStoppedError (RuntimeError)      a handler's own code cancelled it, or called exit
  MessageCopyError (TypeError)            a message that could change cannot be copied
  SelectorError (TypeError)               a fan-out's selector returned no list of target ids
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


class HandlerStoppedError(GraphError, RuntimeError):
    """A handler ended itself in a way that is meant for tasks or processes, not for handlers."""

    def __init__(self, executor_id: str, by: BaseException) -> None:
        if isinstance(by, SystemExit):
            what, instead = f"called exit({by.code!r})", "raise an error of your own instead"
        else:
            what, instead = "was cancelled by its own code", "catch CancelledError around what it cancels"
        super().__init__(f"executor {executor_id!r} {what}; {instead}")
        self.executor_id = executor_id


class MessageCopyError(GraphError, TypeError):
    """A message can be changed by who gets it, and cannot be copied."""

    def __init__(self, message: object, reason: str) -> None:
        super().__init__(
            f"a {type(message).__name__} cannot be sent, as it cannot be copied ({reason}); "
            f"send plain data, a frozen dataclass or a pydantic model"
        )
        self.reason = reason


class SelectorError(GraphError, TypeError):
    """A selector returned something else than target ids."""

    def __init__(self, source: str, answer: object) -> None:
        super().__init__(
            f"the selector of the fan-out from {source!r} returned {answer!r}; return a list of target ids"
        )
        self.source = source


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
