"""Copy the frontier of a crawl to another execution, which works on some of its pages again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Insert, and_, case, false, func, insert, literal, not_, or_, select
from sqlalchemy.orm import Session

from agentic.mappers.tables.core import CrawlModel, ExecutionModel, FrontierModel, FrontierState

_PAGE = ("project_id", "url_key", "url", "depth")
_RESULT = ("attempts", "failure_class", "message", "content_hash", "tries", "page_key", "item_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesAgain:
    """The pages that a copied crawl works on again.

    Attributes:
        read: Those that it reads from storage; None for no page.
        fetch: Those that it fetches; None for no page.
        unstored: Fetched pages that it leaves as they are because they are not stored.
        is_offline: Whether it fetches no page, known or new.
    """

    read: ColumnElement[bool] | None = None
    fetch: ColumnElement[bool] | None = None
    unstored: int = 0
    is_offline: bool = False

    @property
    def conditions(self) -> Sequence[ColumnElement[bool]]:
        """The conditions for pages to work on."""
        return [one for one in (self.read, self.fetch) if one is not None]


def copy_crawl(session: Session, execution: ExecutionModel, made: ExecutionModel, again: PagesAgain) -> None:
    """Copy the crawl of ``execution`` to ``made``: pages to work on again as new, the others unchanged."""
    new = literal(FrontierState.NEW, FrontierModel.state.type)
    mine = (FrontierModel.project_id == execution.project_id, FrontierModel.run == execution.id)
    is_open = FrontierModel.state.in_([FrontierState.TAKEN, FrontierState.HELD])
    state = case((is_open, new), else_=FrontierModel.state)
    parts = [  # a crawl claims the oldest pages first
        ((*_PAGE, "page_key"), new, again.read),
        (_PAGE, new, again.fetch),
        ((*_PAGE, *_RESULT), state, and_(*map(not_, again.conditions))),
    ]
    for names, row_state, condition in parts:
        if condition is None:
            continue
        columns = (getattr(FrontierModel, name) for name in names)
        rows = select(*columns, literal(made.id), row_state, false()).where(*mine, condition)
        session.execute(
            insert(FrontierModel).from_select(
                [*names, "run", "state", "is_letter"], rows.order_by(FrontierModel.id)
            )
        )
    session.execute(_counts(session, execution, made, again))


def count_pages(session: Session, execution: ExecutionModel, *which: ColumnElement[bool]) -> int:
    """Return how many pages of a crawl fulfil the conditions."""
    mine = (FrontierModel.project_id == execution.project_id, FrontierModel.run == execution.id)
    query = select(func.count()).select_from(FrontierModel).where(*mine, *which)
    return session.scalar(query) or 0


def _counts(session: Session, execution: ExecutionModel, made: ExecutionModel, again: PagesAgain) -> Insert:
    """Return the statement that stores the counts of the crawl of ``made``."""
    crawl = CrawlModel
    done = FrontierModel.state == FrontierState.DONE
    failed = FrontierModel.state == FrontierState.FAILED
    read = again.read
    again_done = (done, or_(*again.conditions)) if again.conditions else ()
    mine = (FrontierModel.project_id == execution.project_id, FrontierModel.run == execution.id)
    items = select(func.sum(FrontierModel.item_count)).where(*mine, *again_done)
    counts = {
        "project_id": crawl.project_id,
        "run": literal(made.id),
        "total": crawl.total,
        "done": crawl.done - (count_pages(session, execution, *again_done) if again_done else 0),
        "failed": crawl.failed - count_pages(session, execution, failed, or_(false(), *again.conditions)),
        "excluded": crawl.excluded,
        "items": crawl.items - ((session.scalar(items) or 0) if again_done else 0),
        "moves": crawl.moves,
        "to_reread": literal(0 if read is None else count_pages(session, execution, read)),
        "unstored": literal(again.unstored),
        "is_offline": literal(again.is_offline),
    }
    copied = select(*counts.values()).where(
        crawl.project_id == execution.project_id, crawl.run == execution.id
    )
    return insert(CrawlModel).from_select(list(counts), copied)
