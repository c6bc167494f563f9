"""Executions with frontiers, in a database of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from agentic.core.types import JSONValue
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    FrontierModel,
    FrontierState,
    add_agent,
    add_project,
)
from agentic.mappers.tables.core import CrawlModel

NOW = datetime(2026, 5, 4, 10, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Known:
    """A page of a frontier: the hash of what was fetched, or why nothing was; neither if it is still new."""

    content: str | None = None
    failure: str | None = None
    tries: Sequence[JSONValue] | None = None

    @property
    def state(self) -> FrontierState:
        if self.failure is not None:
            return FrontierState.FAILED
        return FrontierState.NEW if self.content is None else FrontierState.DONE


@dataclass
class Archive:
    """What there is in a database."""

    database: Database
    agent: AgentModel
    count: int = 0

    def crawl(self, pages: Mapping[str, Known]) -> ExecutionModel:
        """Add an execution, later than those before, whose crawl knows these pages."""
        self.count += 1
        with self.database.writing() as session:
            at = NOW + timedelta(hours=self.count)
            execution = ExecutionModel(
                project_id=self.agent.project_id, agent_id=self.agent.id, created_at=at, started_at=at
            )
            session.add(execution)
            session.flush()
            self._fill(session, execution, pages)
            return execution

    def _fill(self, session: Session, execution: ExecutionModel, pages: Mapping[str, Known]) -> None:
        owner = {"project_id": execution.project_id, "run": execution.id}
        for url, page in pages.items():
            row = FrontierModel(
                **owner,
                url=url,
                url_key=url[-64:],
                depth=0,
                state=page.state,
                failure_class=page.failure,
                message=page.failure and f"{url} was not fetched",
                content_hash=page.content or None,
                tries=page.tries,
            )
            session.add(row)
        states = [page.state for page in pages.values()]
        done, failed = states.count(FrontierState.DONE), states.count(FrontierState.FAILED)
        session.add(CrawlModel(**owner, total=len(pages), done=done, failed=failed))


@pytest.fixture
def archive(migrated_database: Database) -> Archive:
    with migrated_database.writing() as session:
        agent = add_agent(session, add_project(session, "reports"), "shop", "toy")
    return Archive(migrated_database, agent)
