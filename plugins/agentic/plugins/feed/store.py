"""How the feeds of a project stand, read from SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import or_, select

from agentic.core.http import url_key
from agentic.mappers import Database
from agentic.plugins.feed.models import FeedModel
from agentic.plugins.feed.polls import FeedState

Known = Callable[[Sequence[str]], list[FeedState]]
"""Returns how those of the given URLs stand that are known; may block."""

BATCH = 500


def known_feeds(database: Database, project_id: str, urls: Sequence[str]) -> list[FeedState]:
    """Return how the feeds stand that were first known by one of ``urls``, or are there now; blocks."""
    keys = [url_key(url) for url in urls]
    found: dict[str, FeedState] = {}
    with database.reading() as session:
        for start in range(0, len(keys), BATCH):
            some = keys[start : start + BATCH]
            query = (
                select(FeedModel)
                .where(FeedModel.project_id == project_id)
                .where(or_(FeedModel.id.in_(some), FeedModel.url_key.in_(some)))
                .order_by(FeedModel.id)
            )
            found |= {row.id: state_of(row) for row in session.scalars(query)}
    return list(found.values())


def state_of(row: FeedModel) -> FeedState:
    """Return how the feed of ``row`` stands."""
    return FeedState.model_validate({name: getattr(row, name) for name in FeedState.model_fields})
