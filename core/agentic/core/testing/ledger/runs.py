"""The contract of every ledger for runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.errors import RunExistsError
from agentic.core.ledger.port import LedgerStore, LedgerTransaction
from agentic.core.ledger.records import RunRow
from agentic.core.testing.checkpoint_contract import ODD_NAMES
from agentic.core.testing.ledger.cases import (
    CLAIMS_S,
    OTHER,
    RUN,
    UsesLedger,
    at_once,
    due,
    ended,
    in_one,
    is_about,
    named,
    new_run,
    next_moment,
    run_of,
    step,
)
from agentic.core.types import RunId

FINAL = [status for status in RunStatus if status.is_final]


class LedgerRunsContract(UsesLedger):
    """Accepting runs, and requests to them from outside."""

    def test_a_run_comes_back_as_it_was_accepted(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run(run_id=OTHER))
        new = replace(
            new_run(),
            idempotency_key="key",
            priority=7,
            max_parallel=3,
            parent=named(run_id=OTHER),
            step=replace(step(activations=due()), deadline=2e9 + 0.25, wake_at=2e9 + 0.5),
        )
        now = ledger.now()
        assert ledger.add_run(new) == RUN
        found = run_of(ledger)
        assert is_about(found.created_at, now)
        assert found == RunRow(
            run_id=RUN,
            workflow="flow",
            status=RunStatus.RUNNING,
            superstep=0,
            revision=1,
            priority=7,
            created_at=found.created_at,
            began_at=found.began_at,
            updated_at=found.created_at,
            deadline=2e9 + 0.25,
            wake_at=2e9 + 0.5,
            max_parallel=3,
            parent=new.parent,
            idempotency_key="key",
        )

    def test_an_idempotency_key_gives_back_the_run_that_has_it(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(), idempotency_key="key"))
        assert ledger.add_run(replace(new_run(run_id=OTHER), idempotency_key="key")) == RUN
        assert ledger.run(OTHER) is None
        assert not ledger.list_activations(run_id=OTHER)
        assert not ledger.events(OTHER)

    def test_an_idempotency_key_counts_before_the_run_id(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(), idempotency_key="key"))
        assert ledger.add_run(replace(new_run(), idempotency_key="key")) == RUN

    def test_an_idempotency_key_outlives_the_end_of_its_run(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(replace(new_run(), idempotency_key="key"))
        ledger.advance(RUN, 0, 1, ended())
        assert ledger.add_run(replace(new_run(run_id=OTHER), idempotency_key="key")) == RUN

    def test_runs_without_an_idempotency_key_do_not_meet(self, ledger: LedgerTransaction) -> None:
        assert [ledger.add_run(new_run(run_id=name)) for name in (RUN, OTHER)] == [RUN, OTHER]

    def test_a_run_id_is_taken_once(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        with pytest.raises(RunExistsError, match="'run'") as caught:
            ledger.add_run(replace(new_run(due(3)), workflow="another", idempotency_key="key"))
        assert caught.value.run_id == RUN
        assert run_of(ledger).workflow == "flow"
        assert len(ledger.list_activations()) == 1

    def test_a_run_id_that_is_taken_does_not_take_the_idempotency_key(
        self, ledger: LedgerTransaction
    ) -> None:
        ledger.add_run(new_run())
        with pytest.raises(RunExistsError):
            ledger.add_run(replace(new_run(), idempotency_key="key"))
        assert ledger.add_run(replace(new_run(run_id=OTHER), idempotency_key="key")) == OTHER

    def test_of_many_that_accept_a_run_with_one_key_at_once_one_does(self, ledger: LedgerTransaction) -> None:
        for number in range(10):
            assert len(self._accepted_with(ledger, f"key {number}")) == 1
        assert len(ledger.list_runs()) == 10

    def test_of_many_that_accept_a_run_under_one_id_at_once_one_does(self, store: LedgerStore) -> None:
        for number in range(10):
            assert self._accepted_as(store, f"run {number}") == 1

    def test_there_is_no_run_that_nobody_accepted(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        assert ledger.run(OTHER) is None
        assert ledger.run(OTHER, lock=True) is None

    def test_a_run_that_is_not_there_cannot_be_changed(self, ledger: LedgerTransaction) -> None:
        ledger.note(OTHER, "a note")
        assert not ledger.advance(OTHER, 0, 1, step(2, 1, run_id=OTHER))
        assert not ledger.request_cancel(OTHER, "a reason")
        assert not ledger.pause(OTHER, is_paused=True)
        assert not ledger.list_runs()

    def test_runs_are_listed_newest_first(self, ledger: LedgerTransaction) -> None:
        self._accept_three(ledger)
        assert ids(ledger.list_runs()) == ["c", "b", "a"]
        assert ids(ledger.list_runs(limit=2)) == ["c", "b"]

    def test_lists_of_runs_can_be_narrowed_down(self, ledger: LedgerTransaction) -> None:
        self._accept_three(ledger)
        ledger.advance(RunId("b"), 0, 1, ended(run_id="b"))
        assert ids(ledger.list_runs(statuses=[RunStatus.COMPLETED])) == ["b"]
        assert ids(ledger.list_runs(statuses={RunStatus.COMPLETED, RunStatus.RUNNING})) == ["c", "b", "a"]
        assert ids(ledger.list_runs(workflow="crawl")) == ["c", "a"]
        assert ids(ledger.list_runs(workflow="crawl", statuses=[RunStatus.RUNNING], limit=1)) == ["c"]
        assert not ledger.list_runs(workflow="CRAWL")
        assert not ledger.list_runs(statuses=[])

    def test_a_list_tells_what_a_single_look_tells(self, ledger: LedgerTransaction) -> None:
        self._accept_three(ledger)
        ledger.request_cancel(RunId("a"), "a reason")
        for found in ledger.list_runs():
            assert ledger.run(found.run_id) == found

    def test_a_run_to_be_cancelled_says_why_and_since_when(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        assert ledger.request_cancel(RUN, "no longer needed")
        assert run_of(ledger).cancel_reason == "no longer needed"
        assert is_about(run_of(ledger).cancel_at, ledger.now())
        assert run_of(ledger).status is RunStatus.RUNNING

    def test_the_first_to_cancel_a_run_says_why_and_when(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.request_cancel(RUN, "first")
        before = run_of(ledger)
        next_moment(ledger)
        assert ledger.request_cancel(RUN, "second")
        assert run_of(ledger) == before

    def test_a_run_can_be_paused_and_go_on(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        assert ledger.pause(RUN, is_paused=True)
        assert run_of(ledger).is_paused
        assert ledger.pause(RUN, is_paused=False)
        assert not run_of(ledger).is_paused

    @pytest.mark.parametrize("status", FINAL)
    def test_a_run_that_has_ended_is_neither_cancelled_nor_paused(
        self, ledger: LedgerTransaction, status: RunStatus
    ) -> None:
        ledger.add_run(new_run())
        ledger.advance(RUN, 0, 1, ended(status))
        before = run_of(ledger)
        assert not ledger.request_cancel(RUN, "too late")
        assert not ledger.pause(RUN, is_paused=True)
        assert run_of(ledger) == before

    def test_a_run_that_rests_can_be_cancelled_and_paused(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.advance(RUN, 0, 1, ended(RunStatus.WAITING_INPUT))
        assert ledger.request_cancel(RUN, "a reason")
        assert ledger.pause(RUN, is_paused=True)
        assert run_of(ledger).is_paused
        assert run_of(ledger).cancel_reason == "a reason"

    def test_a_note_says_why_a_run_does_not_go_on(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=OTHER))
        ledger.note(RUN, "no worker knows its workflow 🐍")
        assert run_of(ledger).note == "no worker knows its workflow 🐍"
        assert run_of(ledger, OTHER).note is None
        ledger.note(RUN, None)
        assert run_of(ledger).note is None

    def test_a_note_is_gone_when_the_run_goes_on(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.note(RUN, "no worker knows its workflow")
        assert ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1)))
        assert run_of(ledger).note is None

    def test_a_run_that_somebody_locked_is_changed_by_nobody_else(self, store: LedgerStore) -> None:
        in_one(store, lambda ledger: ledger.add_run(new_run(due(8))))

        def count_up(_: int) -> None:
            for _ in range(5):
                in_one(store, _count_in_note)

        at_once(4, count_up)
        assert in_one(store, run_of).note == "x" * 20

    def test_names_are_taken_as_they_are(self, ledger: LedgerTransaction) -> None:
        for name in ODD_NAMES:
            activations = [replace(one, queue=name) for one in due(executor=name, run_id=name)]
            new = replace(new_run(activations, run_id=name), workflow=name, idempotency_key=name)
            assert ledger.add_run(new) == name
            assert ledger.add_run(replace(new_run(run_id="never"), idempotency_key=name)) == name
            next_moment(ledger)
        for name in ODD_NAMES:
            self._check_odd_name(ledger, name)
        assert ids(ledger.list_runs()) == list(reversed(ODD_NAMES))
        assert len(ledger.list_activations()) == len(ODD_NAMES)

    def _check_odd_name(self, ledger: LedgerTransaction, name: str) -> None:
        run_id, activation_id = RunId(name), named(executor=name, run_id=name)
        assert ids(ledger.list_runs(workflow=name)) == [name]
        assert [found.id for found in ledger.claimable([name], limit=9)] == [activation_id]
        claimed = ledger.claim(activation_id, name, CLAIMS_S)
        assert claimed is not None
        assert (claimed.lease.id, claimed.workflow, claimed.queue) == (activation_id, name, name)
        assert ledger.keep_effect(claimed.lease, name, name, name)
        assert ledger.effects(run_id, name) == {name: name}
        assert [row.worker for row in ledger.list_activations(run_id=run_id)] == [name]
        ledger.request_cancel(run_id, name)
        ledger.note(run_id, name)
        assert (run_of(ledger, run_id).cancel_reason, run_of(ledger, run_id).note) == (name, name)

    def _accept_three(self, ledger: LedgerTransaction) -> None:
        for name, workflow in (("a", "crawl"), ("b", "flow"), ("c", "crawl")):
            ledger.add_run(replace(new_run(run_id=name), workflow=workflow))
            next_moment(ledger)

    def _accepted_with(self, ledger: LedgerTransaction, key: str) -> set[RunId]:
        """Accept four runs with one key; return the existing ones."""

        def accept(rival: int) -> RunId:
            return ledger.add_run(replace(new_run(run_id=f"{key}/{rival}"), idempotency_key=key))

        return set(at_once(4, accept))

    def _accepted_as(self, store: LedgerStore, name: str) -> int:
        """Accept four runs under one name; return how many were accepted."""

        def is_accepted(_: int) -> bool:
            try:
                in_one(store, lambda ledger: ledger.add_run(new_run(run_id=name)))
            except RunExistsError:
                return False
            return True

        return sum(at_once(4, is_accepted))


def ids(runs: Iterable[RunRow]) -> list[str]:
    """Return the ids of runs, in their order."""
    return [run.run_id for run in runs]


def _count_in_note(ledger: LedgerTransaction) -> None:
    found = ledger.run(RUN, lock=True)
    assert found is not None
    ledger.note(RUN, (found.note or "") + "x")
