"""The mapper of platforms without their own."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.mappers import ResultMapper


class GeneralResultMapper(ResultMapper):
    """Stores the general result of an execution, and no rows."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the short form of ``results``."""
        return self.save_agent_result(results)
