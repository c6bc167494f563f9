"""The contract of every ledger for neglected runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.testing.ledger.cases import (
    FIRST,
    IN_REVIEW,
    LATER,
    LONG_S,
    OTHER,
    RUN,
    Act,
    UsesLedger,
    claim,
    close,
    due,
    new_run,
    run_of,
    step,
)
from agentic.core.testing.ledger.runs import FINAL, ids


def _given(
    *, deadline_s: float = LONG_S, wake_s: float = LONG_S, status: RunStatus = RunStatus.RUNNING
) -> Act:
    """Return a change that gives a run these times and this state."""

    def give(ledger: LedgerTransaction) -> None:
        later = step(2, 1, due(superstep=1) if status is RunStatus.RUNNING else (), status=status)
        now = ledger.now()
        ledger.advance(RUN, 0, 1, replace(later, deadline=now + deadline_s, wake_at=now + wake_s))

    return give


def _cancel_while_one_runs(ledger: LedgerTransaction) -> None:
    claim(ledger)
    ledger.request_cancel(RUN, "a reason")


def _pause_what_is_complete(ledger: LedgerTransaction) -> None:
    close(ledger)
    ledger.pause(RUN, is_paused=True)


# Possible states of a run that needs a decision.
NEGLECTED: Mapping[str, Act] = {
    "its superstep is complete": close,
    "its superstep has no activations": lambda ledger: ledger.advance(RUN, 0, 1, step(2, 1)),
    "it is complete and paused": _pause_what_is_complete,
    "its deadline has passed": _given(deadline_s=-1.0),
    "its deadline passed while it rested": _given(deadline_s=-1.0, status=RunStatus.WAITING_INPUT),
    "the deadline of a request passed": _given(wake_s=-1.0, status=RunStatus.WAITING_INPUT),
    "the deadline of a request passed while it ran": _given(wake_s=-1.0),
    "nothing runs and it is to be cancelled": lambda ledger: ledger.request_cancel(RUN, "a reason"),
}
LOOKED_AFTER: Mapping[str, Act] = {
    "it can go on": lambda _: None,
    "one of it runs": claim,
    "one of it runs and was lost": lambda ledger: claim(ledger, lease_s=-1.0),
    "one of it is to be run later": lambda ledger: close(ledger, FIRST, LATER),
    "one of it waits for a person": lambda ledger: close(ledger, FIRST, IN_REVIEW),
    "it is paused": lambda ledger: ledger.pause(RUN, is_paused=True),
    "it has time": _given(),
    "it rests": _given(status=RunStatus.WAITING_INPUT),
    "it was just asked to end": _cancel_while_one_runs,
    **{f"it is {status}": _given(deadline_s=-1.0, wake_s=-1.0, status=status) for status in FINAL},
}


class LedgerNeglectContract(UsesLedger):
    """Neglected runs."""

    @pytest.mark.parametrize("neglect", [pytest.param(act, id=name) for name, act in NEGLECTED.items()])
    def test_a_run_that_somebody_has_to_decide_about_is_found(
        self, ledger: LedgerTransaction, neglect: Act
    ) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=OTHER))
        neglect(ledger)
        assert list(ledger.neglected_runs(cancel_grace_s=60.0)) == [run_of(ledger)]

    def test_a_run_that_was_to_be_cancelled_long_ago_is_found(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.add_run(new_run(run_id=OTHER))
        _cancel_while_one_runs(ledger)
        assert list(ledger.neglected_runs(cancel_grace_s=-1.0)) == [run_of(ledger)]

    @pytest.mark.parametrize("act", [pytest.param(act, id=name) for name, act in LOOKED_AFTER.items()])
    def test_a_run_that_is_looked_after_is_not(self, ledger: LedgerTransaction, act: Act) -> None:
        ledger.add_run(new_run())
        act(ledger)
        assert not ledger.neglected_runs(cancel_grace_s=60.0)

    def test_of_neglected_runs_so_many_are_found_as_wanted(self, ledger: LedgerTransaction) -> None:
        for name in "abcd":
            ledger.add_run(new_run([], run_id=name))
        assert len(ledger.neglected_runs(cancel_grace_s=60.0, limit=3)) == 3
        assert sorted(ids(ledger.neglected_runs(cancel_grace_s=60.0))) == ["a", "b", "c", "d"]
