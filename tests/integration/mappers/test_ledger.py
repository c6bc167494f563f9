"""The ledger in SQL."""

from __future__ import annotations

import pytest

from agentic.core.testing import LedgerContract
from agentic.core.testing.ledger.cases import MakeStore
from agentic.mappers import Database, ProjectModel, add_project
from agentic.mappers.ledger import SqlLedger

pytestmark = pytest.mark.integration


@pytest.fixture
def make_store(migrated_database: Database) -> MakeStore:
    """Return a function that makes a project's ledger."""

    def make(max_running: int | None = None) -> SqlLedger:
        with migrated_database.writing() as session:
            project: ProjectModel = add_project(session, "ours")
            project.max_running = max_running
            return SqlLedger(migrated_database, project_id=project.id)

    return make


class TestSqlLedger(LedgerContract):
    @pytest.fixture
    def make_store(self, make_store: MakeStore) -> MakeStore:
        return make_store
