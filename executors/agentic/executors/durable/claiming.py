"""Which activation a worker takes next. Everything here works inside a transaction of the caller."""

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
from agentic.core.types import RunId

_CANDIDATES = 5
"""Others may take the best ones first, or a limit may forbid them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who claims.

    Attributes:
        worker: Name of the process, for people.
        queues: What it works off.
        lease_s: How long a claim lasts unless it is extended.
        only: The one run it works on, with its child runs; None for any.
    """

    worker: str
    queues: frozenset[str]
    lease_s: float
    only: RunId | None = None

    def minds(self, run_id: RunId) -> bool:
        """Whether a run is one it works on."""
        return self.only is None or run_id == self.only or run_id.startswith(f"{self.only}/")


def claim_wanted(
    ledger: LedgerTransaction, me: Claimant, wanted: ActivationId
) -> Claimed | Dispatchable | None:
    """Claim what a message tells of, or one of a higher priority instead; if it is done, another of its run.

    Returns:
        The activation unclaimed, if the message came too early, as clocks differ. None when there is nothing
        to do.
    """
    row = ledger.activation(wanted)
    if row is None:
        return None
    # Asked before the claim: the moment may come in between, and nobody else would be told of it.
    is_early = row.status is ActivationStatus.PENDING and row.not_before > ledger.now()
    claimed = claim_above(ledger, me, row.priority) or ledger.claim(wanted, me.worker, me.lease_s)
    if claimed is None and not row.status.is_open:
        # Whoever was quicker took it; there may be others of that superstep.
        claimed = claim_of_run(ledger, me, wanted.run_id, row.priority)
    run = ledger.run(wanted.run_id) if claimed is None and is_early else None
    return claimed if run is None else dispatchable_of(row, run.workflow)


def dispatchable_of(row: ActivationRow, workflow: str) -> Dispatchable:
    """Return what workers are told of an activation."""
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
    """Claim the best activation there is."""
    return _claim_first(ledger, me, ledger.claimable(me.queues, limit=_CANDIDATES))


def claim_of_run(ledger: LedgerTransaction, me: Claimant, run_id: RunId, priority: int) -> Claimed | None:
    """Claim one of a run, or one of a higher priority instead."""
    higher = claim_above(ledger, me, priority)
    if higher is not None:
        return higher
    return _claim_first(ledger, me, ledger.claimable(me.queues, run_id=run_id, limit=_CANDIDATES))


def claim_new(
    ledger: LedgerTransaction, me: Claimant, new: Sequence[NewActivation], priority: int
) -> Claimed | None:
    """Claim one of those that were just added, or one of a higher priority instead."""
    higher = claim_above(ledger, me, priority)
    if higher is not None:
        return higher
    fitting = (
        activation for activation in new if activation.queue in me.queues and activation.result is None
    )
    first = next(fitting, None)
    return None if first is None else ledger.claim(first.id, me.worker, me.lease_s)


def _claim_first(
    ledger: LedgerTransaction, me: Claimant, candidates: Sequence[Dispatchable]
) -> Claimed | None:
    for candidate in candidates:
        claimed = ledger.claim(candidate.id, me.worker, me.lease_s)
        if claimed is not None:
            return claimed
    return None
