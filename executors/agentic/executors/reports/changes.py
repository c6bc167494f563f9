"""Changes between two crawls of one site, compared page by page in the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Executable, Subquery, and_, case, func, null, select
from sqlalchemy.orm import Session, aliased

from agentic.executors.errors import ExecutionError
from agentic.mappers import ExecutionModel, FrontierModel, FrontierState
from agentic.mappers.tables.core import CrawlModel

LISTED = 100
"""Pages listed per kind; all are counted."""

_GONE = ("gone", "http_404", "http_410")
_WHY = {True: "no page links to it", False: "not found yet"}


class PageChange(StrEnum):
    """How a page has changed since the earlier crawl.

    ``UNKNOWN`` is a page fetched then but not now, for a reason that does not prove that it is gone.
    """

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"


_STATES = {
    PageChange.NEW: FrontierState.DONE,
    PageChange.CHANGED: FrontierState.DONE,
    PageChange.GONE: FrontierState.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPage:
    """A page, and the reason for its kind, where one is needed."""

    url: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """The pages of a crawl compared with an earlier one.

    Attributes:
        execution_id: The crawl.
        against_id: The earlier one.
        counts: Pages of each kind, all of them.
        pages: The first pages of each kind except unchanged, in the order they were found.
        is_whole: Whether the crawl fetched all known pages; if not, pages not reached do not count as gone.
    """

    execution_id: str
    against_id: str
    counts: dict[PageChange, int]
    pages: dict[PageChange, tuple[ChangedPage, ...]]
    is_whole: bool


class NoEarlierCrawlError(ExecutionError, LookupError):
    """There is no crawl to compare with."""

    def __init__(self, execution_id: str, agent: str) -> None:
        super().__init__(
            f"agent {agent!r} has no crawl before execution {execution_id}; "
            f"name another one with --against (`agentic executions list`)"
        )
        self.execution_id = execution_id
        self.agent = agent


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
    """Return the changes from the crawl of ``against`` to the crawl of ``execution``.

    Args:
        session: To read with.
        execution: The later one.
        against: The earlier one, of the same project.
        listed: Number of pages to list per kind.
    """
    now, then = aliased(FrontierModel), aliased(FrontierModel)
    return _Comparison(session, execution, against, now, then).report(listed)


@dataclass(frozen=True, slots=True)
class _Comparison:
    session: Session
    execution: ExecutionModel
    against: ExecutionModel
    now: type[FrontierModel]
    then: type[FrontierModel]

    def report(self, listed: int) -> ChangeReport:
        is_whole = self._is_whole()
        known = self._known()
        counted = self.session.execute(select(known.c.kind, func.count()).group_by(known.c.kind))
        counts = dict.fromkeys(PageChange, 0) | {PageChange(kind): count for kind, count in counted if kind}
        named = [change for change in PageChange if counts[change] and change is not PageChange.UNCHANGED]
        pages: dict[PageChange, list[ChangedPage]] = {
            change: self._pages(_of_kind(known, change, listed)) for change in named
        }
        if lost := self._lost_count(counts):
            change = PageChange.GONE if is_whole else PageChange.UNKNOWN
            counts[change] += lost
            found = pages.get(change, [])
            pages[change] = found + self._pages(self._lost(listed - len(found)), _WHY[is_whole])
        return ChangeReport(
            execution_id=self.execution.id,
            against_id=self.against.id,
            counts=counts,
            pages={change: tuple(pages[change]) for change in PageChange if change in pages},
            is_whole=is_whole,
        )

    def _is_whole(self) -> bool:
        crawl = self.session.get(CrawlModel, (self.execution.project_id, self.execution.id))
        return crawl is not None and crawl.total == crawl.done + crawl.failed

    def _known(self) -> Subquery:
        """Return the pages that the later crawl knows, each with its kind; unfetched pages have none."""
        kind, reason = _kind_and_reason(self.now, self.then)
        return (
            select(
                self.now.id.label("id"),
                self.now.url.label("url"),
                self.now.state.label("state"),
                kind.label("kind"),
                reason.label("reason"),
            )
            .outerjoin(self.then, and_(*self._was_fetched, self._is_same_page))
            .where(*self._is_of_now)
            .subquery("known")
        )

    def _lost_count(self, counts: Mapping[PageChange, int]) -> int:
        """Return how many pages only the earlier crawl has: all it fetched except the later crawl's pages."""
        fetched = self.session.scalar(select(func.count()).where(*self._was_fetched)) or 0
        return fetched - sum(count for change, count in counts.items() if change is not PageChange.NEW)

    def _lost(self, limit: int) -> Executable:
        return (
            select(self.then.url.label("url"), null().label("reason"))
            .outerjoin(self.now, and_(*self._is_of_now, self._is_same_page))
            .where(*self._was_fetched, self.now.id.is_(None))
            .order_by(self.then.id)
            .limit(limit)
        )

    def _pages(self, query: Executable, why: str = "") -> list[ChangedPage]:
        rows = self.session.execute(query)
        return [ChangedPage(url=row.url, reason=row.reason or why) for row in rows]

    @property
    def _is_same_page(self) -> ColumnElement[bool]:
        return self.now.url_key == self.then.url_key

    @property
    def _is_of_now(self) -> tuple[ColumnElement[bool], ...]:
        return (self.now.project_id == self.execution.project_id, self.now.run == self.execution.id)

    @property
    def _was_fetched(self) -> tuple[ColumnElement[bool], ...]:
        of_then = (self.then.project_id == self.against.project_id, self.then.run == self.against.id)
        return (*of_then, self.then.state == FrontierState.DONE)


def _of_kind(known: Subquery, change: PageChange, limit: int) -> Executable:
    """Return the pages of a kind in the order they were found: the order of the index within a state."""
    query = select(known.c.url, known.c.reason).where(known.c.kind == change.value)
    state = _STATES.get(change)
    if state is not None:
        query = query.where(known.c.state == state)
    return query.order_by(known.c.id).limit(limit)


def _kind_and_reason(
    now: type[FrontierModel], then: type[FrontierModel]
) -> tuple[ColumnElement[str], ColumnElement[str]]:
    """Return, as SQL, the kind of a later crawl's page; ``then`` is null if the earlier one lacks it."""
    is_done, was_done = now.state == FrontierState.DONE, then.id.is_not(None)
    is_told = and_(now.content_hash.is_not(None), then.content_hash.is_not(None))
    kind = case(
        (and_(is_done, ~was_done), PageChange.NEW.value),
        (and_(is_done, ~is_told), PageChange.UNKNOWN.value),
        (and_(is_done, now.content_hash == then.content_hash), PageChange.UNCHANGED.value),
        (is_done, PageChange.CHANGED.value),
        (and_(was_done, now.failure_class.in_(_GONE)), PageChange.GONE.value),
        (was_done, PageChange.UNKNOWN.value),
        else_="",
    )
    reason = case(
        (and_(is_done, was_done, ~is_told), "its hash is not stored"),
        (is_done, ""),
        else_=func.coalesce(now.failure_class, "not fetched yet"),
    )
    return kind, reason
