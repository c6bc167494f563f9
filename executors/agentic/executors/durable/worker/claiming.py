"""Chooses a worker's next activation. Everything here works inside a transaction of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.core.ledger import (
    ActivationId,
    ActivationRow,
    ActivationStatus,
    Claimed,
    Dispatchable,
    LedgerTransaction,
    NewActivation,
)
from agentic.core.records import record
from agentic.core.types import RunId

_CANDIDATES = 8
"""Other workers may claim the best ones first, or a limit may forbid them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """A worker that claims activations.

    Attributes:
        worker: Readable name of the process.
        queues: The queues it works on.
        lease_s: How long a claim lasts unless it is extended.
        only: The one run it works on, with its child runs; None for any.
    """

    worker: str
    queues: frozenset[str]
    lease_s: float
    only: RunId | None = None

    def minds(self, run_id: RunId) -> bool:
        """Whether it works on a run."""
        return self.only is None or run_id == self.only or run_id.startswith(f"{self.only}/")


@record
class Taken:
    """The result of a message.

    Attributes:
        claimed: The activation to do.
        others: Activations to announce, because the message was the only one for them.
    """

    claimed: Claimed | None = None
    others: Sequence[Dispatchable] = ()


def claim_wanted(ledger: LedgerTransaction, me: Claimant, wanted: ActivationId) -> Taken:
    """Claim the first activation in a message's queue: a message only calls for work, whatever it names.

    Brokers deliver in the order of sending, so that all runs would begin before the first one ends. A message
    that comes too early, because clocks differ, is sent once more.
    """
    row = ledger.activation(wanted)
    if row is None:
        return Taken()
    is_pending = row.status is ActivationStatus.PENDING
    if is_pending and row.not_before > ledger.now():
        return Taken(others=_told_again(ledger, row))
    claimed = _claim_for(ledger, me, row)
    if claimed is None and not row.status.is_open:
        # A quicker worker took it; there may be others of that superstep.
        claimed = claim_of_run(ledger, me, wanted.run_id, row.priority)
    if claimed is None or not is_pending or claimed.lease.id == wanted:
        return Taken(claimed)
    # A message for the other one, if it comes to this queue, will bring a worker to this one.
    has_message = claimed.is_told and claimed.queue == row.queue
    return Taken(claimed, () if has_message else _told_again(ledger, row))


def _claim_for(ledger: LedgerTransaction, me: Claimant, row: ActivationRow) -> Claimed | None:
    """Claim the first activation for a message that names ``row``."""
    if me.only is not None:
        return ledger.claim(row.id, me.worker, me.lease_s)
    higher = claim_above(ledger, me, row.priority) if len(me.queues) > 1 else None
    return higher or _claim_in_line(ledger, me, row.queue) or ledger.claim(row.id, me.worker, me.lease_s)


def _claim_in_line(ledger: LedgerTransaction, me: Claimant, queue: str) -> Claimed | None:
    """Claim the first activation in a queue."""
    refused: set[RunId] = set()
    for one in ledger.first_in_line(queue, limit=_CANDIDATES):
        if one.run_id not in refused:
            # Others look at the same rows now: waiting for them would make all claims sequential.
            claimed = ledger.claim(one, me.worker, me.lease_s, waits=False)
            if claimed is not None:
                return claimed
            refused.add(one.run_id)
    if not refused:
        return None
    return _claim_first(ledger, me, ledger.claimable([queue], limit=_CANDIDATES))


def _told_again(ledger: LedgerTransaction, row: ActivationRow) -> list[Dispatchable]:
    run = ledger.run(row.id.run_id)
    found = [] if run is None else [dispatchable_of(row, run.workflow)]
    ledger.mark_dispatched([one.id for one in found])
    return found


def dispatchable_of(row: ActivationRow, workflow: str) -> Dispatchable:
    """Return the announcement of an activation."""
    return Dispatchable(
        id=row.id,
        queue=row.queue,
        priority=row.priority,
        workflow=workflow,
        fence=row.fence,
        not_before=row.not_before,
    )


def claim_above(ledger: LedgerTransaction, me: Claimant, priority: int) -> Claimed | None:
    """Claim the best activation of a higher priority, if there is one."""
    if me.only is not None:
        return None
    return _claim_first(ledger, me, ledger.claimable(me.queues, above=priority, limit=_CANDIDATES))


def claim_any(ledger: LedgerTransaction, me: Claimant) -> Claimed | None:
    """Claim the best available activation."""
    return _claim_best(ledger, me)


def claim_of_run(ledger: LedgerTransaction, me: Claimant, run_id: RunId, priority: int) -> Claimed | None:
    """Claim an activation of a run, or one with a higher priority."""
    higher = claim_above(ledger, me, priority)
    if higher is not None:
        return higher
    return _claim_best(ledger, me, run_id)


def claim_parent(ledger: LedgerTransaction, me: Claimant, parent: ActivationRow) -> Claimed | None:
    """Claim the activation that waited for a child run, unless a higher priority goes first.

    Never waits: a decision about the parent run locks the parent first, and then its child runs.
    """
    is_mine = parent.queue in me.queues and me.minds(parent.id.run_id)
    if not is_mine or parent.status is not ActivationStatus.PENDING:
        return None
    higher = claim_above(ledger, me, parent.priority)
    return higher or ledger.claim(parent.id, me.worker, me.lease_s, waits=False)


def claim_new(
    ledger: LedgerTransaction, me: Claimant, new: Sequence[NewActivation], priority: int
) -> Claimed | None:
    """Claim one of the activations just added, or one with a higher priority."""
    higher = claim_above(ledger, me, priority)
    if higher is not None:
        return higher
    fitting = (
        activation for activation in new if activation.queue in me.queues and activation.result is None
    )
    first = next(fitting, None)
    return None if first is None else ledger.claim(first.id, me.worker, me.lease_s)


def _claim_best(ledger: LedgerTransaction, me: Claimant, run_id: RunId | None = None) -> Claimed | None:
    # The first one is usually free, and each further one is another row to join and read.
    for limit in (1, _CANDIDATES):
        found = ledger.claimable(me.queues, run_id=run_id, limit=limit)
        claimed = _claim_first(ledger, me, found)
        if claimed is not None or len(found) < limit:
            return claimed
    return None


def _claim_first(
    ledger: LedgerTransaction, me: Claimant, candidates: Sequence[Dispatchable]
) -> Claimed | None:
    for candidate in candidates:
        claimed = ledger.claim(candidate.id, me.worker, me.lease_s)
        if claimed is not None:
            return claimed
    return None
