"""Runs of the ledger in SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import LedgerStep, NewRun, RunExistsError, RunRow
from agentic.core.types import RunId
from agentic.mappers.checkpoints.rows import add_checkpoint, add_next_checkpoint
from agentic.mappers.database.driver import CompiledStatement, Value, Values
from agentic.mappers.ledger import run_statements as statements
from agentic.mappers.ledger.activation_statements import (
    ADD_FINISHED,
    HAS_OPEN,
    HOLD_RUN,
    OFFER_RUN,
    SKIP_OPEN,
    WAKE,
)
from agentic.mappers.ledger.base import UsesCursor
from agentic.mappers.ledger.rows import (
    FoundRun,
    event_values,
    read_run,
    run_row,
    values_of_run,
    values_of_step,
)
from agentic.mappers.ledger.sql import RUNS, of_project
from agentic.mappers.ledger.state_statements import ADD_EVENTS
from agentic.mappers.ledger.steps import Fences, has_open, new_rows, stays, take_out


class SqlRuns(UsesCursor):
    """Implements :class:`agentic.core.ledger.port.Runs`."""

    def add_run(self, new: NewRun) -> RunId:
        """Accept a run, unless its idempotency key was accepted before; return the id of the accepted run."""
        key = new.idempotency_key
        of_run = self._of_project(run_id=new.run_id)
        found = self._cursor.rows(statements.FIND_RUNS, {**of_run, "idempotency_key": key})
        for run_id, known in found:
            if key is not None and known == key:
                return RunId(run_id)
        if found or not add_checkpoint(self._cursor, self._project_id, new.step.checkpoint):
            raise RunExistsError(new.run_id)
        around = None if new.parent is None else self._locked_run(new.parent.run_id)
        values = {**of_run, **values_of_run(new), "began_at": None if around is None else around.began_at}
        ((began_at,),) = self._cursor.rows(statements.ADD_RUN, values)
        self._locked.pop(new.run_id, None)
        of_all = {**of_run, "priority": new.priority, "began_at": began_at, "is_held": 0}
        self._add(of_all, new.step, {})
        return new.run_id

    def run(self, run_id: RunId, *, lock: bool = False) -> RunRow | None:
        """Return a run; with a lock, no other transaction changes it or closes its activations."""
        if lock:
            self._locked.pop(run_id, None)
            locked = self._locked_run(run_id)
            return None if locked is None else run_row(locked)
        found = self._cursor.row(statements.READ_RUN, self._of_project(run_id=run_id))
        return None if found is None else read_run(found)

    def advance(self, run_id: RunId, superstep: int, revision: int, step: LedgerStep) -> bool:
        """Write a step, if the run has not changed since the step was decided."""
        run = self._locked_run(run_id)
        of_run: dict[str, Value] = {"project_id": self._project_id, "run_id": run_id}
        values = values_of_step(step)
        values.update(of_run, from_superstep=superstep, from_revision=revision)
        is_plain = step.error is values["decide_at"] is None and not values["is_final"]
        if run is None or not self._cursor.run(statements.GO_ON if is_plain else statements.ADVANCE, values):
            return False
        if run.finished_at is not None:
            self._cursor.run(statements.RESUME, of_run)
        add_next_checkpoint(self._cursor, self._project_id, step.checkpoint)
        key = {**of_run, "superstep": superstep}
        goes_on = stays(superstep, step)
        if not goes_on and run_id not in self._idle:
            self._activations.run(SKIP_OPEN, key)
        is_idle = not goes_on or not self._activations.number(HAS_OPEN, key)
        before = take_out(self._activations, key, step)
        is_held = run.finished_at is None and (run.is_paused or run.cancel_at is not None)
        of_run.update(priority=run.priority, began_at=run.began_at, is_held=int(is_held))
        self._add(of_run, step, before, is_idle=is_idle)
        self._note_after(run, step)
        return True

    def request_cancel(self, run_id: RunId, reason: str) -> bool:
        """Request the cancellation of a run; the first request sets reason and time."""
        values = self._of_project(run_id=run_id, reason=reason)
        return self._change(run_id, statements.CANCEL, values, HOLD_RUN)

    def pause(self, run_id: RunId, *, is_paused: bool) -> bool:
        """Stop claims of a run's activations, or allow them again."""
        values = self._of_project(run_id=run_id, is_paused=is_paused)
        return self._change(run_id, statements.PAUSE, values, HOLD_RUN if is_paused else OFFER_RUN)

    def note(self, run_id: RunId, note: str | None) -> None:
        """Record why a run does not continue."""
        self._cursor.run(statements.NOTE, self._of_project(run_id=run_id, note=note))
        self._locked.pop(run_id, None)

    def list_runs(
        self, *, statuses: Collection[RunStatus] | None = None, workflow: str | None = None, limit: int = 50
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; runs of the same time by id."""
        query = select(*statements.RUN_COLUMNS).where(of_project(RUNS))
        if statuses is not None:
            query = query.where(RUNS.c.status.in_(statuses))
        if workflow is not None:
            query = query.where(RUNS.c.workflow == workflow)
        query = query.order_by(RUNS.c.created_at.desc(), RUNS.c.run_id).limit(limit)
        with self._cursor.joined() as connection:
            return [read_run(row) for row in connection.execute(query, self._of_project())]

    def children(self, run_id: RunId) -> Sequence[RunRow]:
        """Return the open child runs of a run."""
        return [
            read_run(row) for row in self._cursor.rows(statements.CHILDREN, self._of_project(run_id=run_id))
        ]

    def neglected_runs(self, *, cancel_grace_s: float, limit: int = 100) -> Sequence[RunRow]:
        """Return runs that need a decision, the longest waiting first."""
        self.finish()
        values = self._of_project(cancel_grace_s=cancel_grace_s, limit=limit)
        return [read_run(row) for row in self._activations.rows(statements.NEGLECTED, values)]

    def _add(
        self, of_run: dict[str, Value], step: LedgerStep, before: Fences, *, is_idle: bool = True
    ) -> None:
        """Write the parts of a step besides run and checkpoint.

        Args:
            of_run: Values that activations take from their run.
            step: The decided step.
            before: Fences of recreated activations.
            is_idle: Whether only activations that the step adds are open.
        """
        run_id = step.checkpoint.metadata.run_id
        self._left_open.clear()
        is_running = step.checkpoint.metadata.status is RunStatus.RUNNING
        if is_running and is_idle and not has_open(step):
            self._idle.add(run_id)
        else:
            self._idle.discard(run_id)
        if step.activations:
            self._write_added()
            self._added, finished = new_rows(of_run, step, before)
            if finished:
                self._cursor.run_each(ADD_FINISHED, finished)
        if step.events:
            self._cursor.run_each(ADD_EVENTS, [event_values(self._project_id, one) for one in step.events])

    def _note_after(self, run: FoundRun, step: LedgerStep) -> None:
        """Wake the activation that waits for an ended run, and remember the new state of the run."""
        if step.checkpoint.metadata.status is RunStatus.RUNNING and run.finished_at is None:
            run.go_on(step)
            return
        del self._locked[run.run_id]
        if run.parent is not None:
            waiting = {**self._key(run.parent), "waits_for": run.run_id}
            self._activations.run(WAKE, waiting)

    def _change(
        self, run_id: RunId, change: CompiledStatement, values: Values, of_activations: CompiledStatement
    ) -> bool:
        if not self._cursor.run(change, values):
            return False
        self._locked.pop(run_id, None)
        self._activations.run(of_activations, self._of_project(run_id=run_id))
        return True
