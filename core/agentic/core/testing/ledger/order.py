"""The contract of every ledger for order: the run that began first goes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.ledger.records import (
    DEFAULT_QUEUE,
    MAX_PRIORITY,
    ActivationId,
    ActivationStatus,
)
from agentic.core.testing.ledger.cases import (
    CHILD,
    CLAIMS_S,
    DONE,
    FIRST,
    IN_REVIEW,
    LATER,
    OTHER,
    QUEUES,
    RELEASED,
    RUN,
    SECOND,
    WAITING,
    MakeStore,
    UsesLedger,
    at_once,
    claim,
    close,
    due,
    each_alone,
    ended,
    in_one,
    named,
    new_run,
    next_moment,
    row_of,
    run_of,
    step,
)
from agentic.core.types import RunId

YOUNGER = named(run_id=OTHER)
IN_CHILD = named(run_id=CHILD)
NEXT = named(superstep=1)
SOON_S = 0.005


def begin_both(ledger: LedgerTransaction, first: int = 1, *, lanes: int = 1_000) -> None:
    """Accept a run, and a younger one."""
    ledger.add_run(new_run(due(first, lanes=lanes)))
    next_moment(ledger)
    ledger.add_run(new_run(run_id=OTHER))
    next_moment(ledger)


def in_line(ledger: LedgerTransaction, limit: int = 9) -> list[ActivationId]:
    """Return the queue; claimable activations have the same order."""
    found = list(ledger.first_in_line(DEFAULT_QUEUE, limit=limit))
    assert [one.id for one in ledger.claimable(QUEUES, limit=limit)] == found
    return found


def _advance(ledger: LedgerTransaction) -> ActivationId:
    close(ledger)
    ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
    return NEXT


def _give_back(ledger: LedgerTransaction) -> ActivationId:
    close(ledger, FIRST, RELEASED)
    return FIRST


def _try_again(ledger: LedgerTransaction) -> ActivationId:
    close(ledger, FIRST, replace(RELEASED, delay_s=SOON_S))
    until = ledger.now() + SOON_S
    while ledger.now() <= until:
        pass
    return FIRST


def _review(ledger: LedgerTransaction) -> ActivationId:
    close(ledger, FIRST, IN_REVIEW)
    ledger.retry(FIRST)
    return FIRST


def _begin_child(ledger: LedgerTransaction) -> ActivationId:
    ledger.add_run(replace(new_run(run_id=CHILD), parent=FIRST))
    close(ledger, FIRST, WAITING)
    return IN_CHILD


def _end_child(ledger: LedgerTransaction) -> ActivationId:
    _begin_child(ledger)
    close(ledger, IN_CHILD)
    ledger.advance(CHILD, 0, 1, ended(run_id=CHILD))
    return FIRST


def _pause(ledger: LedgerTransaction) -> ActivationId:
    ledger.pause(RUN, is_paused=True)
    assert in_line(ledger) == [YOUNGER]
    ledger.pause(RUN, is_paused=False)
    return FIRST


WAYS_ON: Mapping[str, Callable[[LedgerTransaction], ActivationId]] = {
    "its next superstep": _advance,
    "one that was given back": _give_back,
    "one that is retried": _try_again,
    "one that a person let run again": _review,
    "one of its child run": _begin_child,
    "one whose child run has ended": _end_child,
    "one of a run that was paused": _pause,
}


class LedgerOrderContract(UsesLedger):
    """The first activation of a queue."""

    @pytest.mark.parametrize("go_on", [pytest.param(act, id=name) for name, act in WAYS_ON.items()])
    def test_work_of_the_run_that_began_first_goes_first(
        self, ledger: LedgerTransaction, go_on: Callable[[LedgerTransaction], ActivationId]
    ) -> None:
        begin_both(ledger)
        older = go_on(ledger)
        assert in_line(ledger) == [older, YOUNGER]
        assert [one.id for one in ledger.undispatched(older_than_s=0.0)] == [older, YOUNGER]

    def test_the_next_of_a_lane_keeps_the_place_of_its_run(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger, 2, lanes=1)
        close(ledger)
        assert in_line(ledger) == [SECOND, YOUNGER]

    def test_a_superstep_that_was_begun_again_keeps_the_place_of_its_run(
        self, ledger: LedgerTransaction
    ) -> None:
        begin_both(ledger)
        ledger.advance(RUN, 0, 1, step(2, 0, due()))
        assert in_line(ledger) == [FIRST, YOUNGER]

    def test_a_higher_priority_goes_before_an_older_run(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger)
        urgent = RunId("urgent")
        ledger.add_run(replace(new_run(run_id=urgent), priority=MAX_PRIORITY))
        assert in_line(ledger) == [named(run_id=urgent), FIRST, YOUNGER]

    def test_what_is_not_due_yet_keeps_no_other_waiting(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger)
        close(ledger, FIRST, LATER)
        assert in_line(ledger, limit=1) == [YOUNGER]

    @pytest.mark.parametrize("has_others", [False, True], ids=["alone", "beside others"])
    def test_what_has_become_due_can_be_claimed_though_nobody_looked_at_the_line(
        self, ledger: LedgerTransaction, has_others: bool
    ) -> None:
        begin_both(ledger)
        if not has_others:
            claim(ledger, YOUNGER)
        older = _try_again(ledger)
        assert [one.id for one in ledger.claimable(QUEUES)] == [older]

    def test_what_is_not_due_yet_is_not_in_line_when_its_run_was_paused_meanwhile(
        self, ledger: LedgerTransaction
    ) -> None:
        begin_both(ledger)
        close(ledger, FIRST, LATER)
        for is_paused in (True, False):
            ledger.pause(RUN, is_paused=is_paused)
        assert in_line(ledger) == [YOUNGER]

    def test_what_no_worker_here_can_run_goes_to_the_end(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger)
        close(ledger, FIRST, replace(RELEASED, to_the_end=True))
        assert in_line(ledger) == [YOUNGER, FIRST]
        close(ledger)
        ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
        assert in_line(ledger) == [NEXT, YOUNGER]

    def test_of_other_queues_nothing_is_in_line(self, ledger: LedgerTransaction) -> None:
        (elsewhere,) = due()
        ledger.add_run(new_run([replace(elsewhere, queue="agentic.browser")]))
        assert in_line(ledger) == []
        assert list(ledger.first_in_line("agentic.browser")) == [FIRST]

    def test_no_more_than_asked_for_is_told(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger, 5)
        assert in_line(ledger, limit=3) == [FIRST, SECOND, named(2)]

    def test_what_is_claimed_or_has_ended_is_not_in_line(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger, 2)
        claim(ledger, FIRST)
        assert in_line(ledger) == [SECOND, YOUNGER]
        ledger.advance(RUN, 0, 1, ended())
        assert in_line(ledger) == [YOUNGER]

    def test_a_run_knows_when_the_outermost_one_around_it_began(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger)
        _begin_child(ledger)
        below = RunId(f"{CHILD}/work.0.0")
        ledger.add_run(replace(new_run(run_id=below), parent=IN_CHILD))
        began_at = run_of(ledger).began_at
        assert began_at == run_of(ledger).created_at
        assert run_of(ledger, CHILD).began_at == run_of(ledger, below).began_at == began_at
        assert run_of(ledger, OTHER).began_at > began_at

    def test_a_claim_says_whether_a_message_is_under_way(self, ledger: LedgerTransaction) -> None:
        begin_both(ledger)
        ledger.mark_dispatched([YOUNGER])
        told = {
            one: (ledger.claim(one, "worker", CLAIMS_S), row_of(ledger, one).dispatched_at)
            for one in (FIRST, YOUNGER)
        }
        assert [claimed and claimed.is_told for claimed, _ in told.values()] == [False, True]

    def test_of_those_who_do_not_wait_for_each_other_one_claims(self, make_store: MakeStore) -> None:
        store = make_store(None)
        ledger = each_alone(store)
        begin_both(ledger, 3)
        got = at_once(
            4,
            lambda rival: in_one(store, lambda one: one.claim(FIRST, f"{rival}", CLAIMS_S, waits=False)),
        )
        assert len([claimed for claimed in got if claimed is not None]) == 1
        assert row_of(ledger).status is ActivationStatus.RUNNING

    def test_runs_end_in_the_order_they_began_whoever_claims_the_first_in_line(
        self, ledger: LedgerTransaction
    ) -> None:
        runs = [RunId(f"run-{number}") for number in (3, 1, 2)]
        for run_id in runs:
            ledger.add_run(new_run(run_id=run_id))
            next_moment(ledger)
        assert _ends(ledger) == runs


def _ends(ledger: LedgerTransaction, supersteps: int = 3) -> Sequence[RunId]:
    """Close the first in line until the queue is empty; return the runs in the order of their ends."""
    found: list[RunId] = []
    while first := ledger.first_in_line(DEFAULT_QUEUE):
        (one,) = first
        close(ledger, one, DONE)
        run = run_of(ledger, one.run_id)
        if (following := run.superstep + 1) < supersteps:
            new = due(superstep=following, run_id=run.run_id)
            decided = step(run.revision + 1, following, new, run_id=run.run_id)
        else:
            decided = step(run.revision + 1, run.superstep, run_id=run.run_id, status=RunStatus.COMPLETED)
            found.append(run.run_id)
        assert ledger.advance(run.run_id, run.superstep, run.revision, decided)
    return found
