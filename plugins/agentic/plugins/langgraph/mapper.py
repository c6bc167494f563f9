"""Stores results as rows of ``langgraph_runs``."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.mappers import ResultMapper
from agentic.plugins.langgraph.models import LangGraphRunModel


class LangGraphResultMapper(ResultMapper):
    """Upserts results by thread and turn."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the result."""
        if not self.save_agent_result(results):
            return False
        self.save_rows(LangGraphRunModel, [dict(results)])
        return True
