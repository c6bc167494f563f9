"""Chat agents keep what every platform promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract, Ran, RunAgent
from agentic.mappers import AgentResultModel, Database
from agentic.plugins.chat.models import ChatTurnModel

if TYPE_CHECKING:
    from tests.integration.plugins.chat.conftest import Write

pytestmark = pytest.mark.integration

SCRIPT = "- call: {find_order: {number: 7}}\n- Order 7 is a lamp.\n"


class TestChat(PlatformContract):
    platform = "chat"
    model = ChatTurnModel
    row_count = 1

    @pytest.fixture
    def run_agent(self, agentic_database: Database) -> RunAgent:
        return RunAgent(agentic_database)

    @pytest.fixture
    def config(self, write: Write) -> dict[str, JSONValue]:
        return write(SCRIPT)

    def test_a_second_run_doubles_nothing(self, config: Mapping[str, JSONValue], run_agent: RunAgent) -> None:
        """Each execution is a turn of its own, so the same execution runs again."""
        queued = run_agent.queue(self.platform, config)
        run_agent.run(queued)
        assert len(run_agent.run(queued).rows(self.model)) == self.row_count

    def _left(self, ran: Ran) -> tuple[int, int]:
        """Count the rows of one execution: the one before it has left its own."""
        of_project = AgentResultModel.project_id == ran.project_id
        with ran.database.reading() as session:
            results = session.scalar(select(func.count()).select_from(AgentResultModel).where(of_project))
        rows = [row for row in ran.rows(ChatTurnModel) if row.execution_id == ran.outcome.execution_id]
        return len(rows), results or 0
