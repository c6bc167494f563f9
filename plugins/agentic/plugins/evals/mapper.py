"""Stores tried cases as rows of ``eval_cases``."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.evals.results import CaseResult
from agentic.core.evals.spec import EvalSpec
from agentic.mappers import ResultMapper
from agentic.plugins.evals.models import EvalCaseModel
from agentic.plugins.evals.rows import row_of


class EvalResultMapper(ResultMapper):
    """Upserts cases by run, case and repeat."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the summary; each case is stored at its end."""
        return self.save_agent_result(results)

    def save_case(self, spec: EvalSpec, result: CaseResult) -> None:
        """Store a try."""
        self.save_rows(EvalCaseModel, [row_of(self.execution_id, spec, result)])
