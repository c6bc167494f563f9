"""The contract of every ledger for paused runs: their due activations must wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.ledger.records import ActivationStatus, Lease
from agentic.core.testing.ledger.cases import (
    CHILD,
    CLAIMS_S,
    DONE,
    FIRST,
    IN_REVIEW,
    OTHER,
    QUEUES,
    RELEASED,
    RUN,
    SECOND,
    WAITING,
    Act,
    UsesLedger,
    claim,
    close,
    due,
    ended,
    named,
    new_run,
    row_of,
    run_of,
    step,
)

Way = tuple[Act, Act]
"""The change before a run is held, and the change after it that makes its first activation pending."""


def _wait_for_child(ledger: LedgerTransaction) -> None:
    ledger.add_run(new_run(run_id=CHILD))
    close(ledger, FIRST, WAITING)


def _let_another_go_first(ledger: LedgerTransaction) -> None:
    """Write the step again: the first activation is blocked, and another one of its lane is claimed."""
    first, second = due(2, lanes=1)
    ledger.advance(RUN, 0, 1, step(2, 0, [replace(first, position=1), replace(second, position=0)]))
    claim(ledger, SECOND)


def _close_the_one_before(ledger: LedgerTransaction) -> None:
    assert ledger.settle(Lease(SECOND, row_of(ledger, SECOND).fence), DONE)


def _write_anew(ledger: LedgerTransaction) -> None:
    assert ledger.advance(RUN, 0, 1, step(2, 0, due()))


def _end_child(ledger: LedgerTransaction) -> None:
    assert ledger.advance(CHILD, 0, 1, ended(run_id=CHILD))


WAYS: Mapping[str, Way] = {
    "it was pending": (lambda _: None, lambda _: None),
    "it was given back": (claim, lambda ledger: ledger.settle(Lease(FIRST, 1), RELEASED)),
    "the one before it was closed": (_let_another_go_first, _close_the_one_before),
    "the run it waits for ended": (_wait_for_child, _end_child),
    "it waited in vain": (claim, lambda ledger: ledger.settle(Lease(FIRST, 1), WAITING)),
    "a person let it run again": (
        lambda ledger: close(ledger, FIRST, IN_REVIEW),
        lambda ledger: ledger.retry(FIRST),
    ),
    "its superstep began": (claim, _write_anew),
}

each_way = pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in WAYS.items()])


class LedgerPausesContract(UsesLedger):
    """Runs that are paused, or must be cancelled."""

    @each_way
    def test_what_becomes_due_in_a_paused_run_waits_until_it_goes_on(
        self, ledger: LedgerTransaction, way: Way
    ) -> None:
        ledger.add_run(new_run())
        before, after = way
        before(ledger)
        ledger.pause(RUN, is_paused=True)
        after(ledger)
        self._check_held_back(ledger)
        ledger.pause(RUN, is_paused=False)
        assert FIRST in {found.id for found in ledger.undispatched(older_than_s=0.0)}
        assert [found.id for found in ledger.claimable(QUEUES, run_id=RUN)] == [FIRST]
        claim(ledger)

    def test_workers_are_told_anew_of_what_a_pause_kept_back(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.mark_dispatched([FIRST])
        ledger.pause(RUN, is_paused=True)
        ledger.pause(RUN, is_paused=False)
        assert FIRST in {found.id for found in ledger.undispatched(older_than_s=1000.0)}

    @each_way
    def test_what_becomes_due_in_a_run_to_be_cancelled_is_not_begun(
        self, ledger: LedgerTransaction, way: Way
    ) -> None:
        ledger.add_run(new_run())
        before, after = way
        before(ledger)
        ledger.request_cancel(RUN, "a reason")
        after(ledger)
        self._check_held_back(ledger)

    def test_a_run_that_is_paused_and_to_be_cancelled_does_not_go_on_when_the_pause_ends(
        self, ledger: LedgerTransaction
    ) -> None:
        ledger.add_run(new_run())
        ledger.pause(RUN, is_paused=True)
        ledger.request_cancel(RUN, "a reason")
        ledger.pause(RUN, is_paused=False)
        self._check_held_back(ledger)

    def test_what_runs_in_a_paused_run_comes_to_its_end(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        ledger.pause(RUN, is_paused=True)
        assert [str(state) for state in ledger.extend([lease], CLAIMS_S)] == ["held"]
        assert ledger.settle(lease, DONE)

    def test_a_pause_of_one_run_keeps_back_nothing_of_others(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(), priority=9))
        ledger.add_run(new_run(run_id=OTHER))
        ledger.pause(RUN, is_paused=True)
        assert [found.id.run_id for found in ledger.claimable(QUEUES)] == [OTHER]
        claim(ledger, named(run_id=OTHER))

    @pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.CANCELLED])
    def test_a_run_that_goes_on_after_its_end_is_no_longer_held_back(
        self, ledger: LedgerTransaction, status: RunStatus
    ) -> None:
        ledger.add_run(new_run())
        ledger.pause(RUN, is_paused=True)
        ledger.request_cancel(RUN, "a reason")
        ledger.advance(RUN, 0, 1, ended(status))
        assert ledger.advance(RUN, 0, 2, step(3, 0, due()))
        assert not run_of(ledger).is_paused
        assert [found.id for found in ledger.claimable(QUEUES)] == [FIRST]
        claim(ledger)

    def _check_held_back(self, ledger: LedgerTransaction) -> None:
        assert row_of(ledger).status is ActivationStatus.PENDING
        assert not ledger.claimable(QUEUES, run_id=RUN)
        assert FIRST not in {found.id for found in ledger.undispatched(older_than_s=0.0)}
        assert ledger.claim(FIRST, "worker", CLAIMS_S) is None
