"""The history of an executor in other runs: attempts, errors, successes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.types import ExecutorId, RunId

MAX_ATTEMPTS = 100
MAX_ERRORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """One try of one activation in another run.

    Attributes:
        run_id: The run.
        number: The number of the try, from 1.
        error_type: Name of the exception's class; empty when it succeeded.
        message: Text of the exception.
        duration_s: Wall time.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.history.PastAttempt"

    run_id: RunId
    number: int
    error_type: str = ""
    message: str = ""
    duration_s: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether it did."""
        return not self.error_type


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichedError:
    """An error with its later results.

    Attributes:
        error_type: Name of the exception's class.
        message: The newest text.
        count: How often it was seen.
        suggestion: Advice from the history.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.history.EnrichedError"

    error_type: str
    message: str
    count: int
    suggestion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A successful pattern.

    Attributes:
        description: The pattern.
        count: How often it occurred.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.history.Pattern"

    description: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorHistory:
    """The past that an executor knows.

    Attributes:
        attempts: Oldest first, the newest ``MAX_ATTEMPTS``.
        errors: The most frequent first, ``MAX_ERRORS`` at most.
        successful_patterns: The most frequent first.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.history.ExecutorHistory"

    attempts: tuple[PastAttempt, ...] = ()
    errors: tuple[EnrichedError, ...] = ()
    successful_patterns: tuple[Pattern, ...] = ()


class HistorySource(Protocol):
    """Knows other runs."""

    async def history(self, executor_id: ExecutorId) -> ExecutorHistory:
        """Return the history of an executor; empty if nothing is known."""
        ...


@dataclass(slots=True)
class MemoryHistory:
    """A :class:`HistorySource` that learns from events, and ends with its process.

    An executor is known by its path, so workflows that share an executor share its history.
    """

    _attempts: dict[str, deque[PastAttempt]] = field(default_factory=dict)

    def record(self, events: Iterable[WorkflowEvent]) -> None:
        """Learn from events, such as ``RunResult.events``."""
        for event in events:
            if event.kind in {EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_FAILED}:
                name = event.path.rpartition("/")[2]
                self._attempts.setdefault(name, deque(maxlen=MAX_ATTEMPTS)).append(_attempt(event))

    async def history(self, executor_id: ExecutorId) -> ExecutorHistory:
        """Return the history of an executor."""
        return summary(tuple(self._attempts.get(executor_id, ())))


def summary(attempts: Sequence[PastAttempt]) -> ExecutorHistory:
    """Return attempts, oldest first, with their errors and patterns."""
    failed: dict[str, list[int]] = {}
    for position, attempt in enumerate(attempts):
        if not attempt.succeeded:
            failed.setdefault(attempt.error_type, []).append(position)
    errors = [_enriched(attempts, positions) for positions in failed.values()]
    tries: dict[int, int] = {}
    for attempt in attempts:
        if attempt.succeeded:
            tries[attempt.number] = tries.get(attempt.number, 0) + 1
    patterns = [Pattern(description=f"succeeded on attempt {number}", count=n) for number, n in tries.items()]
    return ExecutorHistory(
        attempts=tuple(attempts),
        errors=tuple(sorted(errors, key=lambda error: -error.count)[:MAX_ERRORS]),
        successful_patterns=tuple(sorted(patterns, key=lambda pattern: -pattern.count)),
    )


def _enriched(attempts: Sequence[PastAttempt], positions: Sequence[int]) -> EnrichedError:
    """Return one kind of error, with how often a later try of the same run succeeded."""
    mended = sum(
        any(a.succeeded and a.run_id == attempts[p].run_id for a in attempts[p + 1 :]) for p in positions
    )
    newest = attempts[positions[-1]]
    return EnrichedError(
        error_type=newest.error_type,
        message=newest.message,
        count=len(positions),
        suggestion=suggestion(mended, len(positions)),
    )


def suggestion(mended: int, count: int) -> str:
    """Return advice for an error that was seen ``count`` times, ``mended`` times before a success."""
    if mended:
        return f"a later attempt succeeded in {mended} of {count} cases: retry"
    return f"no later attempt of {count} succeeded: change the input, or ask a person"


def _attempt(event: WorkflowEvent) -> PastAttempt:
    failed = event.kind is EventKind.EXECUTOR_FAILED
    return PastAttempt(
        run_id=event.run_id,
        number=event.attempt,
        error_type=str(event.data["error_type"]) if failed else "",
        message=str(event.data["error"]) if failed else "",
        duration_s=event.duration_s or 0.0,
    )
