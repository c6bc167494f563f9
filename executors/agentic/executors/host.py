"""What a run of an execution is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from agentic.core.bus import EventBus
from agentic.core.graph import WorkflowEvent
from agentic.core.types import JSONValue, RunId, SaveCounts
from agentic.mappers import Database, ExecutionStatus

EventListener = Callable[[WorkflowEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a process lends to the executions it runs.

    Attributes:
        database: Holds executions, agents and results.
        bus: Gets the events.
        worker: Name of the process, for ``agentic executions``.
        heartbeat_s: Seconds between two signs of life; well below the 30 after which others take over.
        publish_grace_s: Seconds a run waits at its end for events the bus has not taken yet.
        shows_errors: Whether somebody shows how a run ended anyhow, so that the log need not be loud.
    """

    database: Database
    bus: EventBus
    worker: str
    heartbeat_s: float = 5.0
    publish_grace_s: float = 3.0
    shows_errors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOutcome:
    """How running an execution went.

    Attributes:
        execution_id: The execution.
        status: How it ended; None when this call cannot say: another worker has it, or it is over.
        run_id: The graph's run; None when this call started none.
        counts: Rows inserted, updated, unchanged and rejected.
        superstep_count: Supersteps of the execution's graph and of the graph its agent ran.
        event_count: Events of the run, sub-runs included.
        error: What went wrong, in a line; None when nothing did.
        warnings: What was wrong with parts of the results, a sentence each.
    """

    execution_id: str
    status: ExecutionStatus | None = None
    run_id: RunId | None = None
    counts: SaveCounts = field(default_factory=SaveCounts)
    superstep_count: int = 0
    event_count: int = 0
    error: str | None = None
    warnings: Sequence[str] = ()

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the outcome as JSON-able data; warnings are only counted, as there may be many."""
        return {
            "execution_id": self.execution_id,
            "status": str(self.status) if self.status else "refused",
            "run_id": self.run_id,
            "counts": asdict(self.counts),
            "superstep_count": self.superstep_count,
            "event_count": self.event_count,
            "error": self.error,
            "warning_count": len(self.warnings),
        }
