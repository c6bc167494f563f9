"""Counts of stored data so far: crawls update them with each commit of pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.core.http.exits.uses import ProxyUse, load_uses
from agentic.core.types import JSONValue
from agentic.mappers.tables.core import CrawlModel, ExecutionModel

COUNT_NAMES = ("inserted", "updated", "unchanged", "rejected", "failed")
"""Rows by result, and failed pages, items and steps."""


def counts_so_far(
    session: Session, project_id: str, executions: Iterable[ExecutionModel]
) -> dict[str, Mapping[str, JSONValue]]:
    """Return the counts of executions by id; without results, the counts that their crawls committed.

    These are read and not stored, because a commit may arrive just after an execution was cancelled.
    """
    executions = list(executions)
    without = [each.id for each in executions if not each.has_all_results]
    crawled = crawl_counts(session, project_id, without) if without else {}
    return {each.id: crawled.get(each.id, each.counts) for each in executions}


def crawl_counts(
    session: Session, project_id: str, execution_ids: Iterable[str]
) -> dict[str, Mapping[str, JSONValue]]:
    """Return the committed counts of executions' crawls; executions without a crawl are left out."""
    of_crawls = (CrawlModel.project_id == project_id, CrawlModel.run.in_(list(execution_ids)))
    query = select(
        CrawlModel.run,
        CrawlModel.inserted,
        CrawlModel.updated,
        CrawlModel.unchanged,
        CrawlModel.rejected,
        CrawlModel.failed - CrawlModel.excluded,
    ).where(*of_crawls)
    return {run: dict(zip(COUNT_NAMES, counts, strict=True)) for run, *counts in session.execute(query)}


def proxies_so_far(session: Session, execution: ExecutionModel) -> tuple[ProxyUse, ...]:
    """Return the requests of an execution through each of several proxies.

    Without results, these are the requests that its crawl committed.
    """
    if execution.has_all_results:
        return load_uses(execution.proxies)
    crawl = session.get(CrawlModel, (execution.project_id, execution.id))
    return () if crawl is None else load_uses(crawl.proxies)
