"""Activations of a ledger in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from itertools import islice, takewhile

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.memory_rows import Effect, UsesRows, as_pending, rank
from agentic.core.ledger.memory_steps import go_on_after
from agentic.core.ledger.records import (
    ActivationId,
    ActivationOutcome,
    ActivationRow,
    ActivationStatus,
    Claimed,
    Dispatchable,
    Lease,
    LeaseState,
    RunRow,
    Settled,
)
from agentic.core.types import RunId


class MemoryActivations(UsesRows):
    """Implements :class:`agentic.core.ledger.port.Activations`."""

    def claim(
        self,
        activation_id: ActivationId,
        worker: str,
        lease_s: float,
        *,
        waits: bool = True,  # noqa: ARG002 - one transaction at a time
    ) -> Claimed | None:
        """Claim an activation, if it may run now."""
        row, now = self.activation(activation_id), self._rows.clock()
        if row is None or self._is_full() or not self._may_run(row, now):
            return None
        taken = replace(
            row,
            status=ActivationStatus.RUNNING,
            fence=row.fence + 1,
            worker=worker,
            lease_until=now + lease_s,
            started_at=now if row.started_at is None else row.started_at,
        )
        self._rows.activations.put(row.id, taken)
        return _claimed(taken, self._run_of(taken))

    def first_in_line(self, queue: str, limit: int = 1) -> Sequence[ActivationId]:
        """Return the first of the due activations in a queue, the best first."""
        now = self._rows.clock()
        found = (row.id for row in self._pending([queue], None) if self._is_due(row, now))
        return list(islice(found, limit))

    def claimable(
        self,
        queues: Collection[str],
        *,
        run_id: RunId | None = None,
        above: int | None = None,
        limit: int = 1,
    ) -> Sequence[Dispatchable]:
        """Return the activations that can be claimed now, the best first."""
        if self._is_full():
            return []
        now = self._rows.clock()
        found = (
            row
            for row in self._pending(queues, run_id)
            if (above is None or row.priority > above) and self._may_run(row, now)
        )
        return [self._dispatchable(row) for row in islice(found, limit)]

    def extend(self, leases: Sequence[Lease], lease_s: float) -> Sequence[LeaseState]:
        """Extend leases; return the state of each, in order."""
        return [self._extend(lease, self._rows.clock() + lease_s) for lease in leases]

    def settle(self, lease: Lease, settled: Settled) -> bool:
        """Write the new state of a claimed activation."""
        row = self._held(lease)
        if row is None:
            return False
        now = self._rows.clock()
        row = _settled(row, settled)
        if row.status is ActivationStatus.WAITING and not self._adopt(row):
            row = as_pending(row, now)
        elif row.status is ActivationStatus.PENDING:
            row = as_pending(row, now + settled.delay_s)
            if settled.to_the_end:
                row = replace(row, began_at=now)
        elif not row.status.is_open:
            row = replace(row, finished_at=now)
        self._rows.activations.put(row.id, row)
        if not row.status.is_open:
            go_on_after(self._rows, row.id, skips_rest=settled.skips_rest)
        return True

    def keep_effect(self, lease: Lease, origin: str, key: str, text: str) -> bool:
        """Record the result of a call that must not be repeated; the first record stays."""
        if self._held(lease) is None:
            return False
        effect = Effect(lease.id.run_id, origin, key, text)
        if self._rows.effects.get(effect[:3]) is None:
            self._rows.effects.put(effect[:3], effect)
        return True

    def effects(self, run_id: RunId, origin: str) -> Mapping[str, str]:
        """Return the recorded results of calls, by key."""
        return {effect.key: effect.text for effect in self._rows.effects.listed("origin", run_id, origin)}

    def has_open(self, run_id: RunId, superstep: int) -> bool:
        """Whether a superstep still waits for an activation."""
        return self._rows.activations.count("open", run_id, superstep) > 0

    def outcomes(self, run_id: RunId, superstep: int) -> Sequence[ActivationOutcome]:
        """Return the closed activations of a superstep, in planner order."""
        return [
            ActivationOutcome(id=row.id, status=row.status, result=row.result, progress=row.progress)
            for row in self._rows.activations.listed("superstep", run_id, superstep)
            if not row.status.is_open
        ]

    def activation(self, activation_id: ActivationId, *, lock: bool = False) -> ActivationRow | None:  # noqa: ARG002 - one transaction at a time
        """Return an activation."""
        return self._rows.activations.get(activation_id)

    def list_activations(
        self,
        *,
        run_id: RunId | None = None,
        statuses: Collection[ActivationStatus] | None = None,
        limit: int = 1000,
    ) -> Sequence[ActivationRow]:
        """Return activations: the newest superstep first, in planner order within it."""
        table = self._rows.activations
        listed = (
            sorted(table.newest_first(), key=_listed_at) if run_id is None else table.listed("run", run_id)
        )
        return list(islice((row for row in listed if statuses is None or row.status in statuses), limit))

    def expired(self, limit: int = 100) -> Sequence[ActivationRow]:
        """Return running activations whose lease has ended, the earliest end first."""
        now = self._rows.clock()
        running = self._rows.activations.listed("running")
        return list(islice(takewhile(lambda row: _is_past(row.lease_until, now), running), limit))

    def retry(self, activation_id: ActivationId) -> bool:
        """Run an activation again that waits for a person."""
        row = self.activation(activation_id)
        if row is None or row.status is not ActivationStatus.REVIEW:
            return False
        self._rows.activations.put(row.id, as_pending(row, self._rows.clock()))
        return True

    def mark_dispatched(self, ids: Collection[ActivationId], *, is_dispatched: bool = True) -> None:
        """Record that activations were dispatched now, or must be dispatched again."""
        now = self._rows.clock() if is_dispatched else None
        for activation_id in ids:
            if row := self.activation(activation_id):
                self._rows.activations.put(row.id, replace(row, dispatched_at=now))

    def undispatched(self, *, older_than_s: float, limit: int = 100) -> Sequence[Dispatchable]:
        """Return due activations that were not dispatched for that time, the best first; no paused runs."""
        now = self._rows.clock()
        found = (
            row
            for row in self._rows.activations.listed("pending")
            if _is_past(row.dispatched_at, now - older_than_s) and self._is_due(row, now)
        )
        return [self._dispatchable(row) for row in islice(found, limit)]

    def _held(self, lease: Lease) -> ActivationRow | None:
        row = self.activation(lease.id)
        is_held = row is not None and row.status is ActivationStatus.RUNNING and row.fence == lease.fence
        return row if is_held else None

    def _extend(self, lease: Lease, lease_until: float) -> LeaseState:
        row = self._held(lease)
        if row is None:
            return LeaseState.LOST
        self._rows.activations.put(row.id, replace(row, lease_until=lease_until))
        return LeaseState.HELD if self._run_of(row).cancel_at is None else LeaseState.CANCELLED

    def _adopt(self, row: ActivationRow) -> bool:
        """Make an activation the parent of the run it waits for; return whether that run is running."""
        child = None if row.waits_for is None else self._rows.runs.get(row.waits_for)
        if child is None:
            return False
        self._rows.runs.put(child.run_id, replace(child, parent=row.id))
        return child.status is RunStatus.RUNNING

    def _pending(self, queues: Collection[str], run_id: RunId | None) -> Iterable[ActivationRow]:
        table = self._rows.activations
        if run_id is not None:
            return (row for row in table.listed("pending of run", run_id) if row.queue in queues)
        return merge(*(table.listed("pending of queue", queue) for queue in set(queues)), key=rank)

    def _is_full(self) -> bool:
        limit = self._rows.max_running
        return limit is not None and self._rows.activations.count("running") >= limit

    def _may_run(self, row: ActivationRow, now: float) -> bool:
        limit = self._run_of(row).max_parallel
        has_room = limit is None or self._rows.activations.count("running of run", row.id.run_id) < limit
        return has_room and self._is_due(row, now)

    def _is_due(self, row: ActivationRow, now: float) -> bool:
        # A pending activation is in the current superstep of its run: every other step skips it.
        run = self._run_of(row)
        is_pending = row.status is ActivationStatus.PENDING and row.not_before <= now
        return is_pending and not run.is_paused and run.cancel_at is None

    def _dispatchable(self, row: ActivationRow) -> Dispatchable:
        return Dispatchable(
            id=row.id,
            queue=row.queue,
            priority=row.priority,
            workflow=self._run_of(row).workflow,
            fence=row.fence,
            not_before=row.not_before,
        )

    def _run_of(self, row: ActivationRow) -> RunRow:
        return self._rows.runs[row.id.run_id]


def _settled(row: ActivationRow, settled: Settled) -> ActivationRow:
    return replace(
        row,
        status=settled.status,
        lease_until=None,
        crashes=row.crashes + settled.is_crash,
        progress=row.progress if settled.progress is None else settled.progress,
        result=settled.result,
        note=settled.note,
        waits_for=settled.waits_for,
    )


def _claimed(row: ActivationRow, run: RunRow) -> Claimed:
    return Claimed(
        lease=Lease(row.id, row.fence),
        workflow=run.workflow,
        revision=run.revision,
        queue=row.queue,
        priority=row.priority,
        crashes=row.crashes,
        progress=row.progress,
        deadline=run.deadline,
        parent=run.parent,
        is_told=row.dispatched_at is not None,
    )


def _is_past(moment: float | None, now: float) -> bool:
    return moment is None or moment <= now


def _listed_at(row: ActivationRow) -> tuple[int, int]:
    return (-row.id.superstep, row.position)
