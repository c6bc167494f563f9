"""Evaluations keep what every platform promises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.integration.plugins.evals.conftest import shouting

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract, Ran, RunAgent
from agentic.mappers import AgentResultModel, Database
from agentic.plugins.evals.models import EvalCaseModel

pytestmark = pytest.mark.integration


class TestEvals(PlatformContract):
    platform = "evals"
    model = EvalCaseModel
    row_count = 2

    @pytest.fixture
    def run_agent(self, agentic_database: Database) -> RunAgent:
        return RunAgent(agentic_database)

    @pytest.fixture
    def config(self, folder: Path) -> dict[str, JSONValue]:
        return shouting()

    def test_a_second_run_doubles_nothing(self, config: Mapping[str, JSONValue], run_agent: RunAgent) -> None:
        """Each execution has rows of its own, so the same execution runs again."""
        queued = run_agent.queue(self.platform, config)
        run_agent.run(queued)
        assert len(run_agent.run(queued).rows(self.model)) == self.row_count

    def _left(self, ran: Ran) -> tuple[int, int]:
        """Count the rows of one execution with a result: tries are stored as they end, before it has one."""
        of_project = AgentResultModel.project_id == ran.project_id
        with ran.database.reading() as session:
            results = session.scalar(select(func.count()).select_from(AgentResultModel).where(of_project))
        rows = [row for row in ran.rows(EvalCaseModel) if row.execution_id == ran.outcome.execution_id]
        return len(rows) if results else 0, results or 0
