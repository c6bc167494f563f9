"""The errors of a graph.

GraphError
  InvalidGraphError (ValueError)          the graph cannot be built; every fault listed
  InvalidRunIdError (ValueError)          a run id is not valid
  HandlerError (TypeError)                a handler's signature cannot be used
  MessageTypeError (TypeError)            a message has no handler
  UndeliverableMessageError (LookupError) no executor took a sent message
  HandlerStoppedError (RuntimeError)      a handler's own code cancelled it, or raised a non-Exception
  ContextClosedError (RuntimeError)       a context was used after its handler had ended
  MessageCopyError (TypeError)            a message that could change cannot be copied
  SelectorError (TypeError)               a fan-out's selector did not return a list of target ids
  ConvergenceError (RuntimeError)         still messages in flight after ``max_supersteps``
  OutputTypeError (TypeError)             ``RunResult.output(T)`` found no T
  SendTypeError (TypeError)               a handler sent, yielded or returned an undeclared type
  InvalidPolicyError (ValueError)         a retry policy or a limit makes no sense
  RetriesExhaustedError (RuntimeError)    a retry edge has no pass left
  StateConflictError (RuntimeError)       two executors wrote one key in one superstep
  ExecutorTimeoutError (TimeoutError)     an attempt took longer than its executor may
  RunTimeoutError (TimeoutError)          the run's deadline passed
  RunEndedError (RuntimeError)            a run that is over cannot continue
  NotStoredError (RuntimeError)           a request in a run that no process could resume
  RequestExpiredError (TimeoutError)      no answer came in time
  RejectedError (PermissionError)         an approval was asked for and rejected
  UnknownRequestError (LookupError)       an answer to an unknown or settled request
  AnswerError (TypeError)                 an answer has the wrong type
  IncompleteLogError (ValueError)         events of a run are missing
  RestoredError                           an error of an earlier process
  CheckpointError
    CheckpointVersionError (RuntimeError)   the workflow is not the checkpoint's
      CheckpointMigrationError                          a migration's checkpoint cannot be resumed
    CheckpointNotFoundError (LookupError)   no such run or checkpoint
    CheckpointConflictError (RuntimeError)  another process saved first
    CorruptCheckpointError (ValueError)     the stored data is damaged or not ours
    CheckpointStoreError (OSError)          the store cannot be reached or used
  UnencodableError (TypeError)            a value has a part that cannot be stored
  UnstorableTypesError (TypeError)        a run cannot be stored because of an executor's types
  CorruptContentError (ValueError)        stored JSON is damaged or not ours
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import MAX_TEXT_CHARS, AgenticError, line_of, name_of, raw_text_of, storable
from agentic.core.masking import mask_known
from agentic.core.types import JSONValue


class GraphError(AgenticError):
    """Any error of a graph or its run."""


class InvalidGraphError(GraphError, ValueError):
    """A graph cannot be built; ``faults`` holds every reason."""

    def __init__(self, workflow_id: str, faults: Sequence[str]) -> None:
        listed = "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"workflow {workflow_id!r} cannot be built:{listed}")
        self.workflow_id = workflow_id
        self.faults = tuple(faults)


class InvalidRunIdError(GraphError, ValueError):
    """A run id is empty, holds the character between a run and its sub-runs, or cannot be stored."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run id {run_id!a} must not be empty or contain '/' (it separates a run from its sub-runs) or "
            "lone surrogates (no store accepts them); leave run_id out, or clean the text"
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
            f"message {type(message).__name__} from {source!r} was not delivered to any executor: "
            f"{reason}; add a handler or an edge, or build with WorkflowConfig(strict=False) to only "
            "record it"
        )
        self.source = source
        self.reason = reason


class HandlerStoppedError(GraphError, RuntimeError):
    """A handler ended itself in a way that is meant for tasks or processes, not for handlers."""

    def __init__(self, executor_id: str, by: BaseException) -> None:
        from asyncio import CancelledError  # loaded by every run, but not by commands that read errors

        if isinstance(by, CancelledError):
            what = "was cancelled by its own code"
            instead = (
                "catch CancelledError where it awaits a task that it cancels, and never cancel its own task"
            )
        else:
            what, instead = _said(by), "raise your own subclass of Exception instead"
        super().__init__(f"executor {executor_id!r} {what}; {instead}")
        self.executor_id = executor_id


