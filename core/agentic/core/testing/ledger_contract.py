"""The contract of every ledger."""

from __future__ import annotations

from agentic.core.testing.ledger.children import LedgerChildrenContract
from agentic.core.testing.ledger.claims import LedgerClaimableContract, LedgerClaimsContract
from agentic.core.testing.ledger.decisions import LedgerDecisionsContract
from agentic.core.testing.ledger.leases import (
    LedgerEffectsContract,
    LedgerLanesContract,
    LedgerLeasesContract,
    LedgerSettlingContract,
)
from agentic.core.testing.ledger.neglect import LedgerNeglectContract
from agentic.core.testing.ledger.order import LedgerOrderContract
from agentic.core.testing.ledger.pauses import LedgerPausesContract
from agentic.core.testing.ledger.runs import LedgerRunsContract
from agentic.core.testing.ledger.states import LedgerCheckpointsContract, LedgerEventsContract
from agentic.core.testing.ledger.steps import LedgerOutcomesContract, LedgerStepsContract
from agentic.core.testing.ledger.transactions import LedgerTransactionsContract


class LedgerContract(
    LedgerRunsContract,
    LedgerClaimsContract,
    LedgerClaimableContract,
    LedgerOrderContract,
    LedgerPausesContract,
    LedgerLeasesContract,
    LedgerSettlingContract,
    LedgerLanesContract,
    LedgerEffectsContract,
    LedgerStepsContract,
    LedgerOutcomesContract,
    LedgerChildrenContract,
    LedgerNeglectContract,
    LedgerCheckpointsContract,
    LedgerEventsContract,
    LedgerDecisionsContract,
    LedgerTransactionsContract,
):
    """Inherit from this and provide a fixture ``make_store``; every test is then run against the ledger.

    The fixture returns a function that creates an empty ledger. Its argument limits how many activations of
    the project run at a time. Each test calls it once; the fixture closes the ledger if necessary::

        class TestMyLedger(LedgerContract):
            @pytest.fixture
            def make_store(self) -> MakeStore:
                return lambda max_running: MyLedger(url, max_running=max_running)

    The clock must run normally: the tests do not step it, and treat about 20 s as now. Several threads use
    one ledger at once.
    """
