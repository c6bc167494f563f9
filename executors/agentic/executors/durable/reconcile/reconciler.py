"""Finds abandoned work and gives it to workers. Any number of reconcilers may run."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace

from agentic.core.audit import ENGINE, Decision, DecisionKind, decided
from agentic.core.graph.errors import CheckpointError, CheckpointNotFoundError
from agentic.core.graph.planning.planner import is_handled
from agentic.core.ledger import (
    ActivationRow,
    ActivationStatus,
    Dispatchable,
    Lease,
    LedgerTransaction,
    LedgerUnavailableError,
    RunRow,
    Settled,
)
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.executors.durable.errors import CrashedError, UnknownWorkflowError
from agentic.executors.durable.reconcile.advance import advance_run
from agentic.executors.durable.reconcile.deciding import GRACE_S
from agentic.executors.durable.runs.cutting_off import cut_off
from agentic.executors.durable.runs.encoding import write_result
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.preparing import prepare
from agentic.executors.durable.worker.process_names import is_gone, is_process
from agentic.executors.workers.stalling import Stalled

log = get_logger(__name__)

REDISPATCH_AFTER_S = 30.0
"""A worker notified of an activation this long ago will not claim it."""


@dataclass(slots=True, kw_only=True)
class Swept:
    """The result of a sweep.

    Attributes:
        expired: Claims whose worker is gone.
        dead: How many of them failed for good.
        reviews: How many of them await review.
        dispatched: Activations announced again.
        tended: Runs that got a decision.
    """

    expired: int = 0
    dead: int = 0
    reviews: int = 0
    dispatched: int = 0
    tended: int = 0

    def add(self, other: Swept) -> None:
        """Add the result of another sweep."""
        self.expired += other.expired
        self.dead += other.dead
        self.reviews += other.reviews
        self.dispatched += other.dispatched
        self.tended += other.tended

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.expired or self.dispatched or self.tended)


def _abandoned(ledger: LedgerTransaction) -> Sequence[ActivationRow]:
    """Return claims whose worker is gone: their lease ended, or it is known to have ended here."""
    running = ledger.list_activations(statuses=[ActivationStatus.RUNNING])
    found = [*ledger.expired(), *(row for row in running if row.worker is not None and is_gone(row.worker))]
    return list({row.id: row for row in found}.values())


def _crash_decisions(row: ActivationRow, settled: Settled) -> Sequence[Decision]:
    """Return the decisions after a crash; the run's events report a final failure."""
    kinds = {
        ActivationStatus.PENDING: (DecisionKind.ATTEMPT_RETRIED, "runs again, on another worker"),
        ActivationStatus.REVIEW: (DecisionKind.REVIEW_REQUESTED, "waits for a person to decide"),
    }
    if settled.status not in kinds:
        return ()
    kind, then = kinds[settled.status]
    decision = decided(
        kind,
        row.id.run_id,
        f"{row.id.executor_id} {then}",
        reason=settled.note or "",
        who=ENGINE,
        activation=str(row.id),
        crashes=row.crashes + 1,
    )
    return (decision,)


def _is_abandoned(row: ActivationRow, now: float) -> bool:
    has_ended = row.lease_until is not None and row.lease_until <= now
    is_running = row.status is ActivationStatus.RUNNING
    return has_ended or (is_running and row.worker is not None and is_gone(row.worker))


