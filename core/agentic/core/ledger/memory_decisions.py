"""Decisions in a ledger in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from agentic.core.audit import Decision
from agentic.core.ledger.memory_rows import KeptDecision, UsesRows


class MemoryDecisions(UsesRows):
    """Implements :class:`agentic.core.ledger.port.Decisions`."""

    def add_decisions(self, decisions: Sequence[Decision]) -> None:
        """Record decisions; a decision whose id exists already is skipped."""
        table = self._rows.decisions
        for decision in decisions:
            if table.get(decision.id) is None:
                table.put(decision.id, KeptDecision(len(table), decision))

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
