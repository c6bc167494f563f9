"""The contract of every ledger for leases, and for the settling of claimed activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.ledger.records import (
    ActivationId,
    ActivationRow,
    ActivationStatus,
    Lease,
    LeaseState,
    Settled,
)
from agentic.core.testing.ledger.cases import (
    CHILD,
    CLAIMS_S,
    DONE,
    FIRST,
    IN_REVIEW,
    LONG_S,
    OTHER,
    QUEUES,
    RELEASED,
    RUN,
    SECOND,
    THIRD,
    WAITING,
    UsesLedger,
    at_once,
    claim,
    close,
    due,
    ended,
    is_about,
    named,
    new_run,
    next_moment,
    row_of,
    step,
)

Lose = Callable[[LedgerTransaction, Lease], object]

CLOSED = [status for status in ActivationStatus if not status.is_open]


def _expire_and_claim(ledger: LedgerTransaction, lease: Lease) -> None:
    ledger.settle(lease, replace(RELEASED, is_crash=True))
    claim(ledger)


# Ways to lose the lease of a run's first activation.
LOSSES: Mapping[str, Lose] = {
    "it was done": lambda ledger, lease: ledger.settle(lease, DONE),
    "it was given back": lambda ledger, lease: ledger.settle(lease, RELEASED),
    "another worker has it": _expire_and_claim,
    "it waits for a person": lambda ledger, lease: ledger.settle(lease, IN_REVIEW),
    "its run ended": lambda ledger, _: ledger.advance(RUN, 0, 1, ended(RunStatus.CANCELLED)),
    "its run continued": lambda ledger, _: ledger.advance(RUN, 0, 1, step(2, 1)),
    "its superstep restarted": lambda ledger, _: ledger.advance(RUN, 0, 1, step(2, 0, due(2))),
}


class LedgerLeasesContract(UsesLedger):
    """How long a claim is valid."""

    def test_a_lease_can_be_extended(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        assert list(ledger.extend([lease], LONG_S)) == [LeaseState.HELD]
        assert is_about(row_of(ledger).lease_until, ledger.now() + LONG_S)

    def test_one_that_ended_can_be_extended_while_nobody_took_it(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger, lease_s=-1.0)
        assert list(ledger.extend([lease], CLAIMS_S)) == [LeaseState.HELD]
        assert not ledger.expired()

    def test_whoever_extends_is_told_that_the_run_is_to_be_cancelled(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        ledger.request_cancel(RUN, "a reason")
        assert list(ledger.extend([lease], LONG_S)) == [LeaseState.CANCELLED]
        assert is_about(row_of(ledger).lease_until, ledger.now() + LONG_S)
        assert ledger.settle(lease, DONE)

    def test_several_leases_are_told_of_in_order(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3)))
        ledger.add_run(new_run(run_id=OTHER))
        leases = [claim(ledger, one) for one in (FIRST, named(run_id=OTHER), THIRD)]
        ledger.settle(leases[0], DONE)
        ledger.request_cancel(OTHER, "a reason")
        unknown = Lease(named(run_id="none"), 1)
        asked = [leases[2], unknown, leases[0], leases[1], leases[2]]
        assert [str(state) for state in ledger.extend(asked, CLAIMS_S)] == [
            "held",
            "lost",
            "lost",
            "cancelled",
            "held",
        ]
        assert list(ledger.extend([], CLAIMS_S)) == []

    def test_leases_that_ended_are_found(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(4)))
        leases = [claim(ledger, named(shard), lease_s=-1.0) for shard in range(3)]
        claim(ledger, named(3))
        ledger.settle(leases[0], DONE)
        ledger.extend([leases[1]], CLAIMS_S)
        assert list(ledger.expired()) == [row_of(ledger, THIRD)]

    def test_of_leases_that_ended_so_many_are_found_as_wanted(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(4)))
        for shard in range(4):
            claim(ledger, named(shard), lease_s=-1.0)
        assert len(ledger.expired(limit=3)) == 3
        assert {row.id.shard for row in ledger.expired()} == {0, 1, 2, 3}

    def test_what_was_done_after_the_lease_ended_counts_while_nobody_took_it(
        self, ledger: LedgerTransaction
    ) -> None:
        ledger.add_run(new_run())
        assert ledger.settle(claim(ledger, lease_s=-1.0), DONE)
        assert row_of(ledger).status is ActivationStatus.DONE

    @pytest.mark.parametrize("lose", [pytest.param(act, id=name) for name, act in LOSSES.items()])
    def test_a_lease_that_is_lost_is_worth_nothing(self, ledger: LedgerTransaction, lose: Lose) -> None:
        ledger.add_run(new_run(due(2)))
        lease = claim(ledger)
        lose(ledger, lease)
        before = list(ledger.list_activations())
        assert not ledger.settle(lease, replace(DONE, progress='"late"', skips_rest=True))
        assert not ledger.keep_effect(lease, "work.0.0", "late", "1")
        assert list(ledger.extend([lease], LONG_S)) == [LeaseState.LOST]
        assert list(ledger.list_activations()) == before
        assert ledger.effects(RUN, "work.0.0") == {}

    @pytest.mark.parametrize("fence", [0, 1, 3])
    def test_only_the_newest_fence_is_worth_something(self, ledger: LedgerTransaction, fence: int) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, RELEASED)
        claim(ledger)
        wrong = Lease(FIRST, fence)
        assert not ledger.settle(wrong, DONE)
        assert list(ledger.extend([wrong], CLAIMS_S)) == [LeaseState.LOST]
        assert ledger.settle(Lease(FIRST, 2), DONE)

    def test_of_many_that_settle_with_one_lease_at_once_one_does(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(10)))
        for shard in range(10):
            got = self._settled(ledger, claim(ledger, named(shard)))
            assert row_of(ledger, named(shard)).result == str(got.index(True))
            assert sorted(got) == [False, False, False, True]

    def _settled(self, ledger: LedgerTransaction, lease: Lease) -> list[bool]:
        return at_once(4, lambda rival: ledger.settle(lease, replace(DONE, result=str(rival))))


class LedgerSettlingContract(UsesLedger):
    """The new states of a claimed activation."""

    @pytest.mark.parametrize("status", CLOSED)
    def test_one_that_is_closed_has_a_result(
        self, ledger: LedgerTransaction, status: ActivationStatus
    ) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, Settled(status=status, result='{"née": "🐍"}', progress="{}", note="because"))
        row = row_of(ledger)
        assert (row.status, row.result, row.progress) == (status, '{"née": "🐍"}', "{}")
        assert row.note == "because"
        assert row.lease_until is None
        assert is_about(row.finished_at, ledger.now())
        assert not ledger.has_open(RUN, 0)

    @pytest.mark.parametrize("settled", [RELEASED, IN_REVIEW, WAITING], ids=lambda one: str(one.status))
    def test_one_that_is_not_closed_keeps_its_superstep_open(
        self, ledger: LedgerTransaction, settled: Settled
    ) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=CHILD))
        close(ledger, FIRST, replace(settled, progress='"tried"'))
        row = row_of(ledger)
        assert (row.status, row.note, row.waits_for) == (settled.status, settled.note, settled.waits_for)
        assert row.progress == '"tried"'
        assert (row.lease_until, row.result, row.finished_at) == (None, None, None)
        assert ledger.has_open(RUN, 0)
        assert not ledger.outcomes(RUN, 0)

    def test_one_that_is_given_back_can_be_claimed_at_once(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, RELEASED)
        assert [found.id for found in ledger.claimable(QUEUES)] == [FIRST]
        assert claim(ledger).fence == 2

    def test_giving_one_back_is_no_crash(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        for _ in range(5):
            close(ledger, FIRST, RELEASED)
        assert row_of(ledger).crashes == 0

    def test_crashes_are_counted_and_told_to_who_claims(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        for _ in range(3):
            close(ledger, FIRST, replace(RELEASED, is_crash=True))
        close(ledger, FIRST, RELEASED)
        claimed = ledger.claim(FIRST, "worker", CLAIMS_S)
        assert claimed is not None
        assert claimed.crashes == row_of(ledger).crashes == 3

    @pytest.mark.parametrize("status", [ActivationStatus.REVIEW, ActivationStatus.DEAD])
    def test_a_crash_counts_whatever_follows(
        self, ledger: LedgerTransaction, status: ActivationStatus
    ) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, Settled(status=status, is_crash=True))
        assert row_of(ledger).crashes == 1

    def test_progress_outlives_tries_that_have_none(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, replace(RELEASED, progress='{"tries": 1}'))
        close(ledger, FIRST, RELEASED)
        claimed = ledger.claim(FIRST, "worker", CLAIMS_S)
        assert claimed is not None
        assert claimed.progress == '{"tries": 1}'
        ledger.settle(claimed.lease, replace(DONE, progress='{"tries": 2}'))
        assert ledger.outcomes(RUN, 0)[0].progress == '{"tries": 2}'

    def test_one_that_has_to_wait_is_due_when_the_wait_is_over(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger, FIRST, replace(RELEASED, delay_s=LONG_S))
        row = row_of(ledger)
        assert row.status is ActivationStatus.PENDING
        assert is_about(row.not_before, ledger.now() + LONG_S)

    def test_a_person_can_let_one_run_again(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.mark_dispatched([FIRST])
        close(ledger, FIRST, IN_REVIEW)
        assert ledger.retry(FIRST)
        assert [found.id for found in ledger.undispatched(older_than_s=60.0)] == [FIRST]
        assert claim(ledger).fence == 2

    @pytest.mark.parametrize("settled", [None, DONE, RELEASED, WAITING], ids=str)
    def test_one_that_waits_for_no_person_is_not_run_again(
        self, ledger: LedgerTransaction, settled: Settled | None
    ) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=CHILD))
        lease = claim(ledger)
        if settled is not None:
            ledger.settle(lease, settled)
        before = row_of(ledger)
        assert not ledger.retry(FIRST)
        assert row_of(ledger) == before

    def test_one_that_is_not_there_is_not_run_again(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        assert not ledger.retry(SECOND)

    def test_a_big_result_is_kept_whole(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        text = f'"{"0123456789 🐍" * 100_000}"'
        close(ledger, FIRST, replace(DONE, result=text, progress=text))
        assert ledger.outcomes(RUN, 0)[0].result == text
        assert row_of(ledger).progress == text


class LedgerLanesContract(UsesLedger):
    """The order of activations of one executor."""

    def test_each_waits_for_the_one_before_it(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(4, lanes=1)))
        for shard in range(4):
            assert self._pending(ledger) == [shard]
            close(ledger, named(shard))
        assert not ledger.has_open(RUN, 0)

    def test_the_order_is_that_of_their_positions(self, ledger: LedgerTransaction) -> None:
        backwards = [replace(one, position=9 - one.position) for one in due(3, lanes=1)]
        ledger.add_run(new_run(backwards))
        for shard in (2, 1, 0):
            assert self._pending(ledger) == [shard]
            close(ledger, named(shard))

    def test_so_many_run_side_by_side_as_there_are_lanes(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(5, lanes=2)))
        assert self._pending(ledger) == [0, 1]
        close(ledger, named(1))
        assert self._pending(ledger) == [0, 2]
        close(ledger, named(2))
        assert self._pending(ledger) == [0, 3]
        close(ledger, named(0))
        assert self._pending(ledger) == [3, 4]

    @pytest.mark.parametrize("status", CLOSED)
    def test_the_next_has_its_turn_however_one_was_closed(
        self, ledger: LedgerTransaction, status: ActivationStatus
    ) -> None:
        ledger.add_run(new_run(due(3, lanes=1)))
        next_moment(ledger)
        now = ledger.now()
        close(ledger, FIRST, Settled(status=status))
        assert self._pending(ledger) == [1]
        assert row_of(ledger, SECOND).not_before >= now

    @pytest.mark.parametrize("settled", [RELEASED, IN_REVIEW, WAITING], ids=lambda one: str(one.status))
    def test_one_that_is_not_closed_keeps_its_lane(self, ledger: LedgerTransaction, settled: Settled) -> None:
        ledger.add_run(new_run(due(2, lanes=1)))
        ledger.add_run(new_run(run_id=CHILD))
        close(ledger, FIRST, settled)
        assert row_of(ledger, SECOND).status is ActivationStatus.BLOCKED

    def test_lanes_of_executors_and_runs_are_kept_apart(self, ledger: LedgerTransaction) -> None:
        beside = [replace(one, position=5 + one.position) for one in due(2, lanes=1, executor="beside")]
        ledger.add_run(new_run([*due(2, lanes=1), *beside]))
        ledger.add_run(new_run(due(2, lanes=1, run_id=OTHER), run_id=OTHER))
        close(ledger)
        assert row_of(ledger, SECOND).status is ActivationStatus.PENDING
        for blocked in (named(1, executor="beside"), named(1, run_id=OTHER)):
            assert row_of(ledger, blocked).status is ActivationStatus.BLOCKED

    def test_what_is_behind_one_can_be_skipped(self, ledger: LedgerTransaction) -> None:
        beside = [replace(one, position=5 + one.position) for one in due(2, lanes=1, executor="beside")]
        ledger.add_run(new_run([*due(4, lanes=1), *beside]))
        close(ledger)
        close(ledger, SECOND, replace(DONE, skips_rest=True))
        expected = ["done", "done", "skipped", "skipped", "pending", "blocked"]
        assert [row.status for row in ledger.list_activations()] == expected
        assert is_about(row_of(ledger, THIRD).finished_at, ledger.now())

    def test_what_runs_beside_one_is_not_skipped(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(4, lanes=2)))
        lease = claim(ledger, SECOND)
        close(ledger, FIRST, replace(DONE, skips_rest=True))
        assert [row.status for row in ledger.list_activations()] == ["done", "running", "skipped", "skipped"]
        assert ledger.settle(lease, DONE)
        assert not ledger.has_open(RUN, 0)

    def test_what_is_kept_from_before_takes_up_no_lane(self, ledger: LedgerTransaction) -> None:
        first, *others = due(4, lanes=1)
        ledger.add_run(new_run([replace(first, result="1"), *others]))
        assert self._pending(ledger) == [1]

    def test_lanes_go_on_one_by_one_when_several_are_closed_at_once(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(40, lanes=4)))
        for begin in range(0, 40, 4):
            assert self._pending(ledger) == list(range(begin, begin + 4))
            self._close(ledger, [named(shard) for shard in range(begin, begin + 4)])
        assert not ledger.has_open(RUN, 0)

    def _close(self, ledger: LedgerTransaction, ids: Sequence[ActivationId]) -> None:
        at_once(len(ids), lambda rival: close(ledger, ids[rival]))

    def _pending(self, ledger: LedgerTransaction) -> list[int]:
        rows = ledger.list_activations(run_id=RUN, statuses=[ActivationStatus.PENDING])
        return [row.id.shard for row in sorted(rows, key=_shard)]


class LedgerEffectsContract(UsesLedger):
    """Results of calls that must not be repeated."""

    def test_effects_come_back_by_key(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        assert ledger.keep_effect(lease, "work.0.0", "paid", '{"née": "🐍"}')
        assert ledger.keep_effect(lease, "work.0.0", "mailed", "null")
        assert ledger.effects(RUN, "work.0.0") == {"paid": '{"née": "🐍"}', "mailed": "null"}

    def test_the_first_record_of_an_effect_stays(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        ledger.keep_effect(lease, "work.0.0", "paid", "1")
        assert ledger.keep_effect(lease, "work.0.0", "paid", "2")
        ledger.settle(lease, RELEASED)
        assert ledger.keep_effect(claim(ledger), "work.0.0", "paid", "3")
        assert ledger.effects(RUN, "work.0.0") == {"paid": "1"}

    def test_effects_of_others_are_kept_apart(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=OTHER))
        ledger.keep_effect(claim(ledger), "work.0.0", "key", "1")
        lease = claim(ledger, named(run_id=OTHER))
        ledger.keep_effect(lease, "work.0.0", "key", "2")
        ledger.keep_effect(lease, "work.0.1", "key", "3")
        assert ledger.effects(RUN, "work.0.0") == {"key": "1"}
        assert ledger.effects(OTHER, "work.0.0") == {"key": "2"}
        assert ledger.effects(OTHER, "work.0.1") == {"key": "3"}
        assert ledger.effects(OTHER, "work.0") == {}

    def test_effects_are_found_by_a_later_entry_of_the_activation(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        ledger.keep_effect(lease, "work.0.0", "key", "1")
        ledger.settle(lease, DONE)
        ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
        later = claim(ledger, named(superstep=1))
        assert ledger.keep_effect(later, "work.0.0", "key", "2")
        assert ledger.effects(RUN, "work.0.0") == {"key": "1"}

    def test_a_big_effect_is_kept_whole(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        text = f'"{"0123456789 🐍" * 100_000}"'
        ledger.keep_effect(claim(ledger), "work.0.0", "key", text)
        assert ledger.effects(RUN, "work.0.0") == {"key": text}


def _shard(row: ActivationRow) -> int:
    return row.id.shard
