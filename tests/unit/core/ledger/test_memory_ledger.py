from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from types import FrameType

import pytest
from tests.clocks import Clock

from agentic.core.ledger import LedgerError, LedgerTransaction, MemoryLedger, NoDatabaseError
from agentic.core.testing import LedgerContract
from agentic.core.testing.ledger.cases import (
    DONE,
    FIRST,
    LATER,
    LONG_S,
    QUEUES,
    RUN,
    MakeStore,
    claim,
    close,
    due,
    each_alone,
    in_one,
    named,
    new_run,
    run_of,
    step,
)


class UndoneError(Exception):
    """Ends a transaction."""


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        return lambda max_running: MemoryLedger(max_running=max_running)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> LedgerTransaction:
    return each_alone(MemoryLedger(clock))


def test_one_that_has_to_wait_is_claimed_from_its_moment_on(ledger: LedgerTransaction, clock: Clock) -> None:
    ledger.add_run(new_run())
    close(ledger, FIRST, LATER)
    clock.now += LONG_S - 0.001
    assert ledger.claim(FIRST, "worker", 60.0) is None
    clock.now += 0.001
    assert ledger.claim(FIRST, "worker", 60.0) is not None


def test_a_lease_ends_at_its_moment(ledger: LedgerTransaction, clock: Clock) -> None:
    ledger.add_run(new_run())
    claim(ledger, lease_s=60.0)
    clock.now += 59.999
    assert not ledger.expired()
    clock.now += 0.001
    assert [row.id for row in ledger.expired()] == [FIRST]


def test_a_clock_that_went_back_disturbs_nothing(ledger: LedgerTransaction, clock: Clock) -> None:
    ledger.add_run(new_run(due(2)))
    lease = claim(ledger)
    clock.now -= LONG_S
    assert not ledger.expired()
    assert ledger.settle(lease, DONE)
    assert ledger.claim(named(1), "worker", 60.0) is None
    clock.now += LONG_S
    assert ledger.claim(named(1), "worker", 60.0) is not None


def test_a_transaction_within_a_transaction_is_refused() -> None:
    store = MemoryLedger()
    with store.transaction() as ledger:
        ledger.add_run(new_run())
        with pytest.raises(LedgerError, match="part\\(\\)"), store.transaction():
            pass
        ledger.note(RUN, "it goes on")
    assert in_one(store, run_of).note == "it goes on"


def test_functions_need_a_database(ledger: LedgerTransaction) -> None:
    with pytest.raises(NoDatabaseError, match="AGENTIC_DATABASE_URL"):
        ledger.apply([repr])


def test_work_on_one_run_costs_the_same_however_many_there_are() -> None:
    few, many = calls_of_a_run(among=20), calls_of_a_run(among=2_000)
    assert many == pytest.approx(few, rel=0.02)  # a dictionary may grow, or garbage be collected, meanwhile


def calls_of_a_run(among: int) -> int:
    """Return how many calls it takes to play a run among so many others, and to undo all of it."""
    store = MemoryLedger()
    others = each_alone(store)
    for number in range(among):
        name = f"run {number}"
        others.add_run(new_run(due(3, run_id=name), run_id=name))
        claim(others, named(run_id=name))
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        with suppress(UndoneError), store.transaction() as ledger:
            play(ledger)
            raise UndoneError
    finally:
        sys.setprofile(None)
    return count


def play(ledger: LedgerTransaction) -> None:
    ledger.add_run(replace(new_run(due(3, lanes=1)), priority=9, idempotency_key="key"))
    for shard in range(3):
        assert [found.id.shard for found in ledger.claimable(QUEUES)] == [shard]
        lease = claim(ledger, named(shard))
        ledger.extend([lease], 60.0)
        ledger.keep_effect(lease, "work.0.0", "key", "1")
        ledger.settle(lease, DONE)
    assert not ledger.has_open(RUN, 0)
    assert len(ledger.outcomes(RUN, 0)) == 3
    ledger.advance(RUN, 0, 1, step(2, 1, due(3, superstep=1), changes={"a": "1"}))
    assert ledger.changes_since(RUN, 1).changes == {"a": "1"}
    assert len(ledger.list_activations(run_id=RUN)) == 6
    assert not ledger.expired()
    assert not ledger.unpublished()
    assert [found.run_id for found in ledger.list_runs(limit=1)] == [RUN]