class Reconciler:
    """Sweeps the ledger.

    Args:
        host: The parts of this process.
        redispatch_after_s: After this time a notified worker counts as lost.
    """

    def __init__(self, host: RunHost, redispatch_after_s: float = REDISPATCH_AFTER_S) -> None:
        self._host = host
        self._redispatch_after_s = redispatch_after_s

    async def sweep(self) -> Swept:
        """Handle everything that no other process handles.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        swept = Swept()
        minds = self._host.me.minds
        for row in await self._host.ledger_executor.do(_abandoned):
            if minds(row.id.run_id):
                await self._apart(row.id.run_id, self._take_back(row, swept))
        neglected = await self._host.ledger_executor.do(
            lambda ledger: ledger.neglected_runs(cancel_grace_s=GRACE_S)
        )
        for run in neglected:
            if minds(run.run_id) and await self._apart(run.run_id, self._tend(run)):
                swept.tended += 1
        lost = await self._host.ledger_executor.do(self._lost)
        await self._host.spread(lost)
        swept.dispatched += len(lost)
        if not swept.is_empty:
            log.info("ledger.swept", expired=swept.expired, dispatched=swept.dispatched, tended=swept.tended)
        return swept

    async def _apart(self, run_id: RunId, work: Awaitable[object]) -> bool:
        """Do the work for one run; a run that cannot be read never stops the others."""
        try:
            await work
        except LedgerUnavailableError:
            raise
        except (CheckpointError, UnknownWorkflowError) as exc:
            log.warning("run.refused", run_id=run_id, reason=str(exc))
        except Exception as exc:
            log.warning("run.unreadable", run_id=run_id, reason=f"{type(exc).__name__}: {exc}", exc_info=exc)
        else:
            return True
        return False

    async def _tend(self, run: RunRow) -> None:
        """Decide about a run; a run to cancel ends without its code where the code is missing."""
        try:
            await advance_run(self._host, run.run_id)
        except (CheckpointError, UnknownWorkflowError):
            on_cut = self._host.on_cut
            is_over = run.cancel_at is not None and await self._host.ledger_executor.do(
                lambda ledger: cut_off(ledger, run.run_id, on_cut)
            )
            if not is_over:
                raise

    async def take_from(self, stalled: Stalled) -> None:
        """Take back the activations of a process that will be ended because its loop is stalled.

        The activation that blocks the loop counts a crash; the others do not, if it is known which one
        blocks it.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        running = await self._host.ledger_executor.do(
            lambda ledger: ledger.list_activations(statuses=[ActivationStatus.RUNNING])
        )
        own = [row for row in running if row.worker is not None and is_process(row.worker, stalled.pid)]
        guilty = [row for row in own if str(row.id) == stalled.activation] or own
        for row in own:
            reason = stalled.reason(row.id.executor_id)
            if row in guilty:
                settled = await self._after_crash(row, reason)
            else:
                settled = Settled(
                    status=ActivationStatus.PENDING, note="another activation blocked its process"
                )
            await self._settle(row, settled)

    async def _settle(self, row: ActivationRow, settled: Settled) -> None:
        def write(ledger: LedgerTransaction) -> bool:
            if not ledger.settle(Lease(row.id, row.fence), settled):
                return False
            if settled.is_crash:
                ledger.add_decisions(_crash_decisions(row, settled))
            return True

        if await self._host.ledger_executor.do(write):
            log.warning("activation.crashed", activation=str(row.id), reason=settled.note, worker=row.worker)

    def _lost(self, ledger: LedgerTransaction) -> Sequence[Dispatchable]:
        found = ledger.undispatched(older_than_s=self._redispatch_after_s)
        lost = [activation for activation in found if self._host.me.minds(activation.id.run_id)]
        if lost:
            ledger.mark_dispatched([activation.id for activation in lost])
        # They are due by the ledger's clock; a slow clock of this process must not delay them.
        return [replace(activation, not_before=0.0) for activation in lost]

    async def _take_back(self, row: ActivationRow, swept: Swept) -> None:
        """Take an activation back from a worker that is gone."""
        settled = await self._after_crash(row)
        lease = Lease(row.id, row.fence)

        def write(ledger: LedgerTransaction) -> bool:
            # It may have recovered since, and must not do so now.
            still = ledger.activation(row.id, lock=True)
            is_abandoned = still is not None and _is_abandoned(still, ledger.now())
            if not (is_abandoned and ledger.settle(lease, settled)):
                return False
            ledger.add_decisions(_crash_decisions(row, settled))
            return True

        if not await self._host.ledger_executor.do(write):
            return
        swept.expired += 1
        swept.dead += settled.status is ActivationStatus.DEAD
        swept.reviews += settled.status is ActivationStatus.REVIEW
        log.warning("activation.crashed", activation=str(row.id), worker=row.worker, then=str(settled.status))

    async def _after_crash(self, row: ActivationRow, reason: str | None = None) -> Settled:
        crashes = row.crashes + 1
        note = reason or f"its worker {row.worker} died"
        if row.on_crash == "review":
            return Settled(status=ActivationStatus.REVIEW, is_crash=True, note=note)
        if row.on_crash == "retry" and crashes <= row.max_crashes:
            return Settled(status=ActivationStatus.PENDING, is_crash=True, note=note)
        error = CrashedError(str(row.id), crashes, row.worker, reason)
        try:
            return await self._given_up(row, error)
        except (CheckpointError, UnknownWorkflowError) as exc:
            log.warning("run.refused", run_id=row.id.run_id, reason=str(exc))
            return Settled(status=ActivationStatus.REVIEW, is_crash=True, note=str(error))

    async def _given_up(self, row: ActivationRow, error: CrashedError) -> Settled:
        """Return the end of an activation that is not retried: a failure, which edges may take."""
        run = await self._host.ledger_executor.do(lambda ledger: ledger.run(row.id.run_id))
        if run is None:
            raise CheckpointNotFoundError(row.id.run_id, None)
        cached_run = await self._host.run_cache.get(run.run_id, run.workflow, run.revision)
        prepared = await prepare(self._host, cached_run, Lease(row.id, row.fence), row.progress)
        if prepared is None:
            return Settled(status=ActivationStatus.SKIPPED)
        result = await prepared.give_up(error)
        fails = not is_handled(cached_run.graph, cached_run.state, result)
        return Settled(
            status=ActivationStatus.DEAD,
            result=write_result(cached_run.workflow.codec, result),
            note=str(error),
            is_crash=True,
            skips_rest=fails and row.lanes == 1,
        )
