"""The ledger in SQL keeps to what every ledger does."""

from __future__ import annotations

import threading

import pytest
from tests.integration.mappers.ledgers import MakeLedger

from agentic.core.ledger import ActivationStatus, Lease, LeaseState, Settled
from agentic.core.testing import LedgerContract
from agentic.core.testing.ledger.cases import FIRST, claim, new_run
from agentic.mappers.ledger.ledger import SqlLedger

pytestmark = pytest.mark.integration


class TestSqlLedger(LedgerContract):
    @pytest.fixture
    def make_store(self, make_ledger: MakeLedger) -> MakeLedger:
        return make_ledger


def test_a_claim_that_is_taken_back_is_not_extended_meanwhile(make_ledger: MakeLedger) -> None:
    store = make_ledger(None)
    with store.transaction() as ledger:
        ledger.add_run(new_run())
        lease = claim(ledger, lease_s=-1.0)
    extended: list[LeaseState] = []
    heartbeat = threading.Thread(target=lambda: extended.extend(extend(store, lease)))

    with store.transaction() as ledger:
        row = ledger.activation(FIRST, lock=True)
        assert row is not None
        heartbeat.start()
        heartbeat.join(0.2)  # it waits
        assert heartbeat.is_alive()
        assert ledger.settle(lease, Settled(status=ActivationStatus.PENDING, is_crash=True))
    heartbeat.join()
    assert extended == [LeaseState.LOST]


def extend(store: SqlLedger, lease: Lease) -> list[LeaseState]:
    with store.transaction() as ledger:
        return list(ledger.extend([lease], 30.0))
