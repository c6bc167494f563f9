"""Runs of a ledger in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.errors import RunExistsError
from agentic.core.ledger.memory_rows import UsesRows
from agentic.core.ledger.memory_steps import skip_open, stays, write_step
from agentic.core.ledger.records import LedgerStep, NewRun, RunRow
from agentic.core.types import RunId


class MemoryRuns(UsesRows):
    """Implements :class:`agentic.core.ledger.port.Runs`."""

    def now(self) -> float:
        """Return the ledger's clock."""
        return self._rows.clock()

    def add_run(self, new: NewRun) -> RunId:
        """Accept a run, unless one was accepted with its idempotency key; return its id."""
        if new.idempotency_key is not None:
            for before in self._rows.runs.listed("key", new.idempotency_key):
                return before.run_id
        if self._rows.runs.get(new.run_id) is not None:
            raise RunExistsError(new.run_id)
        around = None if new.parent is None else self._rows.runs.get(new.parent.run_id)
        now = self.now()
        accepted = _accepted(new, now, now if around is None else around.began_at)
        write_step(self._rows, accepted, new.step)
        return new.run_id

    def run(self, run_id: RunId, *, lock: bool = False) -> RunRow | None:  # noqa: ARG002 - one transaction at a time
        """Return a run."""
        return self._rows.runs.get(run_id)

    def advance(self, run_id: RunId, superstep: int, revision: int, step: LedgerStep) -> bool:
        """Write a step, if the run is still where it was when the step was decided."""
        run = self._rows.runs.get(run_id)
        if run is None or (run.superstep, run.revision) != (superstep, revision):
            return False
        if not stays(run, step):
            skip_open(self._rows, run_id, superstep)
        write_step(self._rows, _after(run, step, self.now()), step)
        return True

    def request_cancel(self, run_id: RunId, reason: str) -> bool:
        """Request that a run is cancelled; the first request sets reason and time."""
        run = self._unfinished(run_id)
        if run is None:
            return False
        if run.cancel_at is None:
            self._rows.runs.put(run_id, replace(run, cancel_reason=reason, cancel_at=self.now()))
        return True

    def pause(self, run_id: RunId, *, is_paused: bool) -> bool:
        """Stop claims of a run, or resume it."""
        run = self._unfinished(run_id)
        if run is None:
            return False
        self._rows.runs.put(run_id, replace(run, is_paused=is_paused))
        for row in list(self._rows.activations.listed("pending of run", run_id)):
            self._rows.activations.put(row.id, replace(row, dispatched_at=None))
        return True

    def note(self, run_id: RunId, note: str | None) -> None:
        """Record why a run does not continue."""
        if run := self._rows.runs.get(run_id):
            self._rows.runs.put(run_id, replace(run, note=note))

    def list_runs(
        self, *, statuses: Collection[RunStatus] | None = None, workflow: str | None = None, limit: int = 50
    ) -> Sequence[RunRow]:
        """Return runs, the newest first."""
        found = (
            run
            for run in self._rows.runs.newest_first()
            if (statuses is None or run.status in statuses) and workflow in {None, run.workflow}
        )
        return list(islice(found, limit))

    def children(self, run_id: RunId) -> Sequence[RunRow]:
        """Return the child runs of a run that have not ended."""
        return list(self._rows.runs.listed("unfinished child", run_id))

    def neglected_runs(self, *, cancel_grace_s: float, limit: int = 100) -> Sequence[RunRow]:
        """Return runs that need a decision, the one without progress for the longest time first."""
        now = self.now()
        found = (
            run
            for run in self._rows.runs.listed("unfinished")
            if _is_late(run, now) or self._is_idle(run) or self._must_end(run, now - cancel_grace_s)
        )
        return list(islice(found, limit))

    def _unfinished(self, run_id: RunId) -> RunRow | None:
        run = self._rows.runs.get(run_id)
        return None if run is None or run.status.is_final else run

    def _is_idle(self, run: RunRow) -> bool:
        is_running = run.status is RunStatus.RUNNING
        return is_running and not self._rows.activations.count("open", run.run_id, run.superstep)

    def _must_end(self, run: RunRow, patient_until: float) -> bool:
        if run.cancel_at is None:
            return False
        return run.cancel_at <= patient_until or not self._rows.activations.count(
            "running of run", run.run_id
        )


def _is_late(run: RunRow, now: float) -> bool:
    return any(moment is not None and moment <= now for moment in (run.deadline, run.wake_at))


def _accepted(new: NewRun, now: float, began_at: float) -> RunRow:
    row = RunRow(
        run_id=new.run_id,
        workflow=new.workflow,
        status=RunStatus.RUNNING,
        superstep=0,
        revision=0,
        priority=new.priority,
        created_at=now,
        began_at=began_at,
        updated_at=now,
        max_parallel=new.max_parallel,
        parent=new.parent,
        idempotency_key=new.idempotency_key,
    )
    return _after(row, new.step, now)


def _after(run: RunRow, step: LedgerStep, now: float) -> RunRow:
    metadata = step.checkpoint.metadata
    if run.status.is_final:  # it continues after all
        run = replace(run, cancel_reason=None, cancel_at=None, is_paused=False)
    return replace(
        run,
        status=metadata.status,
        superstep=metadata.superstep,
        revision=metadata.revision,
        updated_at=now,
        finished_at=now if metadata.status.is_final else None,
        wake_at=step.wake_at,
        deadline=step.deadline,
        error=step.error,
        note=None,
    )
