"""Stores quotes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic.mappers import ResultMapper
from agentic_plugin_quotes.models import QuoteModel


class QuotesMapper(ResultMapper):
    """Upserts by id: running the agent again doubles nothing and erases nothing."""

    def save_results(self, results: Mapping[str, Any]) -> bool:
        """Store the general result, then the rows; one bad entry is a warning."""
        if not self.save_agent_result(results):
            return False
        for sentence in results["warnings"]:
            self.warn(sentence)
        self.save_rows(QuoteModel, results["quotes"])
        return True
