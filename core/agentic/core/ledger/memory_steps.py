"""The effects of a step on activations in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.memory_rows import Rows, as_pending
from agentic.core.ledger.memory_states import save_checkpoint, save_events
from agentic.core.ledger.records import (
    ActivationId,
    ActivationRow,
    ActivationStatus,
    LedgerStep,
    NewActivation,
    RunRow,
)
from agentic.core.types import ExecutorId, RunId


def write_step(rows: Rows, run: RunRow, step: LedgerStep) -> None:
    """Write a step, and the run after it."""
    rows.runs.put(run.run_id, run)
    save_checkpoint(rows, step.checkpoint)
    for batch in step.events:
        save_events(rows, batch)
    _add_activations(rows, run, step.activations)
    if run.status is not RunStatus.RUNNING:
        _wake_waiting(rows, run.run_id)


def stays(run: RunRow, step: LedgerStep) -> bool:
    """Whether a run is in the same superstep after a step, and its activations continue."""
    metadata = step.checkpoint.metadata
    goes_on = metadata.status is RunStatus.RUNNING and metadata.superstep == run.superstep
    return goes_on and not step.activations


def skip_open(rows: Rows, run_id: RunId, superstep: int) -> None:
    """Skip the open activations of a superstep."""
    for row in list(rows.activations.listed("open", run_id, superstep)):
        _skip(rows, row)


def go_on_after(rows: Rows, closed: ActivationId, *, skips_rest: bool) -> None:
    """Start the next activation of a lane, or skip the rest."""
    run_id, superstep, executor_id, _ = closed
    blocked = rows.activations.listed("blocked", run_id, superstep, executor_id)
    if skips_rest:
        for row in list(blocked):
            _skip(rows, row)
    elif waiting := next(blocked, None):
        rows.activations.put(waiting.id, as_pending(waiting, rows.clock()))


def _skip(rows: Rows, row: ActivationRow) -> None:
    skipped = replace(row, status=ActivationStatus.SKIPPED, lease_until=None, finished_at=rows.clock())
    rows.activations.put(row.id, skipped)


def _add_activations(rows: Rows, run: RunRow, activations: Sequence[NewActivation]) -> None:
    taken: Counter[ExecutorId] = Counter()
    for new in sorted(activations, key=lambda one: one.position):
        if new.result is not None:
            status = ActivationStatus.DONE
        elif taken[new.id.executor_id] < new.lanes:
            status = ActivationStatus.PENDING
            taken[new.id.executor_id] += 1
        else:
            status = ActivationStatus.BLOCKED
        rows.activations.put(new.id, _made(rows, run, new, status))


def _made(rows: Rows, run: RunRow, new: NewActivation, status: ActivationStatus) -> ActivationRow:
    before = rows.activations.get(new.id)
    now = rows.clock()
    return ActivationRow(
        id=new.id,
        status=status,
        position=new.position,
        lanes=new.lanes,
        queue=new.queue,
        priority=run.priority,
        began_at=run.began_at,
        fence=before.fence + 1 if before else 0,
        on_crash=new.on_crash,
        max_crashes=new.max_crashes,
        not_before=now,
        result=new.result,
        finished_at=None if status.is_open else now,
    )


def _wake_waiting(rows: Rows, run_id: RunId) -> None:
    for row in list(rows.activations.listed("waiting for", run_id)):
        rows.activations.put(row.id, as_pending(row, rows.clock()))
