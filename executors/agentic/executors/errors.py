"""Errors of running an agent.

ExecutionError
  AgentNotRunnableError                    an agent cannot run in its current state
    AgentConfigError (ValueError)          its config or goals cannot be used
    AgentGraphError                        its platform failed to make its graph
  AgentFailedError                         its executor raised, or returned {"error": ...}
  SourceRefusedError                       a site or an API would refuse another try, too
  NothingReadError                         nothing could be read
  ResultsRefusedError                      its mapper would not store the results
  SessionClosedError                       a database session was used while none may be open
  ExecutionNotRunnableError                the execution may not run (again) in its state
  ExecutionFailedError                     a failed execution, for Celery and Flower
  PipelineBusyError                        a pipeline has an active execution with other inputs
  CheckpointsUrlError (ValueError)         the settings name no kind of checkpoint store
  BrokerUnavailableError (ConnectionError) the Celery broker is not configured or cannot be reached
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, ClassVar

from agentic.core.errors import AgenticError
from agentic.core.settings import safe_url

if TYPE_CHECKING:
    from agentic.core.http import FetchError

_TRANSIENT = frozenset({"timeout", "dns", "connect", "rate_limited"})
"""Failure classes of fetches and actors that may be temporary, besides 5xx responses."""


class ExecutionError(AgenticError):
    """Base of the errors of running an agent."""


class AgentNotRunnableError(ExecutionError):
    """An agent cannot run in its current state; its executions fail before they begin."""


class AgentGraphError(AgentNotRunnableError):
    """The platform of an agent failed to make its graph; the message has no secret of the agent's config."""

    def __init__(self, agent_name: str, platform: str, reason: str) -> None:
        super().__init__(f"agent {agent_name!r}: platform {platform!r} could not build its graph: {reason}")
        self.agent_name = agent_name
        self.platform = platform


class AgentConfigError(AgentNotRunnableError, ValueError):
    """An agent's config cannot be used; ``faults`` holds every reason, never a value."""

    def __init__(self, agent_name: str, platform: str, faults: Sequence[str]) -> None:
        super().__init__(
            f"agent {agent_name!r} (platform {platform!r}) has an invalid configuration: "
            f"{'; '.join(faults)}; correct it with `agentic agents add {agent_name} --replace ...`"
        )
        self.agent_name = agent_name
        self.platform = platform
        self.faults = tuple(faults)


class AgentFailedError(ExecutionError):
    """The platform executor of an agent failed; the message is its own, without secrets.

    Attributes:
        is_retriable: Whether a later try may succeed: a server was unavailable, or too busy.
        retry_after_s: Seconds until then, if a server named them.
    """

    def __init__(self, message: str, cause: Exception | None = None) -> None:
        super().__init__(message)
        self.is_retriable = cause is not None and may_pass(cause)
        self.retry_after_s: float | None = getattr(cause, "retry_after_s", None)


def may_pass(error: Exception) -> bool:
    """Whether a later try may succeed: a server was unavailable, or too busy."""
    known = getattr(error, "failure_class", None)
    if isinstance(known, str):
        return known in _TRANSIENT or known.startswith("http_5")
    return isinstance(error, TimeoutError | ConnectionError)


class SourceRefusedError(ExecutionError):
    """A site or an API would refuse another try, too, or wants a longer wait than the agent allows.

    Attributes:
        refusal: Its message.
        failure_class: Its class: ``http_404``, ``rate_limited``.
        status: Status of the response.
        retry_after_s: The wait in seconds, if there is one.
    """

    is_retriable = False

    def __init__(self, refusal: FetchError, advice: str = "") -> None:
        super().__init__(f"{refusal}{advice}")
        self.refusal = refusal
        self.failure_class = refusal.failure_class
        self.status = refusal.status
        self.retry_after_s = refusal.retry_after_s


def refusal_of(failure: FetchError, max_wait_s: float = inf) -> SourceRefusedError | None:
    """Return the error to raise for a failure that another try cannot fix; None if it may.

    See :func:`agentic.executors.retrying.refusing`.

    Args:
        failure: Failure of a request to a site or an API.
        max_wait_s: Longest accepted wait for its limit.
    """
    # A response that breaks off in the middle may succeed later, too.
    if not may_pass(failure) and failure.failure_class != "decode":
        return SourceRefusedError(failure)
    if (failure.retry_after_s or 0) > max_wait_s:
        return SourceRefusedError(failure, f"; that is {failure.retry_after_s:.0f} s, more than max_wait_s")
    return None


class NothingReadError(ExecutionError):
    """Nothing could be read.

    Attributes:
        count: Number of things to read.
        noun: Their name in the plural; "" if there is no common word.
    """

    def __init__(self, count: int, first_reason: str, noun: str = "") -> None:
        things = f"none of {count} {noun}".rstrip()
        what = "it could not be read" if count == 1 else f"{things} could be read; the first one"
        super().__init__(f"{what}: {first_reason}")
        self.count = count
        self.noun = noun


class ResultsRefusedError(ExecutionError):
    """The results of an agent were refused; none were stored."""

    def __init__(self, agent_name: str, warnings: Sequence[str]) -> None:
        reasons = "; ".join(warnings) or "its mapper returned False without a reason"
        super().__init__(f"the results of agent {agent_name!r} were not stored: {reasons}")
        self.agent_name = agent_name
        self.warnings = tuple(warnings)


class SessionClosedError(ExecutionError):
    """A platform executor used its database session while it works."""

    def __init__(self) -> None:
        super().__init__(
            "no database session is open while execute_agent runs, because it would hold a transaction; "
            "read in create_initial_state and write in save_results"
        )


class ExecutionNotRunnableError(ExecutionError):
    """An execution may not run in its current state."""

    def __init__(self, execution_id: str, reason: str) -> None:
        super().__init__(f"execution {execution_id!r} cannot run now: {reason}")
        self.execution_id = execution_id


class ExecutionFailedError(ExecutionError):
    """An execution failed. The one exception a task raises, with a message short enough for Flower."""


class CheckpointsUrlError(ExecutionError, ValueError):
    """The URL of the checkpoint store names no kind of store."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"AGENTIC_CHECKPOINTS_URL ({safe_url(url)}) names no checkpoint store; write it as "
            "'nats://host:4222', 'redis://host:6379/0', 'sqlite:///runs.db' or 'postgresql+psycopg://...'"
        )


class BrokerUnavailableError(ExecutionError, ConnectionError):
    """The Celery broker is not configured (``url`` is None), or cannot be used; ``url`` holds no password."""

    exit_code: ClassVar[int] = 3

    def __init__(self, url: str | None, reason: str = "") -> None:
        self.url = safe_url(url) if url else None
        self.reason = reason
        what = (
            f"the Celery broker at {self.url} cannot be used: {reason}"
            if url
            else "no Celery broker is configured"
        )
        super().__init__(f"{what}; start one with `agentic up`, or set AGENTIC_BROKER_URL")


class PipelineBusyError(ExecutionError):
    """An agent of a pipeline has an active execution, whose inputs others would replace."""

    def __init__(self, pipeline: str, execution_id: str) -> None:
        super().__init__(
            f"pipeline {pipeline!r} is running with other inputs or in another version; wait until execution "
            f"{execution_id} has ended, or cancel it"
        )
        self.pipeline = pipeline
        self.execution_id = execution_id
