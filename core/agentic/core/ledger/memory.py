"""The ledger in memory: for tests, and for runs that end with their process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from threading import RLock

from agentic.core.audit import Decision
from agentic.core.ledger.errors import LedgerError, NoDatabaseError
from agentic.core.ledger.memory_activations import MemoryActivations
from agentic.core.ledger.memory_rows import DecisionRow, Rows, UsesRows
from agentic.core.ledger.memory_runs import MemoryRuns
from agentic.core.ledger.memory_states import MemoryStates
from agentic.core.ledger.port import LedgerTransaction, OnCommit


class MemoryLedger:
    """A :class:`~agentic.core.ledger.port.LedgerStore` that ends with its process.

    It is thread-safe: transactions take turns. The cost of a transaction depends on its reads and writes,
    not on the number of runs. Only the newest checkpoint of each run is kept.
    """

    def __init__(self, clock: Callable[[], float] = time.time, *, max_running: int | None = None) -> None:
        """Create an empty ledger.

        Args:
            clock: Returns seconds since the epoch.
            max_running: How many activations may run at a time, over all runs; None for no limit.
        """
        self._rows = Rows(clock, max_running)
        self._turn = RLock()
        self._is_busy = False

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        """Begin a transaction after the transactions of other threads have ended.

        Raises:
            LedgerError: This thread is already in a transaction.
        """
        with self._turn:
            if self._is_busy:
                raise LedgerError(
                    "this thread is already in a transaction of the ledger; continue in that one, or open "
                    "a part() of it"
                )
            self._is_busy = True
            try:
                with self._rows.journal.savepoint():
                    yield _Transaction(self._rows)
            finally:
                self._rows.journal.keep()
                self._is_busy = False

    def close(self) -> None:
        """Do nothing: there are no connections."""


class MemoryDecisions(UsesRows):
    """Implements :class:`agentic.core.ledger.port.Decisions`."""

    def add_decisions(self, decisions: Sequence[Decision]) -> None:
        """Record decisions; a decision whose id exists already is skipped."""
        table = self._rows.decisions
        for decision in decisions:
            if table.get(decision.id) is None:
                table.put(decision.id, DecisionRow(len(table), decision))

    def decisions(self, *, unpublished: bool = False, limit: int = 1000) -> Sequence[Decision]:
        """Return decisions in the order they were recorded."""
        found = self._rows.decisions.listed("unpublished" if unpublished else "all")
        return [kept.decision for kept in islice(found, limit)]

    def mark_decisions(self, ids: Sequence[str]) -> None:
        """Mark decisions as published."""
        table = self._rows.decisions
        for name in ids:
            kept = table.get(name)
            if kept is not None and not kept.is_published:
                table.put(name, replace(kept, is_published=True))


class _Transaction(MemoryRuns, MemoryActivations, MemoryStates, MemoryDecisions):
    """Implements :class:`~agentic.core.ledger.port.LedgerTransaction`."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Begin a part: when the block raises, only the writes of the block are undone."""
        return self._rows.journal.savepoint()

    def apply(self, functions: Sequence[OnCommit]) -> None:
        """Refuse to call functions: a ledger in memory has no session.

        Raises:
            NoDatabaseError: There is a function.
        """
        if functions:
            raise NoDatabaseError
