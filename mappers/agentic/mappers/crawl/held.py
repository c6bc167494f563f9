"""Crawls that hold pages, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.core.pipeline.drift.crawls import load_crawl_watch
from agentic.core.pipeline.drift.incidents import Incident
from agentic.core.pipeline.repairs.store import DriftedPages
from agentic.mappers.tables.core import (
    AgentModel,
    CrawlModel,
    ExecutionModel,
    ExecutionStatus,
    FrontierModel,
    FrontierState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCrawl:
    """A crawl that holds pages.

    Attributes:
        execution_id: Its execution, which is also its run.
        agent: Name of the agent.
        held: Pages that wait.
        total: Pages it knows.
        done: Pages it has fetched.
        incidents: Why it holds them, one for each kind.
    """

    execution_id: str
    agent: str
    held: int
    total: int
    done: int
    incidents: Sequence[Incident]


def held_crawls(session: Session, project_id: str, execution_id: str | None = None) -> Sequence[HeldCrawl]:
    """Return the crawls of a project that hold pages and have not ended, oldest first.

    Args:
        session: Any.
        project_id: Owns them.
        execution_id: Only of this execution.
    """
    crawl, execution = CrawlModel, ExecutionModel
    query = (
        select(crawl, execution.id, AgentModel.agent_name)
        .join(execution, (execution.project_id == crawl.project_id) & (execution.id == crawl.run))
        .join(AgentModel, AgentModel.id == execution.agent_id)
        .where(
            crawl.project_id == project_id,
            crawl.holds != "",
            execution.status.in_([ExecutionStatus.QUEUED, ExecutionStatus.RUNNING]),
        )
        .order_by(execution.created_at, execution.id)
    )
    if execution_id is not None:
        query = query.where(execution.id == execution_id)
    return [
        HeldCrawl(
            execution_id=found_id,
            agent=agent,
            held=row.held,
            total=row.total,
            done=row.done,
            incidents=load_crawl_watch(row.watch).incidents,
        )
        for row, found_id, agent in session.execute(query)
    ]


def drifted_pages(session: Session, project_id: str, execution_id: str, limit: int) -> DriftedPages:
    """Return pages of a crawl that are held, and pages that raised the alarm, in the order they were found.

    Args:
        session: Any.
        project_id: Owns the crawl.
        execution_id: Its execution.
        limit: Of each sort.
    """
    page = FrontierModel
    crawl = session.get(CrawlModel, (project_id, execution_id))
    suspects = [] if crawl is None else load_crawl_watch(crawl.watch).suspects
    mine = select(page.url).where(page.project_id == project_id, page.run == execution_id)
    held = mine.where(page.state == FrontierState.HELD).order_by(page.id).limit(limit)
    seen = mine.where(page.url_key.in_(suspects)).order_by(page.id).limit(limit)
    return DriftedPages(held=session.scalars(held).all(), suspects=session.scalars(seen).all())
