"""The contract of every ledger for decisions."""

from __future__ import annotations

from agentic.core.audit import Decision, DecisionKind
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.testing.ledger.cases import RUN, UsesLedger

ODD = 'née 漢字 🐍 \\u0000 "'


def decision(number: int = 1, text: str = "because") -> Decision:
    """Return a decision for a test."""
    return Decision(
        id=f"decision {number}",
        time=1_764_000_000.5 - number,  # clocks differ: the order of writing counts
        kind=DecisionKind.CANCEL_REQUESTED,
        subject=RUN,
        who="anna",
        what="the run is to end",
        reason=text,
        details={"attempt": 2, "near": [1.5, None, text]},
    )


class LedgerDecisionsContract(UsesLedger):
    """Decisions that no event reports; the first one in a ledger may be the addition of its project."""

    def test_decisions_come_back_as_they_were_written_and_in_that_order(
        self, ledger: LedgerTransaction
    ) -> None:
        before = len(ledger.decisions())
        written = [decision(number, ODD) for number in (1, 2, 3)]
        ledger.add_decisions(written[:2])
        ledger.add_decisions(written[2:])
        assert list(ledger.decisions())[before:] == written
        assert list(ledger.decisions(limit=before + 2))[before:] == written[:2]

    def test_a_decision_is_written_down_once(self, ledger: LedgerTransaction) -> None:
        before = len(ledger.decisions())
        ledger.add_decisions([decision(1)])
        ledger.add_decisions([decision(1, "another reason"), decision(2)])
        assert list(ledger.decisions())[before:] == [decision(1), decision(2)]

    def test_a_decision_that_was_published_is_not_published_again(self, ledger: LedgerTransaction) -> None:
        ledger.mark_decisions([one.id for one in ledger.decisions()])
        ledger.add_decisions([decision(1), decision(2), decision(3)])
        ledger.mark_decisions(["decision 2", "unknown"])
        assert list(ledger.decisions(unpublished=True)) == [decision(1), decision(3)]
        ledger.add_decisions([decision(2)])
        assert list(ledger.decisions(unpublished=True, limit=1)) == [decision(1)]
