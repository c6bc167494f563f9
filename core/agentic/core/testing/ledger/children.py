"""The contract of every ledger for activations that wait for a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerStore, LedgerTransaction
from agentic.core.ledger.records import ActivationStatus
from agentic.core.testing.ledger.cases import (
    CHILD,
    CLAIMS_S,
    DONE,
    FIRST,
    OTHER,
    RUN,
    SECOND,
    WAITING,
    UsesLedger,
    claim,
    close,
    due,
    ended,
    in_one,
    is_about,
    named,
    new_run,
    row_of,
    run_of,
    step,
)
from agentic.core.testing.ledger.steps import STOPS


class LedgerChildrenContract(UsesLedger):
    """Activations that wait for a run."""

    @pytest.mark.parametrize("status", STOPS)
    def test_one_that_waits_for_a_run_goes_on_when_that_stops(
        self, ledger: LedgerTransaction, status: RunStatus
    ) -> None:
        self._wait(ledger)
        ledger.advance(CHILD, 0, 1, ended(status, run_id=CHILD))
        row = row_of(ledger)
        assert (row.status, row.waits_for) == (ActivationStatus.PENDING, None)
        assert is_about(row.not_before, ledger.now())
        assert [found.id for found in ledger.undispatched(older_than_s=60.0)] == [FIRST]
        assert claim(ledger).fence == 2

    def test_one_that_waits_for_a_run_waits_while_that_goes_on(self, ledger: LedgerTransaction) -> None:
        self._wait(ledger)
        before = row_of(ledger)
        assert ledger.advance(CHILD, 0, 1, step(2, 1, due(superstep=1, run_id=CHILD), run_id=CHILD))
        assert row_of(ledger) == before

    def test_one_that_no_longer_waits_is_left_alone(self, ledger: LedgerTransaction) -> None:
        self._wait(ledger)
        ledger.advance(CHILD, 0, 1, ended(RunStatus.WAITING_INPUT, run_id=CHILD))
        lease = claim(ledger)
        before = row_of(ledger)
        ledger.advance(CHILD, 0, 2, ended(revision=3, run_id=CHILD))
        assert row_of(ledger) == before
        assert ledger.settle(lease, DONE)

    def test_others_that_wait_are_left_alone(self, ledger: LedgerTransaction) -> None:
        self._wait(ledger)
        ledger.add_run(new_run(run_id=OTHER))
        ledger.advance(OTHER, 0, 1, ended(run_id=OTHER))
        assert row_of(ledger).status is ActivationStatus.WAITING

    @pytest.mark.parametrize("status", STOPS)
    def test_one_does_not_wait_for_a_run_that_does_not_run(
        self, ledger: LedgerTransaction, status: RunStatus
    ) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        ledger.add_run(replace(new_run(run_id=CHILD), parent=FIRST))
        ledger.advance(CHILD, 0, 1, ended(status, run_id=CHILD))
        assert ledger.settle(lease, WAITING)
        assert row_of(ledger).status is ActivationStatus.PENDING
        claim(ledger)

    def test_one_does_not_wait_for_a_run_that_is_not_there(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, WAITING)
        assert row_of(ledger).status is ActivationStatus.PENDING

    def test_one_that_waits_for_a_run_is_its_parent_from_then_on(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.add_run(replace(new_run(run_id=CHILD), parent=SECOND))
        close(ledger, FIRST, WAITING)
        assert run_of(ledger, CHILD).parent == FIRST
        claimed = ledger.claim(named(run_id=CHILD), "worker", CLAIMS_S)
        assert claimed is not None
        assert claimed.parent == FIRST

    def test_child_runs_that_have_not_ended_are_found_by_the_run_around_them(
        self, ledger: LedgerTransaction
    ) -> None:
        self._wait(ledger)
        ledger.add_run(replace(new_run(run_id=OTHER), parent=named(run_id=CHILD)))
        assert [run.run_id for run in ledger.children(RUN)] == [CHILD]
        assert [run.run_id for run in ledger.children(CHILD)] == [OTHER]
        ledger.advance(CHILD, 0, 1, ended(RunStatus.WAITING_INPUT, run_id=CHILD))
        assert [run.run_id for run in ledger.children(RUN)] == [CHILD]
        ledger.advance(CHILD, 0, 2, ended(revision=3, run_id=CHILD))
        assert not ledger.children(RUN)

    def test_a_run_and_the_wait_for_it_can_begin_together(self, store: LedgerStore) -> None:
        with store.transaction() as ledger:
            ledger.add_run(new_run())
            lease = claim(ledger)
            ledger.add_run(replace(new_run(run_id=CHILD), parent=FIRST))
            assert ledger.settle(lease, WAITING)
        assert in_one(store, row_of).status is ActivationStatus.WAITING

    def _wait(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.add_run(replace(new_run(run_id=CHILD), parent=FIRST))
        ledger.mark_dispatched([FIRST, named(run_id=CHILD)])
        close(ledger, FIRST, WAITING)
        assert row_of(ledger).waits_for == CHILD
