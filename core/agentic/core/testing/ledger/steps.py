"""The contract of every ledger for steps: how runs continue and end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerStore, LedgerTransaction
from agentic.core.ledger.records import (
    ActivationOutcome,
    ActivationRow,
    ActivationStatus,
    Lease,
    LedgerStep,
    NewActivation,
    RunRow,
    Settled,
)
from agentic.core.testing.ledger.cases import (
    CHILD,
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
    THIRD,
    WAITING,
    UsesLedger,
    at_once,
    batch,
    claim,
    close,
    due,
    ended,
    in_one,
    is_about,
    named,
    new_run,
    next_moment,
    row_of,
    run_of,
    step,
)
from agentic.core.testing.ledger.runs import FINAL
from agentic.core.types import RunId

STOPS = [status for status in RunStatus if status is not RunStatus.RUNNING]
LEAVING: Mapping[str, LedgerStep] = {
    "goes on": step(2, 1),
    **{str(status): ended(status) for status in STOPS},
}


class LedgerStepsContract(UsesLedger):
    """How a run continues."""

    def test_a_run_takes_over_what_a_step_says(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(), step=replace(new_run().step, deadline=2e9)))
        close(ledger)
        before = run_of(ledger)
        next_moment(ledger)
        second = replace(step(2, 1, due(superstep=1)), wake_at=2e9 + 0.25, deadline=2e9 + 0.5)
        assert ledger.advance(RUN, 0, 1, second)
        after = run_of(ledger)
        assert before.updated_at < after.updated_at
        assert after == replace(
            before,
            superstep=1,
            revision=2,
            updated_at=after.updated_at,
            wake_at=2e9 + 0.25,
            deadline=2e9 + 0.5,
        )

    def test_times_that_a_step_does_not_name_are_gone(self, ledger: LedgerTransaction) -> None:
        first = replace(new_run().step, deadline=2e9, wake_at=2e9)
        ledger.add_run(replace(new_run(), step=first))
        ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
        assert (run_of(ledger).deadline, run_of(ledger).wake_at) == (None, None)

    @pytest.mark.parametrize("status", FINAL)
    def test_a_run_ends(self, ledger: LedgerTransaction, status: RunStatus) -> None:
        ledger.add_run(new_run())
        close(ledger)
        assert ledger.advance(RUN, 0, 1, replace(ended(status), error="it broke: 🐍"))
        found = run_of(ledger)
        assert (found.status, found.error) == (status, "it broke: 🐍")
        assert is_about(found.finished_at, ledger.now())

    def test_a_run_rests_and_goes_on_in_the_same_superstep(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        close(ledger)
        assert ledger.advance(RUN, 0, 1, step(2, 1, status=RunStatus.WAITING_INPUT))
        assert run_of(ledger).status is RunStatus.WAITING_INPUT
        assert run_of(ledger).finished_at is None
        assert ledger.advance(RUN, 1, 2, step(3, 1, due(superstep=1)))
        assert run_of(ledger).status is RunStatus.RUNNING
        claim(ledger, named(superstep=1))

    @pytest.mark.parametrize(("superstep", "revision"), [(0, 2), (0, 0), (1, 1), (1, 2), (-1, 1)])
    def test_a_step_decided_elsewhere_is_not_written(
        self, ledger: LedgerTransaction, superstep: int, revision: int
    ) -> None:
        ledger.add_run(new_run())
        before = _all_of(ledger)
        late = replace(step(2, 1, due(superstep=1), changes={"a": "1"}), events=[batch(1, 2)])
        assert not ledger.advance(RUN, superstep, revision, late)
        assert _all_of(ledger) == before

    @pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.CANCELLED])
    def test_a_run_that_failed_or_was_cancelled_can_go_on(
        self, ledger: LedgerTransaction, status: RunStatus
    ) -> None:
        ledger.add_run(new_run())
        ledger.request_cancel(RUN, "enough")
        ledger.advance(RUN, 0, 1, ended(status))
        assert ledger.advance(RUN, 0, 2, step(3, 0, due()))
        run = ledger.run(RUN)
        assert run is not None
        assert run.status is RunStatus.RUNNING
        assert (run.cancel_reason, run.cancel_at, run.finished_at) == (None, None, None)

    def test_of_many_that_write_a_step_at_once_one_does(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        for revision in range(1, 11):

            def advance(rival: int, revision: int = revision) -> bool:
                rivals = step(revision + 1, revision, due(superstep=revision), changes={"by": f"{rival}"})
                told = replace(rivals, events=[batch(revision, revision)])
                return ledger.advance(RUN, revision - 1, revision, told)

            got = at_once(4, advance)
            assert sorted(got) == [False, False, False, True]
            assert ledger.load(RUN).parts["by"] == str(got.index(True))
        assert [one.first for one in ledger.events(RUN)] == list(range(1, 11))

    def test_a_superstep_that_is_due_has_its_activations(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(), priority=6))
        close(ledger)
        new = NewActivation(
            id=named(4, executor="next", superstep=1),
            position=2,
            lanes=3,
            queue="agentic.browser",
            on_crash="review",
            max_crashes=7,
        )
        ledger.advance(RUN, 0, 1, step(2, 1, [new]))
        row = row_of(ledger, new.id)
        assert is_about(row.not_before, ledger.now())
        assert row == ActivationRow(
            id=new.id,
            status=ActivationStatus.PENDING,
            position=2,
            lanes=3,
            queue="agentic.browser",
            priority=6,
            began_at=run_of(ledger).began_at,
            on_crash="review",
            max_crashes=7,
            not_before=row.not_before,
        )

    def test_a_step_may_have_a_thousand_activations(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(MANY)))
        assert len(ledger.claimable(QUEUES, limit=MANY + 1)) == MANY
        ledger.advance(RUN, 0, 1, step(2, 1, due(MANY, lanes=1, superstep=1)))
        assert [row.status for row in ledger.list_activations(run_id=RUN, limit=2)] == ["pending", "blocked"]
        assert len(ledger.outcomes(RUN, 0)) == MANY

    @pytest.mark.parametrize("leave", [pytest.param(one, id=name) for name, one in LEAVING.items()])
    def test_what_is_open_in_a_superstep_that_is_left_is_skipped(
        self, ledger: LedgerTransaction, leave: LedgerStep
    ) -> None:
        settled = {1: DONE, 2: LATER, 3: IN_REVIEW, 4: WAITING}
        ledger.add_run(new_run([*due(6), *_behind(lanes=1)]))
        ledger.add_run(new_run(run_id=CHILD))
        lease = claim(ledger)
        for shard, one in settled.items():
            close(ledger, named(shard), one)
        before = row_of(ledger, SECOND)
        assert ledger.advance(RUN, 0, 1, leave)
        assert [row.status for row in ledger.list_activations(run_id=RUN)] == [
            "done" if row.id == SECOND else "skipped" for row in ledger.list_activations(run_id=RUN)
        ]
        assert row_of(ledger, SECOND) == before
        assert is_about(row_of(ledger).finished_at, ledger.now())
        assert row_of(ledger).lease_until is None
        assert not ledger.settle(lease, DONE)
        assert not ledger.has_open(RUN, 0)

    def test_a_superstep_that_was_broken_off_begins_anew(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3)))
        close(ledger, FIRST, replace(RELEASED, is_crash=True, progress='"tried"', delay_s=-1.0))
        lease = claim(ledger)
        close(ledger, SECOND, replace(DONE, result='"kept"'))
        first, second, third = due(3)
        kept = replace(second, result='"kept"')
        assert ledger.advance(RUN, 0, 1, step(2, 0, [first, kept, third]))
        row = row_of(ledger)
        assert row.fence > lease.fence
        assert (row.status, row.crashes, row.progress) == (ActivationStatus.PENDING, 0, None)
        assert (row.worker, row.lease_until, row.started_at) == (None, None, None)
        assert row_of(ledger, SECOND).status is ActivationStatus.DONE
        assert row_of(ledger, THIRD).status is ActivationStatus.PENDING
        assert not ledger.settle(lease, DONE)
        assert claim(ledger).fence > row.fence

    def test_one_that_was_closed_may_be_made_anew_too(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        lease = claim(ledger)
        ledger.settle(lease, replace(DONE, note="it failed"))
        ledger.advance(RUN, 0, 1, step(2, 0, due()))
        row = row_of(ledger)
        assert (row.status, row.result, row.note) == (ActivationStatus.PENDING, None, None)
        assert (row.finished_at, row.dispatched_at) == (None, None)
        assert row.fence > lease.fence

    def test_what_does_not_begin_anew_with_its_superstep_is_skipped(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3)))
        close(ledger)
        lease = claim(ledger, SECOND)
        assert ledger.advance(RUN, 0, 1, step(2, 0, due(3)[2:]))
        assert [row.status for row in ledger.list_activations()] == ["done", "skipped", "pending"]
        assert not ledger.settle(lease, DONE)

    def test_what_is_finished_from_before_is_done_with_its_result(self, ledger: LedgerTransaction) -> None:
        first, second = due(2)
        ledger.add_run(new_run([replace(first, result='{"n": 7}'), second]))
        assert [one.result for one in ledger.outcomes(RUN, 0)] == ['{"n": 7}']
        assert row_of(ledger).status is ActivationStatus.DONE
        assert is_about(row_of(ledger).finished_at, ledger.now())
        assert ledger.has_open(RUN, 0)

    def test_what_is_noted_in_the_middle_of_a_superstep_disturbs_nothing_in_it(
        self, ledger: LedgerTransaction
    ) -> None:
        ledger.add_run(new_run(due(3)))
        lease = claim(ledger)
        close(ledger, SECOND)
        before = list(ledger.list_activations())
        assert ledger.advance(RUN, 0, 1, step(2, 0, changes={"answer": "42"}))
        assert list(ledger.list_activations()) == before
        assert (run_of(ledger).superstep, run_of(ledger).revision) == (0, 2)
        assert ledger.settle(lease, DONE)
        claim(ledger, THIRD)

    def test_a_run_that_is_paused_or_to_be_cancelled_is_decided_about(
        self, ledger: LedgerTransaction
    ) -> None:
        ledger.add_run(new_run())
        ledger.pause(RUN, is_paused=True)
        ledger.request_cancel(RUN, "a reason")
        assert ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
        assert run_of(ledger).is_paused
        assert run_of(ledger).cancel_reason == "a reason"


class LedgerOutcomesContract(UsesLedger):
    """Results of a superstep."""

    def test_outcomes_are_in_planner_order_whatever_ended_first(self, ledger: LedgerTransaction) -> None:
        mixed = [due(executor="z")[0], *due(2, executor="a"), due(executor="m")[0]]
        activations = [replace(one, position=number) for number, one in enumerate(mixed)]
        ledger.add_run(new_run(activations))
        for one in (activations[2], activations[0], activations[3], activations[1]):
            close(ledger, one.id, replace(DONE, result=str(one.position)))
        assert list(ledger.outcomes(RUN, 0)) == [
            ActivationOutcome(
                id=one.id, status=ActivationStatus.DONE, result=str(one.position), progress=None
            )
            for one in activations
        ]

    def test_only_what_is_closed_has_an_outcome(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run([*due(6), *_behind(lanes=1)]))
        claim(ledger, named(0))
        close(ledger, named(1), Settled(status=ActivationStatus.SKIPPED))
        close(ledger, named(2), IN_REVIEW)
        close(ledger, named(3), Settled(status=ActivationStatus.DEAD, result="1", progress="2"))
        close(ledger, named(4), LATER)
        found = [(one.id.shard, one.status, one.result, one.progress) for one in ledger.outcomes(RUN, 0)]
        assert found == [(1, "skipped", None, None), (3, "dead", "1", "2")]

    def test_supersteps_and_runs_are_kept_apart(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=OTHER))
        close(ledger)
        ledger.advance(RUN, 0, 1, step(2, 1, due(2, superstep=1)))
        assert [one.id for one in ledger.outcomes(RUN, 0)] == [FIRST]
        assert not ledger.outcomes(RUN, 1)
        assert not ledger.outcomes(OTHER, 0)
        open_in = [(RUN, 0), (RUN, 1), (RUN, 2), (OTHER, 0), (RunId("none"), 0)]
        assert [ledger.has_open(*where) for where in open_in] == [False, True, False, True, False]

    def test_of_many_that_end_a_superstep_at_once_the_last_sees_that_it_has_ended(
        self, store: LedgerStore
    ) -> None:
        for number in range(10):
            assert sorted(self._saw_the_end(store, RunId(f"run {number}"))) == [False, False, False, True]

    def _saw_the_end(self, store: LedgerStore, run_id: RunId) -> list[bool]:
        """End a superstep from four threads at once; return whether each saw that it had ended."""
        leases = in_one(store, lambda ledger: _claim_four(ledger, run_id))
        return at_once(4, lambda rival: in_one(store, lambda ledger: _end(ledger, leases[rival])))

    def test_activations_are_listed_newest_superstep_first(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(2)))
        backwards = [replace(one, position=1 - one.position) for one in due(2, superstep=1)]
        ledger.advance(RUN, 0, 1, step(2, 1, backwards))
        ledger.add_run(new_run(run_id=OTHER))
        names = [(row.id.superstep, row.id.shard) for row in ledger.list_activations(run_id=RUN)]
        assert names == [(1, 1), (1, 0), (0, 0), (0, 1)]
        assert [row.id.superstep for row in ledger.list_activations()] == [1, 1, 0, 0, 0]

    def test_lists_of_activations_can_be_narrowed_down(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3)))
        ledger.add_run(new_run(run_id=OTHER))
        close(ledger, FIRST, IN_REVIEW)
        close(ledger, named(run_id=OTHER), Settled(status=ActivationStatus.DEAD))
        trouble = {ActivationStatus.REVIEW, ActivationStatus.DEAD}
        assert {row.id for row in ledger.list_activations(statuses=trouble)} == {FIRST, named(run_id=OTHER)}
        assert [row.id for row in ledger.list_activations(statuses=trouble, run_id=RUN)] == [FIRST]
        assert [row.id for row in ledger.list_activations(run_id=RUN, limit=2)] == [FIRST, SECOND]
        assert not ledger.list_activations(statuses=[])
        assert not ledger.list_activations(run_id=RunId("none"))

    def test_a_list_tells_what_a_single_look_at_an_activation_tells(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(due(3)))
        claim(ledger)
        close(ledger, SECOND, IN_REVIEW)
        for row in ledger.list_activations():
            assert ledger.activation(row.id) == row


def _behind(*, lanes: int) -> list[NewActivation]:
    """Return two activations of another executor, at the end of a superstep."""
    return [replace(one, position=50 + one.position) for one in due(2, lanes=lanes, executor="behind")]


def _all_of(ledger: LedgerTransaction) -> tuple[RunRow, object, object, object]:
    return (run_of(ledger), ledger.list_activations(), ledger.load(RUN), ledger.events(RUN))


def _claim_four(ledger: LedgerTransaction, run_id: RunId) -> list[Lease]:
    ledger.add_run(new_run(due(4, run_id=run_id), run_id=run_id))
    return [claim(ledger, named(shard, run_id=run_id)) for shard in range(4)]


def _end(ledger: LedgerTransaction, lease: Lease) -> bool:
    """Settle, and check whether that was the last one, as a worker does."""
    ledger.run(lease.id.run_id, lock=True)
    assert ledger.settle(lease, DONE)
    return not ledger.has_open(lease.id.run_id, 0)
