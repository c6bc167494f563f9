"""The ledger: the record of all runs, written before anything else happens, and the ledger in memory.

A :class:`LedgerStore` keeps the runs of a project, their activations, newest checkpoints and durable events.
A worker claims an activation in the ledger, and writes its result in one transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.ledger.errors import (
        CorruptRunError,
        LedgerConflictError,
        LedgerError,
        LedgerUnavailableError,
        NoDatabaseError,
        RunExistsError,
        UnknownRunError,
    )
    from agentic.core.ledger.memory import MemoryLedger
    from agentic.core.ledger.port import LedgerStore, LedgerTransaction, OnCommit
    from agentic.core.ledger.records import (
        ActivationId,
        ActivationOutcome,
        ActivationRow,
        ActivationStatus,
        Claimed,
        Dispatchable,
        EventBatch,
        Lease,
        LeaseState,
        LedgerStep,
        NewActivation,
        NewRun,
        RunRow,
        Settled,
        StateChanges,
    )

__all__ = [
    "ActivationId",
    "ActivationOutcome",
    "ActivationRow",
    "ActivationStatus",
    "Claimed",
    "CorruptRunError",
    "Dispatchable",
    "EventBatch",
    "Lease",
    "LeaseState",
    "LedgerConflictError",
    "LedgerError",
    "LedgerStep",
    "LedgerStore",
    "LedgerTransaction",
    "LedgerUnavailableError",
    "MemoryLedger",
    "NewActivation",
    "NewRun",
    "NoDatabaseError",
    "OnCommit",
    "RunExistsError",
    "RunRow",
    "Settled",
    "StateChanges",
    "UnknownRunError",
]

_HOMES = {
    "ActivationId": "records",
    "ActivationOutcome": "records",
    "ActivationRow": "records",
    "ActivationStatus": "records",
    "Claimed": "records",
    "CorruptRunError": "errors",
    "Dispatchable": "records",
    "EventBatch": "records",
    "Lease": "records",
    "LeaseState": "records",
    "LedgerConflictError": "errors",
    "LedgerError": "errors",
    "LedgerStore": "port",
    "LedgerTransaction": "port",
    "LedgerUnavailableError": "errors",
    "MemoryLedger": "memory",
    "NewActivation": "records",
    "NewRun": "records",
    "NoDatabaseError": "errors",
    "OnCommit": "port",
    "RunExistsError": "errors",
    "RunRow": "records",
    "Settled": "records",
    "StateChanges": "records",
    "LedgerStep": "records",
    "UnknownRunError": "errors",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name: loading all modules would delay every command.
    return loaded(__name__, _HOMES, name)