def _said(by: BaseException) -> str:
    if isinstance(by, SystemExit) and (by.code is None or isinstance(by.code, int | str)):
        return f"called exit({storable(repr(by.code))})"
    return f"raised {line_of(by)}"


class ContextClosedError(GraphError, RuntimeError):
    """A context was used after its handler had ended, for example by a task that was not awaited."""

    is_retriable = False

    def __init__(self, executor_id: str, call: str) -> None:
        super().__init__(
            f"executor {executor_id!r} called ctx.{call} after its handler had ended, which has no effect; "
            "wait in the handler for the tasks that it starts (asyncio.TaskGroup, await)"
        )
        self.executor_id = executor_id
        self.call = call


class MessageCopyError(GraphError, TypeError):
    """A message is mutable and cannot be copied."""

    def __init__(self, message: object, reason: str) -> None:
        super().__init__(
            f"a {type(message).__name__} cannot be sent because it cannot be copied ({reason}); send plain "
            "data, or a dataclass or pydantic model of plain data"
        )
        self.reason = reason


class SelectorError(GraphError, TypeError):
    """A selector did not return target ids."""

    def __init__(self, source: str, answer: object) -> None:
        super().__init__(
            f"the selector of the fan-out from {source!r} returned {answer!r}; return a list of target ids"
        )
        self.source = source


class NotStoredError(GraphError, RuntimeError):
    """A request was made in a run that is not stored, so no answer could find it."""

    is_retriable = False

    def __init__(self, executor_id: str, *, is_nested: bool = False) -> None:
        within = "; within run_workflow(..., is_kept=False) only the executor around it can ask"
        super().__init__(
            f"executor {executor_id!r} asks for input, but the run is not stored and cannot continue with "
            "an answer; run it with checkpoints=... (MemoryCheckpointStore() in one "
            f"process){within if is_nested else ''}"
        )
        self.executor_id = executor_id


class NoLedgerError(GraphError, RuntimeError):
    """An executor wants to write in the transaction of a ledger, and its run has none."""

    is_retriable = False

    def __init__(self, executor_id: str) -> None:
        super().__init__(
            f"executor {executor_id!r} called ctx.on_commit, but its run has no ledger transaction to "
            "join; submit the run (`agentic.executors.submit`), or write in your own session"
        )


class ConvergenceError(GraphError, RuntimeError):
    """Messages were still in flight after ``max_supersteps``."""

    def __init__(self, run_id: str, max_supersteps: int, waiting: Sequence[str]) -> None:
        super().__init__(
            f"run {run_id!r} did not finish within {max_supersteps} supersteps (still due: "
            f"{', '.join(waiting)}); check the conditions of its loops, or raise "
            "WorkflowConfig(max_supersteps=...)"
        )
        self.max_supersteps = max_supersteps
        self.waiting = tuple(waiting)


class OutputTypeError(GraphError, TypeError):
    """A run yielded no output of the wanted type."""


class InvalidPolicyError(GraphError, ValueError):
    """A number of a retry policy or of a limit makes no sense."""

    def __init__(self, name: str, value: object, wanted: str) -> None:
        super().__init__(f"{name} is {value!r}; give {wanted}")
        self.name = name


class RetriesExhaustedError(GraphError, RuntimeError):
    """A validator asked for another pass, and its retry edge has none left."""

    def __init__(self, validator: str, worker: str, max_passes: int, message: object) -> None:
        super().__init__(
            f"retry edge {validator} -> {worker} exhausted after {max_passes} passes (last message: "
            f"{type(message).__name__}, see the error's `last_message`); raise max_passes and resume the "
            "run, or set exhausted=... for new runs"
        )
        self.validator = validator
        self.worker = worker
        self.last_message = message


class StateConflictError(GraphError, RuntimeError):
    """Two executors wrote one key of the shared state in the same superstep."""

    def __init__(self, key: str, writers: Sequence[str]) -> None:
        super().__init__(
            f"{' and '.join(map(repr, writers))} wrote the state key {key!r} in one superstep; declare how "
            f"to join the values with add_state({key!r}, reducer=...), or write it in one executor only"
        )
        self.key = key
        self.writers = tuple(writers)


