"""Activations of the ledger in SQL: claim, settle, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentic.core.ledger import (
    ActivationId,
    ActivationOutcome,
    ActivationRow,
    ActivationStatus,
    Claimed,
    Lease,
    LeaseState,
    Settled,
)
from agentic.core.types import RunId
from agentic.mappers.database.driver import Value, Values
from agentic.mappers.ledger import activation_statements as statements
from agentic.mappers.ledger.base import UsesCursor
from agentic.mappers.ledger.rows import FoundRun, activation_row
from agentic.mappers.ledger.run_statements import ADOPT
from agentic.mappers.ledger.steps import PENDING, NewRow

# Looked up once: reading an enum member costs as much as building a dict.
_PENDING = ActivationStatus.PENDING
_WAITING = ActivationStatus.WAITING
_RUNNING = str(ActivationStatus.RUNNING)


class SqlActivations(UsesCursor):
    """Implements the part of :class:`agentic.core.ledger.port.Activations` about known activations."""

    def claim(
        self, activation_id: ActivationId, worker: str, lease_s: float, *, waits: bool = True
    ) -> Claimed | None:
        """Claim an activation, if it may run now."""
        run = self._locked_run(activation_id.run_id) if waits else self._free_run(activation_id.run_id)
        if run is None or not run.may_run(activation_id.superstep):
            return None
        claim = {**self._key(activation_id), "worker": worker, "lease_s": lease_s}
        added = self._added.get(activation_id)
        if added is not None and not run.is_limited:
            return self._claim_added(run, activation_id, added, claim)
        if self._is_full(run, claim):
            return None
        found = self._activations.row(statements.CLAIM, claim)
        return None if found is None else run.claimed(activation_id, *found)

    def extend(self, leases: Sequence[Lease], lease_s: float) -> Sequence[LeaseState]:
        """Extend leases; return the state of each, in order."""
        if not leases:
            return []
        until = self.now() + lease_s
        # Always in one order: two transactions that lock the same rows never wait for each other.
        rows = [{**self._of_lease(lease), "lease_until": until} for lease in sorted(leases)]
        self._activations.run_each(statements.SET_LEASE, rows)
        found = self._activations.rows(statements.LEASES_UNTIL, self._of_project(lease_until=until))
        cancelled = {Lease(ActivationId(*row[:4]), row[4]): row[5] is not None for row in found}
        return [_state(cancelled.get(lease)) for lease in leases]

    def settle(self, lease: Lease, settled: Settled) -> bool:
        """Settle a claimed activation."""
        run_id = lease.id.run_id
        self._locked_run(run_id)
        status = settled.status
        if status is _WAITING and not self._runs(settled.waits_for):
            status = _PENDING
        settling = self._key(lease.id)
        settling["fence"] = lease.fence
        settling["status"] = str(status)
        settling["result"] = settled.result
        settling["progress"] = settled.progress
        settling["note"] = settled.note
        settling["waits_for"] = settled.waits_for
        settling["delay_s"] = settled.delay_s
        settling["to_the_end"] = settled.to_the_end
        settling["crash"] = int(settled.is_crash)
        statement = _STATEMENTS.get(status, statements.PARK)
        is_closed = statement is statements.CLOSE
        if is_closed and settled.result is settled.progress is settled.note is None:
            statement = statements.CLOSE_SILENTLY
        if not self._activations.run(statement, settling):
            return False
        if settled.waits_for is not None:
            self._adopt(lease.id, settled.waits_for)
        if is_closed:
            self._go_on_after(settling, lease.id, skips_rest=settled.skips_rest)
        return True

    def keep_effect(self, lease: Lease, origin: str, key: str, text: str) -> bool:
        """Record the result of a call that must not be repeated; the first record stays."""
        if not self._activations.number(statements.HAS_LEASE, self._of_lease(lease)):
            return False
        effect = self._of_project(run_id=lease.id.run_id, origin=origin, key=key, text=text)
        self._activations.run(statements.ADD_EFFECT, effect)
        return True

    def effects(self, run_id: RunId, origin: str) -> Mapping[str, str]:
        """Return the recorded results of calls, by key."""
        rows = self._activations.rows(statements.EFFECTS_OF, self._of_project(run_id=run_id, origin=origin))
        return dict(rows)

    def has_open(self, run_id: RunId, superstep: int) -> bool:
        """Whether a superstep still waits for an activation."""
        known = self._left_open.get((run_id, superstep))
        if known is not None:
            return known
        values = self._of_project(run_id=run_id, superstep=superstep)
        return bool(self._activations.number(statements.HAS_OPEN, values))

    def outcomes(self, run_id: RunId, superstep: int) -> Sequence[ActivationOutcome]:
        """Return the closed activations of a superstep, in planner order."""
        values = self._of_project(run_id=run_id, superstep=superstep)
        return [
            ActivationOutcome(
                id=ActivationId(run_id, superstep, executor_id, shard),
                status=ActivationStatus(status),
                result=result,
                progress=progress,
            )
            for executor_id, shard, status, result, progress in self._activations.rows(
                statements.OUTCOMES, values
            )
        ]

    def activation(self, activation_id: ActivationId, *, lock: bool = False) -> ActivationRow | None:
        """Return an activation."""
        statement = statements.LOCK_ACTIVATION if lock else statements.READ_ACTIVATION
        found = self._activations.row(statement, self._key(activation_id))
        return None if found is None else activation_row(found)

    def retry(self, activation_id: ActivationId) -> bool:
        """Retry an activation that waits for a person."""
        return self._activations.run(statements.RETRY, self._key(activation_id)) > 0

    def _of_lease(self, lease: Lease) -> dict[str, Value]:
        return {**self._key(lease.id), "fence": lease.fence}

    def _claim_added(
        self, run: FoundRun, activation_id: ActivationId, added: NewRow, claim: Values
    ) -> Claimed | None:
        """Claim an activation that is not written yet."""
        if added["status"] != PENDING:
            return None
        fence = int(added["fence"] or 0) + 1
        added.update(claim, status=_RUNNING, fence=fence)
        return run.claimed(activation_id, fence, str(added["queue"]), 0, None, None)

    def _go_on_after(self, key: Values, closed: ActivationId, *, skips_rest: bool) -> None:
        """Release the next activation of a lane, or skip the rest."""
        has_open, has_blocked = self._activations.row(statements.WHAT_IS_LEFT, key) or (False, False)
        if has_blocked and skips_rest:
            self._activations.run(statements.SKIP_BLOCKED, key)
            has_open = self._activations.number(statements.HAS_OPEN, key)
        elif has_blocked:
            self._activations.run(statements.RELEASE_BLOCKED, key)  # open before and after
        self._left_open[closed.run_id, closed.superstep] = bool(has_open)
        if not has_open:
            self._idle.add(closed.run_id)

    def _is_full(self, run: FoundRun, key: Values) -> bool:
        """Whether the run or the project is at its limit."""
        limits = (
            (run.max_parallel, statements.COUNT_RUNNING),
            (run.max_running, statements.COUNT_RUNNING_OF_PROJECT),
        )
        return any(
            limit is not None and not _has_room(limit, self._activations.number(count, key))
            for limit, count in limits
        )

    def _runs(self, child_id: RunId | None) -> bool:
        """Whether a child run exists and runs; if so, it keeps running until this transaction ends."""
        child = None if child_id is None else self._locked_run(child_id)
        return child is not None and child.status == _RUNNING

    def _adopt(self, activation_id: ActivationId, child_id: RunId) -> None:
        """Make an activation the parent of the run that it waits for."""
        parent = {f"parent_{name}": value for name, value in self._key(activation_id).items()}
        self._cursor.run(ADOPT, {**parent, **self._of_project(run_id=child_id)})
        self._locked.pop(child_id, None)


_STATEMENTS = {
    ActivationStatus.PENDING: statements.GIVE_BACK,
    ActivationStatus.DONE: statements.CLOSE,
    ActivationStatus.DEAD: statements.CLOSE,
    ActivationStatus.SKIPPED: statements.CLOSE,
}


def _state(is_cancelled: bool | None) -> LeaseState:
    if is_cancelled is None:
        return LeaseState.LOST
    return LeaseState.CANCELLED if is_cancelled else LeaseState.HELD


def _has_room(limit: object, running: int) -> bool:
    """Whether a limit allows one more; SQLite may store text in a number column: text allows none."""
    return isinstance(limit, int) and running < limit
