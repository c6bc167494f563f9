"""The result of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from agentic.core.graph.errors import OutputTypeError
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.types import RunId

if TYPE_CHECKING:
    from agentic.core.graph.model.progress import InfoRequest

OutputT = TypeVar("OutputT")


class RunStatus(StrEnum):
    """The status of a run."""

    RUNNING = "running"
    WAITING_INPUT = "waiting_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether the run is over; a stored run that failed or was cancelled can be resumed."""
        return self in {RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The status of a run, and its outputs.

    Attributes:
        run_id: Its name.
        status: Completed, failed, cancelled, or waiting for input.
        outputs: All outputs, in planner order: by superstep, then executor, then as yielded.
        superstep_count: Supersteps that were committed.
        duration_s: Wall time since it was started, or resumed.
        events: The durable events since then, in order; events of a sub-workflow stand where its executor
            committed.
        error: The error that ended a failed run.
        pending_requests: Its open requests.
        waiting_fan_ins: Targets of fan-ins that still lacked a source when the run ended or waited.
    """

    run_id: RunId
    status: RunStatus
    outputs: tuple[object, ...]
    superstep_count: int
    duration_s: float
    # Not in the repr: asyncio.run() makes a repr of its result, at six microseconds an event.
    events: tuple[WorkflowEvent, ...] = field(repr=False)
    error: Exception | None = None
    waiting_fan_ins: tuple[str, ...] = ()
    pending_requests: tuple[InfoRequest, ...] = ()

    @property
    def is_success(self) -> bool:
        """Whether the run completed."""
        return self.status is RunStatus.COMPLETED

    def output(self, wanted: type[OutputT]) -> OutputT:
        """Return the first output of type ``wanted``.

        Raises:
            OutputTypeError: None exists.
        """
        for found in self.outputs:
            if isinstance(found, wanted):
                return found
        kinds = ", ".join(sorted({type(o).__name__ for o in self.outputs})) or "none"
        raise OutputTypeError(f"run {self.run_id!r} yielded no {wanted.__name__} (yielded: {kinds})")