class ExecutorTimeoutError(GraphError, TimeoutError):
    """An attempt took longer than its executor may."""

    def __init__(self, executor_id: str, timeout_s: float) -> None:
        super().__init__(f"executor {executor_id!r} exceeded its timeout_s of {timeout_s:g} s")
        self.executor_id = executor_id
        self.timeout_s = timeout_s


class RunTimeoutError(GraphError, TimeoutError):
    """The deadline of a run passed. If checkpoints are kept, the run can be resumed with a later one."""

    def __init__(self, run_id: str, timeout_s: float, unfinished: Sequence[str]) -> None:
        super().__init__(
            f"run {run_id!r} exceeded its run_timeout_s of {timeout_s:g} s (unfinished: "
            f"{', '.join(unfinished) or 'nothing'}); resume it with a larger one"
        )
        self.run_id = run_id
        self.unfinished = tuple(unfinished)


class RunEndedError(GraphError, RuntimeError):
    """A run that is over was asked to continue."""

    def __init__(self, run_id: str, status: str, wanted: str) -> None:
        super().__init__(f"run {run_id!r} is {status} and cannot {wanted}; start a new run, or fork it")
        self.run_id = run_id
        self.status = status


class RequestExpiredError(GraphError, TimeoutError):
    """A request was not answered before its deadline."""

    def __init__(self, request: str) -> None:
        super().__init__(
            f"request {request!r} expired unanswered; catch this error to continue without an answer"
        )
        self.request = request


class RejectedError(GraphError, PermissionError):
    """An action was rejected instead of approved; another try would not change that."""

    is_retriable = False

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(
            f"{action!r} was not approved: {reason or 'no reason given'}; catch this error to continue "
            "without it"
        )
        self.action = action
        self.reason = reason


class UnknownRequestError(GraphError, LookupError):
    """An answer was given to a request that does not exist or is settled."""

    def __init__(self, request_id: str, open_ids: Sequence[str]) -> None:
        super().__init__(f"no open request has the id {request_id!r} (open: {', '.join(open_ids) or 'none'})")
        self.request_id = request_id
        self.open_ids = tuple(open_ids)


class AnswerError(GraphError, TypeError):
    """An answer does not have the requested type; the request stays open."""

    def __init__(self, request_id: str, wanted: str, reason: str) -> None:
        super().__init__(f"the answer to request {request_id!r} is not a valid {wanted}: {reason}")
        self.request_id = request_id
        self.wanted = wanted


class CheckpointError(GraphError):
    """Any error of checkpoints."""


class CheckpointNotFoundError(CheckpointError, LookupError):
    """The store does not have the run or checkpoint."""

    def __init__(self, run_id: str, revision: int | str | None = None) -> None:
        which = "" if revision is None else f" {revision!r}"
        super().__init__(
            f"the store has no checkpoint{which} of run {run_id!r}; list its checkpoints with list_metadata()"
        )
        self.run_id = run_id
        self.revision = revision


class CheckpointConflictError(CheckpointError, RuntimeError):
    """A checkpoint does not follow the newest one."""

    def __init__(self, run_id: str, revision: int, newest: int) -> None:
        if revision == 1:
            what = f"run {run_id!r} exists already; choose another run_id, or resume it"
        else:
            what = (
                f"checkpoint {revision} of run {run_id!r} does not follow the newest one, {newest}: "
                "another process continues this run; load it again, or fork it"
            )
        super().__init__(what)
        self.run_id = run_id
        self.revision = revision
        self.newest = newest


class CheckpointVersionError(CheckpointError, RuntimeError):
    """A checkpoint was written by another version of its workflow."""

    def __init__(self, checkpoint_id: str, reason: str) -> None:
        super().__init__(f"checkpoint {checkpoint_id!r} cannot be resumed by this workflow: {reason}")
        self.checkpoint_id = checkpoint_id
        self.reason = reason


class CheckpointMigrationError(CheckpointVersionError):
    """A run cannot resume from a migration's checkpoint; the stored checkpoint is unchanged."""

    def __init__(self, checkpoint_id: str, from_version: str | None, what: str) -> None:
        super().__init__(checkpoint_id, f"its migration from version {from_version!r} {what}")


class CorruptCheckpointError(CheckpointError, ValueError):
    """A stored checkpoint is damaged, or was not written by this project."""

    def __init__(self, checkpoint_id: str, reason: str) -> None:
        super().__init__(
            f"checkpoint {checkpoint_id!r} cannot be used: {reason}; continue from an earlier one"
        )
        self.checkpoint_id = checkpoint_id
        self.reason = reason


