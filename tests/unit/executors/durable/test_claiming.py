"""Which activation a worker takes when a message tells it of one."""

from __future__ import annotations

from itertools import count

import pytest

from agentic.core.ledger import ActivationStatus, MemoryLedger, Settled
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.core.testing.ledger.cases import FIRST, claim, new_run
from agentic.executors.durable.worker.claiming import Claimant, claim_wanted

ME = Claimant(worker="me", queues=frozenset({DEFAULT_QUEUE}), lease_s=30.0)


@pytest.mark.parametrize("ticks_until_due", range(12))
def test_a_message_that_comes_a_moment_early_is_not_forgotten_when_the_moment_comes_meanwhile(
    ticks_until_due: int,
) -> None:
    ticks = count(1000)
    store = MemoryLedger(lambda: float(next(ticks)))
    with store.transaction() as ledger:
        ledger.add_run(new_run())
        again = Settled(status=ActivationStatus.PENDING, delay_s=float(ticks_until_due))
        ledger.settle(claim(ledger), again)
        assert claim_wanted(ledger, ME, FIRST) is not None
