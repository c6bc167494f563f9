"""Errors of agents and their threads."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from agentic.core.errors import AgenticError, line_of


class AgentError(AgenticError):
    """Base class of the errors of agents."""


class OutputNotMetError(AgentError, ValueError):
    """The model did not reply in the agent's output type, also after it has read its mistakes.

    Attributes:
        reply: Its last text.
        faults: The mistakes in it.
    """

    is_retriable = False

    def __init__(self, agent: str, wanted: str, reply: str, faults: str) -> None:
        super().__init__(
            f"the model of agent {agent!r} did not reply with a valid {wanted}: {faults}; its reply was "
            f"{reply[:200]!r}"
        )
        self.reply = reply
        self.faults = faults


class ToolDefinitionError(AgentError, ValueError):
    """A tool cannot be used as it is defined."""


class ToolError(AgentError):
    """Raised by a tool, for the model to read its message; of other errors the model reads only the class."""


class ToolArgumentsError(ToolError, ValueError):
    """The arguments of a call do not fit the tool; the model reads the message, and can correct them."""


class AnswerMismatchError(AgentError, LookupError):
    """An answer does not belong to an open request of the thread."""

    def __init__(self, request_id: str, open_ids: Sequence[str]) -> None:
        super().__init__(
            f"no open request has the id {request_id!r} (open: {', '.join(open_ids) or 'none'}); read them "
            "from the pending requests of the response or thread"
        )
        self.request_id = request_id
        self.open_ids = tuple(open_ids)


class ThreadError(AgentError):
    """Base class of the errors of threads."""


class ThreadNotFoundError(ThreadError, LookupError):
    """The store has no thread of that id."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"no thread has the id {thread_id!r}; `agent.new_thread()` makes one")
        self.thread_id = thread_id


class ThreadExistsError(ThreadError, ValueError):
    """The store has another thread of that id."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"the store has a thread with the id {thread_id!r} already; load it, or use another id"
        )
        self.thread_id = thread_id


class ThreadConflictError(ThreadError):
    """Another process continued the thread meanwhile."""

    def __init__(self, thread_id: str, number: int) -> None:
        super().__init__(
            f"another process has written entry {number} of thread {thread_id!r} meanwhile; load the thread, "
            "and send the message again"
        )
        self.thread_id = thread_id
        self.number = number


class ThreadFormatError(ThreadError, ValueError):
    """A stored thread cannot be read."""

    is_retriable = False


class ThreadBusyError(ThreadError):
    """The thread waits for answers, so that it cannot take a new message."""

    def __init__(self, thread_id: str, open_ids: Sequence[str]) -> None:
        super().__init__(
            f"thread {thread_id!r} waits for answers to {', '.join(open_ids)}; answer them first: "
            "agent.run(RequestAnswer(...), thread)"
        )
        self.thread_id = thread_id
        self.open_ids = tuple(open_ids)


class ThreadInUseError(ThreadError):
    """The run that has the thread waits for the one that asks for it, or works in another event loop."""

    def __init__(self, thread_id: str, user: str) -> None:
        super().__init__(
            f"thread {thread_id!r} is in use by {user}; give the agent another one, by agent.new_thread()"
        )
        self.thread_id = thread_id


class ThreadMisfitError(ThreadError, ValueError):
    """A thread and an agent do not fit."""

    is_retriable = False

    def __init__(self, thread_id: str, agent: str, reason: str) -> None:
        super().__init__(
            f"thread {thread_id!r} does not fit agent {agent!r}: {reason}; start a new thread, or use "
            "the agent that began this one"
        )
        self.thread_id = thread_id
        self.agent = agent


class BackgroundError(AgentError):
    """Base class of the errors of background runs."""


class BackgroundSetupError(BackgroundError, ValueError):
    """An agent, a thread or an option cannot be used in a background run."""


class ContinuationTokenError(BackgroundError, ValueError):
    """A token cannot be used."""


class TaskUnderWayError(BackgroundError):
    """A background run works on the thread."""

    def __init__(self, thread_id: str, turn: str) -> None:
        super().__init__(
            f"a background run takes turn {turn!r} of thread {thread_id!r}; wait for its answer, or cancel it"
        )
        self.thread_id = thread_id
        self.turn = turn


class TaskNotFoundError(BackgroundError, LookupError):
    """No background run of that id is known here."""

    def __init__(self, task_id: str, thread_id: str) -> None:
        super().__init__(
            f"no background run {task_id!r} is known here: its process has ended, or it was removed; if "
            f"thread {thread_id!r} is stored, agent.run((), thread) continues its turn"
        )
        self.task_id = task_id
        self.thread_id = thread_id


class TaskFailedError(BackgroundError):
    """A background run failed."""

    def __init__(self, agent: str, task_id: str, reason: str) -> None:
        super().__init__(
            f"background run {task_id} of agent {agent!r} failed: {reason}; agent.run((), thread) continues "
            "its turn"
        )
        self.agent = agent
        self.task_id = task_id
        self.reason = reason


class PiecesGoneError(BackgroundError, LookupError):
    """Some pieces after a token's are not kept."""

    def __init__(self, task_id: str, sequence: int, first: int) -> None:
        super().__init__(
            f"background run {task_id} keeps its pieces from {first} on, and the token has seen {sequence}: "
            "poll for the answer, or read the thread"
        )
        self.task_id = task_id
        self.sequence = sequence
        self.first = first


def fault_of(error: Exception) -> str:
    """Say why stored text cannot be read, without quoting it: it may be a person's words."""
    if not isinstance(error, ValidationError):
        return line_of(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}" for fault in faults)