class CheckpointStoreError(CheckpointError, OSError):
    """A checkpoint store cannot be reached or used."""


class SendTypeError(GraphError, TypeError):
    """An executor sent, yielded or returned a value of a type that its annotations do not declare.

    Another try would give the same, so no retry policy tries again.
    """

    is_retriable = False

    def __init__(self, executor_id: str, verb: str, value: object, declared: Sequence[str]) -> None:
        super().__init__(
            f"executor {executor_id!r} {verb} a value of type {type(value).__name__}, but declares "
            f"{' or '.join(declared) or 'nothing'}; change the annotation or the value"
        )
        self.executor_id = executor_id
        self.declared = tuple(declared)
        self.actual = type(value).__name__


class GraphWarning(UserWarning):
    """A graph can run, but probably not as intended."""


class UnencodableError(GraphError, TypeError):
    """A value, or a part of it, cannot be stored as JSON.

    Attributes:
        type_name: Of the part.
        path: Where the part is inside the value, as ``.items[3].author``; empty for the value itself.
        reason: The reason, and how to fix it.
    """

    is_retriable = False

    def __init__(self, type_name: str, reason: str, path: str = "") -> None:
        where = f" at {path}" if path else ""
        super().__init__(f"a value of type {type_name}{where} cannot be stored: {reason}")
        self.type_name = type_name
        self.reason = reason
        self.path = path


class UnstorableTypesError(GraphError, TypeError):
    """No run of a workflow can be stored: some executors take or return only unstorable types.

    Attributes:
        workflow_id: The workflow.
        faults: Which executors, and why.
    """

    is_retriable = False

    def __init__(self, workflow_id: str, faults: Sequence[str]) -> None:
        listed = "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(
            f"runs of workflow {workflow_id!r} cannot be stored; change these types, or run it without "
            f"checkpoints:{listed}"
        )
        self.workflow_id = workflow_id
        self.faults = tuple(faults)


class CorruptContentError(GraphError, ValueError):
    """Stored JSON is damaged, was not written by this project, or by a workflow with other types.

    Attributes:
        reason: The fault.
        path: Where in the content, as ``.items[3].author``; empty for all of it.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        where = f" (at {path})" if path else ""
        super().__init__(f"stored content cannot be used{where}: {reason}; continue from an older copy of it")
        self.reason = reason
        self.path = path


class IncompleteLogError(GraphError, ValueError):
    """A run cannot be replayed from these events."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(f"run {run_id!r} cannot be replayed: {reason}; give all of its durable events")
        self.run_id = run_id
        self.reason = reason


class RestoredError(GraphError):
    """An error of an earlier process, from a checkpoint: the original exception is gone.

    Attributes:
        error_type: Name of its class.
        failure_class: Its class for policies, if it named one.
    """

    def __init__(self, error_type: str, message: str, failure_class: str | None = None) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.failure_class = failure_class


_MASKED_CHARS = 10 * MAX_TEXT_CHARS


def error_type(error: Exception) -> str:
    """Return the name of an error's class, also for an error from a checkpoint."""
    return error.error_type if isinstance(error, RestoredError) else name_of(error)


def error_text(error: Exception) -> str:
    """Return an error's text, safe to write to records, messages, events and checkpoints.

    A server may repeat the text it was sent, and a handler may quote it. So secrets that this process has
    read are masked.
    """
    # Mask before the cut: half of a secret would not be found. Megabytes are cut roughly first.
    return storable(mask_known(raw_text_of(error)[:_MASKED_CHARS]))


def stored_error(error: Exception | None) -> dict[str, JSONValue] | None:
    """Return an error in the form that checkpoints store."""
    if error is None:
        return None
    word = named_class(error)
    known: dict[str, JSONValue] = {} if word is None else {"failure_class": word}
    return {"type": error_type(error), "message": error_text(error), **known}


def named_class(error: BaseException | None) -> str | None:
    """Return the failure class that an error names, or the one that a cause of it names."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a cause may lead back to its effect
        seen.add(id(error))
        try:
            known = getattr(error, "failure_class", None)
        except Exception:  # a property of a foreign class can raise anything
            known = None
        if isinstance(known, str):
            return storable(known)
        error = error.__cause__
    return None
