"""Converts rows of the ledger to its records, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentic.core.graph.model.policies import OnCrash
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import (
    ActivationId,
    ActivationRow,
    ActivationStatus,
    Claimed,
    CorruptRunError,
    Dispatchable,
    EventBatch,
    Lease,
    LedgerStep,
    NewRun,
    RunRow,
)
from agentic.core.types import ExecutorId, RunId
from agentic.mappers.database.driver import Value

Row = Sequence[Any]

# Looked up once: reading an enum member, or its value, costs as much as building a dict.
_RUNNING = str(RunStatus.RUNNING)
_FINAL = frozenset(status for status in RunStatus if status.is_final)


@dataclass(slots=True, eq=False)
class FoundRun:
    """A run as a statement returns it."""

    run_id: RunId
    workflow: str
    status: str
    superstep: int
    revision: int
    priority: int
    created_at: float
    began_at: float
    updated_at: float
    finished_at: float | None
    deadline: float | None
    wake_at: float | None
    max_parallel: int | None
    parent_run_id: RunId | None
    parent_superstep: int
    parent_executor_id: ExecutorId
    parent_shard: int
    idempotency_key: str | None
    cancel_reason: str | None
    cancel_at: float | None
    is_paused: bool
    note: str | None
    error: str | None
    max_running: int | None = None  # of the project

    @property
    def parent(self) -> ActivationId | None:
        """The activation that waits for its end."""
        if self.parent_run_id is None:
            return None
        return ActivationId(
            self.parent_run_id, self.parent_superstep, self.parent_executor_id, self.parent_shard
        )

    def may_run(self, superstep: int) -> bool:
        """Whether activations of a superstep may be claimed, within the limits."""
        goes_on = self.status == _RUNNING and self.superstep == superstep
        return goes_on and not self.is_paused and self.cancel_at is None

    @property
    def is_limited(self) -> bool:
        """Whether the run or the project limits how many activations may run at a time."""
        return self.max_parallel is not None or self.max_running is not None

    def claimed(
        self,
        activation_id: ActivationId,
        fence: int,
        queue: str,
        crashes: int,
        progress: str | None,
        dispatched_at: float | None,
    ) -> Claimed:
        """Return the claim data of one of its activations."""
        return Claimed(
            lease=Lease(activation_id, fence),
            workflow=self.workflow,
            revision=self.revision,
            queue=queue,
            priority=self.priority,
            crashes=crashes,
            progress=progress,
            deadline=self.deadline,
            parent=self.parent,
            is_told=dispatched_at is not None,
        )

    def go_on(self, step: LedgerStep) -> None:
        """Apply a step to the fields that claims need."""
        metadata = step.checkpoint.metadata
        self.status = str(metadata.status)
        self.superstep = metadata.superstep
        self.revision = metadata.revision
        self.deadline = step.deadline
        self.note = None


class FoundActivation(NamedTuple):
    """An activation as a statement returns it."""

    run_id: RunId
    superstep: int
    executor_id: ExecutorId
    shard: int
    status: str
    position: int
    lanes: int
    queue: str
    priority: int
    began_at: float
    fence: int
    crashes: int
    on_crash: OnCrash
    max_crashes: int
    not_before: float
    lease_until: float | None
    worker: str | None
    dispatched_at: float | None
    progress: str | None
    result: str | None
    note: str | None
    waits_for: RunId | None
    started_at: float | None
    finished_at: float | None


def read_run(row: Row) -> RunRow:
    """Convert a row to a run."""
    return run_row(FoundRun(*row))


def run_row(found: FoundRun) -> RunRow:
    """Return a run.

    Raises:
        CorruptRunError: The row has an unknown status.
    """
    try:
        status = RunStatus(found.status)
    except ValueError as exc:
        raise CorruptRunError(found.run_id, str(exc)) from None
    return RunRow(
        run_id=found.run_id,
        workflow=found.workflow,
        status=status,
        superstep=found.superstep,
        revision=found.revision,
        priority=found.priority,
        created_at=found.created_at,
        began_at=found.began_at,
        updated_at=found.updated_at,
        finished_at=found.finished_at,
        deadline=found.deadline,
        wake_at=found.wake_at,
        max_parallel=found.max_parallel,
        parent=found.parent,
        idempotency_key=found.idempotency_key,
        cancel_reason=found.cancel_reason,
        cancel_at=found.cancel_at,
        is_paused=bool(found.is_paused),
        note=found.note,
        error=found.error,
    )


def activation_row(row: Row) -> ActivationRow:
    """Return an activation."""
    found = FoundActivation(*row)
    return ActivationRow(
        id=ActivationId(*found[:4]),
        status=ActivationStatus(found.status),
        position=found.position,
        lanes=found.lanes,
        queue=found.queue,
        priority=found.priority,
        began_at=found.began_at,
        fence=found.fence,
        crashes=found.crashes,
        on_crash=found.on_crash,
        max_crashes=found.max_crashes,
        not_before=found.not_before,
        lease_until=found.lease_until,
        worker=found.worker,
        dispatched_at=found.dispatched_at,
        progress=found.progress,
        result=found.result,
        note=found.note,
        waits_for=found.waits_for,
        started_at=found.started_at,
        finished_at=found.finished_at,
    )


def dispatchable(row: Row) -> Dispatchable:
    """Return an activation to dispatch to a worker."""
    run_id, superstep, executor_id, shard, queue, priority, workflow, fence, not_before, *_ = row
    return Dispatchable(
        id=ActivationId(run_id, superstep, executor_id, shard),
        queue=queue,
        priority=priority,
        workflow=workflow,
        fence=fence,
        not_before=not_before,
    )


def values_of_step(step: LedgerStep) -> dict[str, Value]:
    """Return the columns of a run that a step sets."""
    metadata = step.checkpoint.metadata
    deadline, wake_at = step.deadline, step.wake_at
    decide_at = deadline if wake_at is None else wake_at
    if deadline is not None and wake_at is not None:
        decide_at = min(deadline, wake_at)
    return {
        "status": str(metadata.status),
        "superstep": metadata.superstep,
        "revision": metadata.revision,
        "is_final": metadata.status in _FINAL,
        "deadline": deadline,
        "wake_at": wake_at,
        "decide_at": decide_at,
        "error": step.error,
    }


def values_of_run(new: NewRun) -> dict[str, Value]:
    """Return the columns of a new run."""
    parent_run_id, superstep, executor_id, shard = new.parent or (None, None, None, None)
    return {
        **values_of_step(new.step),
        "workflow": new.workflow,
        "priority": new.priority,
        "max_parallel": new.max_parallel,
        "idempotency_key": new.idempotency_key,
        "parent_run_id": parent_run_id,
        "parent_superstep": superstep,
        "parent_executor_id": executor_id,
        "parent_shard": shard,
    }


def event_values(project_id: str, batch: EventBatch) -> dict[str, Value]:
    """Return the columns of a batch of events."""
    return {
        "project_id": project_id,
        "run_id": batch.run_id,
        "first": batch.first,
        "last": batch.last,
        "decided_at": batch.decided_at,
        "deciding": batch.deciding,
        "text": batch.text,
    }
