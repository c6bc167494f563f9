"""What two crawls of one site say has changed between them: compared page by page in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Subquery, and_, case, func, literal, select, union_all
from sqlalchemy.orm import Session, aliased

from agentic.mappers import ExecutionModel, FrontierModel, FrontierState
from agentic.mappers.models import CrawlModel

LISTED = 100
"""Pages of a kind that are named; all are counted."""

_GONE = ("gone", "http_404", "http_410")


class Change(StrEnum):
    """What became of a page since the earlier crawl.

    ``UNKNOWN`` is a page that was fetched then and not now, for a reason that does not say that it is gone.
    """

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPage:
    """A page, and why it is taken for what it is, where that needs saying."""

    url: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """The pages of a crawl against those of an earlier one.

    Attributes:
        execution_id: The crawl.
        against_id: The earlier one.
        counts: Pages of each kind, all of them.
        pages: The first of each kind but unchanged, in the order they were found.
        is_whole: Whether the crawl fetched all it knew; if not, pages it never came to do not count as gone.
    """

    execution_id: str
    against_id: str
    counts: dict[Change, int]
    pages: dict[Change, tuple[ChangedPage, ...]]
    is_whole: bool


def earlier_crawl(session: Session, execution: ExecutionModel) -> ExecutionModel | None:
    """Return the newest earlier execution of the same agent that fetched pages, if there is one."""
    query = (
        select(ExecutionModel)
        .join(
            CrawlModel,
            and_(CrawlModel.project_id == ExecutionModel.project_id, CrawlModel.run == ExecutionModel.id),
        )
        .where(
            ExecutionModel.project_id == execution.project_id,
            ExecutionModel.agent_id == execution.agent_id,
            ExecutionModel.id != execution.id,
            ExecutionModel.created_at <= execution.created_at,
            CrawlModel.done > 0,
        )
        .order_by(ExecutionModel.created_at.desc(), ExecutionModel.id)
    )
    return session.scalars(query.limit(1)).first()


def compare_crawls(
    session: Session, execution: ExecutionModel, against: ExecutionModel, *, listed: int = LISTED
) -> ChangeReport:
    """Return what has changed from the crawl of ``against`` to that of ``execution``.

    Args:
        session: To read with.
        execution: The later one.
        against: The earlier one, of the same project.
        listed: Pages of each kind that are named.
    """
    crawl = session.get(CrawlModel, (execution.project_id, execution.id))
    is_whole = crawl is not None and crawl.total == crawl.done + crawl.failed
    kinds = _kinds(execution, against, is_whole=is_whole)
    counted = session.execute(select(kinds.c.kind, func.count()).group_by(kinds.c.kind))
    counts = {Change(kind): count for kind, count in counted if kind}
    named = [change for change in Change if change is not Change.UNCHANGED and counts.get(change)]
    return ChangeReport(
        execution_id=execution.id,
        against_id=against.id,
        counts={change: counts.get(change, 0) for change in Change},
        pages={change: tuple(_pages(session, kinds, change, listed)) for change in named},
        is_whole=is_whole,
    )


def _pages(session: Session, kinds: Subquery, change: Change, listed: int) -> Sequence[ChangedPage]:
    query = select(kinds.c.url, kinds.c.reason).where(kinds.c.kind == change.value)
    rows = session.execute(query.order_by(kinds.c.id).limit(listed))
    return [ChangedPage(url=url, reason=reason or "") for url, reason in rows]


def _kinds(execution: ExecutionModel, against: ExecutionModel, *, is_whole: bool) -> Subquery:
    """Return every page of either crawl with its kind; none for what neither of them fetched."""
    now, then = aliased(FrontierModel), aliased(FrontierModel)
    is_of_now = and_(now.project_id == execution.project_id, now.run == execution.id)
    was_fetched = and_(
        then.project_id == against.project_id,
        then.run == against.id,
        then.state == FrontierState.DONE,
    )
    is_same_page = now.url_key == then.url_key
    kind, reason = _kind_and_reason(now, then)
    known = (
        select(now.id.label("id"), now.url.label("url"), kind.label("kind"), reason.label("reason"))
        .outerjoin(then, and_(was_fetched, is_same_page))
        .where(is_of_now)
    )
    missing, why = (Change.GONE, "no page leads there") if is_whole else (Change.UNKNOWN, "not found yet")
    lost = (
        select(then.id, then.url, literal(missing.value), literal(why))
        .outerjoin(now, and_(is_of_now, is_same_page))
        .where(was_fetched, now.id.is_(None))
    )
    return union_all(known, lost).subquery("kinds")


def _kind_and_reason(
    now: type[FrontierModel], then: type[FrontierModel]
) -> tuple[ColumnElement[str], ColumnElement[str]]:
    """Return, as SQL, what a page of the later crawl is; ``then`` is null if the earlier one had it not."""
    is_done, was_done = now.state == FrontierState.DONE, then.id.is_not(None)
    is_told = and_(now.content_hash.is_not(None), then.content_hash.is_not(None))
    kind = case(
        (and_(is_done, ~was_done), Change.NEW.value),
        (and_(is_done, ~is_told), Change.UNKNOWN.value),
        (and_(is_done, now.content_hash == then.content_hash), Change.UNCHANGED.value),
        (is_done, Change.CHANGED.value),
        (and_(was_done, now.failure_class.in_(_GONE)), Change.GONE.value),
        (was_done, Change.UNKNOWN.value),
        else_="",
    )
    reason = case(
        (and_(is_done, was_done, ~is_told), "no hash of it is kept"),
        (is_done, ""),
        else_=func.coalesce(now.failure_class, "not fetched yet"),
    )
    return kind, reason
