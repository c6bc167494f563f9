"""The contract of every ledger for claims and claimable activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.ledger.records import (
    DEFAULT_QUEUE,
    ActivationId,
    ActivationStatus,
    Claimed,
    Dispatchable,
    Lease,
    Settled,
)
from agentic.core.testing.ledger.cases import (
    CHILD,
    CLAIMS_S,
    DONE,
    FIRST,
    IN_REVIEW,
    LATER,
    MANY,
    OTHER,
    QUEUES,
    RELEASED,
    RUN,
    SECOND,
    WAITING,
    Act,
    MakeStore,
    UsesLedger,
    at_once,
    claim,
    close,
    due,
    each_alone,
    ended,
    is_about,
    named,
    new_run,
    row_of,
    step,
)
from agentic.core.types import RunId


def _fill_run(ledger: LedgerTransaction) -> None:
    for shard in (1, 2):
        claim(ledger, named(shard))


def _wait_for_child(ledger: LedgerTransaction) -> None:
    ledger.add_run(new_run(run_id=CHILD))
    close(ledger, FIRST, WAITING)


# Obstacles for the claim of a run's first activation; the run has three, and two may run at a time.
HINDRANCES: Mapping[str, Act] = {
    "it is claimed": claim,
    "its lease has ended": lambda ledger: claim(ledger, lease_s=-1.0),
    "it is not due yet": lambda ledger: close(ledger, FIRST, LATER),
    "it is done": close,
    "it failed for good": lambda ledger: close(ledger, FIRST, Settled(status=ActivationStatus.DEAD)),
    "it was skipped": lambda ledger: close(ledger, FIRST, Settled(status=ActivationStatus.SKIPPED)),
    "it waits for a person": lambda ledger: close(ledger, FIRST, IN_REVIEW),
    "it waits for a child run": _wait_for_child,
    "its run is paused": lambda ledger: ledger.pause(RUN, is_paused=True),
    "its run is to be cancelled": lambda ledger: ledger.request_cancel(RUN, "a reason"),
    "its run has ended": lambda ledger: ledger.advance(RUN, 0, 1, ended()),
    "its run rests": lambda ledger: ledger.advance(RUN, 0, 1, ended(RunStatus.WAITING_INPUT)),
    "its run is at another superstep": lambda ledger: ledger.advance(RUN, 0, 1, step(2, 1)),
}
FULL: Mapping[str, Act] = {"enough of its run are running": _fill_run}

each_hindrance = pytest.mark.parametrize(
    "hinder", [pytest.param(act, id=name) for name, act in {**HINDRANCES, **FULL}.items()]
)


class LedgerClaimsContract(UsesLedger):
    """Claims of activations."""

    def test_a_claim_tells_what_there_is_to_know(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(run_id=OTHER))
        parent = named(run_id=OTHER)
        first = replace(new_run().step, deadline=2e9 + 0.25)
        ledger.add_run(replace(new_run(), step=first, priority=4, parent=parent))
        assert ledger.claim(FIRST, "worker", CLAIMS_S) == Claimed(
            lease=Lease(FIRST, 1),
            workflow="flow",
            revision=1,
            queue=DEFAULT_QUEUE,
            priority=4,
            deadline=2e9 + 0.25,
            parent=parent,
        )

    def test_a_claimed_activation_runs_until_its_lease_ends(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        claim(ledger)
        row = row_of(ledger)
        assert (row.status, row.worker, row.fence) == (ActivationStatus.RUNNING, "worker", 1)
        assert is_about(row.lease_until, ledger.now() + CLAIMS_S)
        assert is_about(row.started_at, ledger.now())

    def test_a_claim_tells_of_the_newest_checkpoint(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger)
        ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
        claimed = ledger.claim(named(superstep=1), "worker", CLAIMS_S)
        assert claimed is not None
        assert claimed.revision == 2

    def test_the_fence_grows_with_every_claim(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        fences = []
        for _ in range(4):
            lease = claim(ledger)
            fences.append(lease.fence)
            ledger.settle(lease, RELEASED)
        assert fences == [1, 2, 3, 4]
        assert row_of(ledger).fence == 4

    def test_an_activation_has_begun_with_its_first_claim(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, RELEASED)
        before = row_of(ledger).started_at
        claim(ledger)
        assert before is not None
        assert row_of(ledger).started_at == before

    @each_hindrance
    def test_what_may_not_run_is_not_claimed(self, ledger: LedgerTransaction, hinder: Act) -> None:
        ledger.add_run(replace(new_run(due(3)), max_parallel=2))
        hinder(ledger)
        before = row_of(ledger)
        assert ledger.claim(FIRST, "another", CLAIMS_S) is None
        assert row_of(ledger) == before

    def test_one_that_is_blocked_is_not_claimed(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(2, lanes=1)))
        assert ledger.claim(SECOND, "worker", CLAIMS_S) is None

    def test_what_nobody_accepted_is_not_claimed(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        for unknown in (SECOND, named(superstep=1), named(executor="x"), named(run_id=OTHER)):
            assert ledger.claim(unknown, "worker", CLAIMS_S) is None
            assert ledger.activation(unknown) is None

    def test_one_that_is_due_again_is_claimed(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, replace(RELEASED, delay_s=-1.0))
        assert claim(ledger).fence == 2

    def test_a_run_that_was_paused_goes_on(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.pause(RUN, is_paused=True)
        ledger.pause(RUN, is_paused=False)
        claim(ledger)

    @pytest.mark.parametrize("settled", [DONE, RELEASED, LATER, IN_REVIEW, WAITING])
    def test_one_that_no_longer_runs_makes_room_in_its_run(
        self, ledger: LedgerTransaction, settled: Settled
    ) -> None:
        ledger.add_run(replace(new_run(due(2)), max_parallel=1))
        ledger.add_run(new_run(run_id=CHILD))
        lease = claim(ledger)
        assert ledger.claim(SECOND, "worker", CLAIMS_S) is None
        ledger.settle(lease, settled)
        claim(ledger, SECOND)

    def test_a_full_run_keeps_back_nothing_of_others(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(due(2)), max_parallel=1))
        ledger.add_run(replace(new_run(run_id=OTHER), max_parallel=1))
        claim(ledger)
        claim(ledger, named(run_id=OTHER))

    def test_a_project_has_a_limit_over_all_runs(self, make_store: MakeStore) -> None:
        ledger = each_alone(make_store(2))
        ledger.add_run(new_run(due(2)))
        ledger.add_run(new_run(run_id=OTHER))
        leases = [claim(ledger, FIRST), claim(ledger, named(run_id=OTHER))]
        assert ledger.claim(SECOND, "worker", CLAIMS_S) is None
        assert not ledger.claimable(QUEUES)
        ledger.settle(leases[1], DONE)
        assert [found.id for found in ledger.claimable(QUEUES)] == [SECOND]
        claim(ledger, SECOND)

    def test_of_many_that_claim_one_activation_at_once_one_gets_it(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(15)))
        for shard in range(15):
            assert len(self._claimed(ledger, [named(shard)] * 6)) == 1

    def test_a_runs_limit_holds_when_many_claim_at_once(self, ledger: LedgerTransaction) -> None:
        for number in range(10):
            run_id = RunId(f"run {number}")
            ledger.add_run(replace(new_run(due(6, run_id=run_id), run_id=run_id), max_parallel=2))
            assert len(self._claimed(ledger, [named(shard, run_id=run_id) for shard in range(6)])) in {1, 2}
            assert len(ledger.list_activations(run_id=run_id, statuses=[ActivationStatus.RUNNING])) <= 2

    def test_a_projects_limit_holds_when_many_claim_at_once(self, make_store: MakeStore) -> None:
        ledger = each_alone(make_store(2))
        for number in range(10):
            run_id = RunId(f"run {number}")
            ledger.add_run(new_run(due(6, run_id=run_id), run_id=run_id))
            leases = self._claimed(ledger, [named(shard, run_id=run_id) for shard in range(6)])
            assert len(leases) in {1, 2}
            for lease in leases:
                ledger.settle(lease, DONE)

    def _claimed(self, ledger: LedgerTransaction, wanted: Sequence[ActivationId]) -> list[Lease]:
        """Claim these at once; return the leases."""
        got = at_once(len(wanted), lambda rival: ledger.claim(wanted[rival], f"{rival}", CLAIMS_S))
        return [claimed.lease for claimed in got if claimed is not None]


class LedgerClaimableContract(UsesLedger):
    """Claimable activations, and their dispatch."""

    def test_what_could_be_claimed_is_told_with_all_that_a_message_needs(
        self, ledger: LedgerTransaction
    ) -> None:
        ledger.add_run(replace(new_run(), priority=3))
        close(ledger, FIRST, RELEASED)
        found = list(ledger.claimable(QUEUES))
        assert found == list(ledger.undispatched(older_than_s=0.0))
        assert is_about(found[0].not_before, ledger.now())
        assert found == [
            Dispatchable(
                id=FIRST,
                queue=DEFAULT_QUEUE,
                priority=3,
                workflow="flow",
                fence=1,
                not_before=row_of(ledger).not_before,
            )
        ]

    @each_hindrance
    def test_what_may_not_run_is_not_claimable(self, ledger: LedgerTransaction, hinder: Act) -> None:
        ledger.add_run(replace(new_run(due(3)), max_parallel=2))
        hinder(ledger)
        assert FIRST not in {found.id for found in ledger.claimable(QUEUES, limit=9)}
        assert FIRST not in {found.id for found in ledger.claimable(QUEUES, run_id=RUN, limit=9)}

    @pytest.mark.parametrize("hinder", [pytest.param(act, id=name) for name, act in HINDRANCES.items()])
    def test_nobody_is_to_be_told_of_what_may_not_run(self, ledger: LedgerTransaction, hinder: Act) -> None:
        ledger.add_run(new_run(due(3)))
        hinder(ledger)
        assert FIRST not in {found.id for found in ledger.undispatched(older_than_s=0.0)}

    def test_one_that_is_blocked_is_not_claimable(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3, lanes=1)))
        assert [found.id for found in ledger.claimable(QUEUES, limit=9)] == [FIRST]
        assert [found.id for found in ledger.undispatched(older_than_s=0.0)] == [FIRST]

    def test_the_highest_priority_goes_first(self, ledger: LedgerTransaction) -> None:
        for priority in (1, 9, 0, 5):
            ledger.add_run(replace(new_run(run_id=f"p{priority}"), priority=priority))
        found = list(ledger.claimable(QUEUES, limit=9))
        assert [one.priority for one in found] == [9, 5, 1, 0]
        assert [one.id.run_id for one in ledger.claimable(QUEUES)] == ["p9"]
        assert list(ledger.undispatched(older_than_s=0.0)) == found
        assert list(ledger.undispatched(older_than_s=0.0, limit=2)) == found[:2]

    def test_queues_are_kept_apart(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run([replace(one, queue=f"q{one.position}") for one in due(3)]))
        assert [found.id.shard for found in ledger.claimable(["q1"], limit=9)] == [1]
        assert {found.id.shard for found in ledger.claimable({"q0", "q2", "q9"}, limit=9)} == {0, 2}
        assert [found.id.shard for found in ledger.claimable(["q1", "q9"], run_id=RUN)] == [1]
        assert not ledger.claimable(["q"], limit=9)
        assert not ledger.claimable([])

    def test_one_run_can_be_asked_for(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(run_id=OTHER), priority=9))
        ledger.add_run(new_run(due(2)))
        assert [found.id.run_id for found in ledger.claimable(QUEUES, run_id=RUN)] == [RUN]
        assert {found.id for found in ledger.claimable(QUEUES, run_id=RUN, limit=9)} == {FIRST, SECOND}
        assert not ledger.claimable(QUEUES, run_id=RunId("none"))

    def test_only_what_goes_before_a_priority_can_be_asked_for(self, ledger: LedgerTransaction) -> None:
        for priority in (0, 4, 5):
            ledger.add_run(replace(new_run(run_id=f"p{priority}"), priority=priority))
        assert [found.priority for found in ledger.claimable(QUEUES, above=0, limit=9)] == [5, 4]
        assert [found.priority for found in ledger.claimable(QUEUES, above=4, limit=9)] == [5]
        assert not ledger.claimable(QUEUES, above=5)
        assert not ledger.claimable(QUEUES, above=0, run_id=RunId("p0"))

    def test_a_full_run_lets_others_go_first(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(due(5)), priority=9, max_parallel=1))
        ledger.add_run(new_run(run_id=OTHER))
        claim(ledger)
        assert [found.id.run_id for found in ledger.claimable(QUEUES)] == [OTHER]

    def test_nobody_is_told_anew_of_what_somebody_was_told_of(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3)))
        ledger.mark_dispatched([FIRST, named(2)])
        assert is_about(row_of(ledger).dispatched_at, ledger.now())
        assert [found.id for found in ledger.undispatched(older_than_s=60.0)] == [SECOND]

    def test_after_a_while_somebody_is_to_be_told_anew(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(2)))
        ledger.mark_dispatched([FIRST])
        assert {found.id for found in ledger.undispatched(older_than_s=-1.0)} == {FIRST, SECOND}

    def test_what_nobody_could_be_told_of_is_to_be_told_anew(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(2)))
        ledger.mark_dispatched([FIRST, SECOND])
        ledger.mark_dispatched([SECOND], is_dispatched=False)
        assert [found.id for found in ledger.undispatched(older_than_s=60.0)] == [SECOND]

    def test_what_was_given_back_is_to_be_told_anew(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(1)))
        ledger.mark_dispatched([FIRST])
        close(ledger, FIRST, RELEASED)
        assert [found.fence for found in ledger.undispatched(older_than_s=60.0)] == [1]

    def test_one_whose_turn_has_come_is_to_be_told_of(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(2, lanes=1)))
        ledger.mark_dispatched([FIRST])
        close(ledger, FIRST)
        assert [found.id for found in ledger.undispatched(older_than_s=60.0)] == [SECOND]

    def test_telling_of_what_is_not_there_changes_nothing(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        before = row_of(ledger)
        ledger.mark_dispatched([SECOND, named(run_id=OTHER)])
        ledger.mark_dispatched([])
        assert list(ledger.list_activations()) == [before]

    def test_a_wide_step_can_be_told_of_at_once(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(MANY)))
        found = ledger.undispatched(older_than_s=0.0, limit=MANY + 1)
        assert len(found) == MANY
        ledger.mark_dispatched([one.id for one in found])
        assert not ledger.undispatched(older_than_s=60.0)
