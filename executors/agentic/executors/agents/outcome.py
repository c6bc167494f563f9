"""The outcome of running an execution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from agentic.core.graph import WorkflowEvent
from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers import ExecutionModel, ExecutionStatus

EventListener = Callable[[WorkflowEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOutcome:
    """The outcome of running an execution.

    Attributes:
        execution_id: The execution.
        status: How it ended; ``running`` or ``queued`` when others continue it.
        counts: Rows inserted, updated, unchanged and rejected, in all attempts.
        failed_count: Pages, items and steps that failed.
        reason: Why the results are partial or failed.
        superstep_count: Supersteps of the execution's graph and of the graph its agent ran.
        event_count: Durable events of the run.
        error: The error in one line, or None.
        warnings: Faults in parts of the results, a sentence each.
    """

    execution_id: str
    status: ExecutionStatus
    counts: SaveCounts = field(default_factory=SaveCounts)
    failed_count: int = 0
    reason: str | None = None
    superstep_count: int = 0
    event_count: int = 0
    error: str | None = None
    warnings: Sequence[str] = ()

    @classmethod
    def of(cls, execution: ExecutionModel, counts: Mapping[str, JSONValue] | None = None) -> ExecutionOutcome:
        """Return the state of an execution; ``counts`` are its counts so far, if it has not ended."""
        found = execution.counts if counts is None else counts
        return cls(
            execution_id=execution.id,
            status=execution.status,
            counts=SaveCounts(**{name: _count(found, name) for name in asdict(SaveCounts())}),
            failed_count=_count(found, "failed"),
            reason=execution.reason,
            superstep_count=execution.superstep_count,
            event_count=execution.event_count,
            error=execution.error if execution.status is ExecutionStatus.FAILED else None,
            warnings=tuple(execution.warnings),
        )

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the outcome as JSON-able data, with only the number of warnings: there may be many."""
        return {
            "execution_id": self.execution_id,
            "status": str(self.status),
            "counts": {**asdict(self.counts), "failed": self.failed_count},
            "reason": self.reason,
            "superstep_count": self.superstep_count,
            "event_count": self.event_count,
            "error": self.error,
            "warning_count": len(self.warnings),
        }


def _count(counts: Mapping[str, JSONValue], name: str) -> int:
    count = counts.get(name, 0)
    return count if isinstance(count, int) else 0
