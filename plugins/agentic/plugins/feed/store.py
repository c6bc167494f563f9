"""The states of a project's feeds, read from SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import or_, select

from agentic.core.http import url_key
from agentic.mappers import AgentModel, Database
from agentic.plugins.feed.models import FeedModel
from agentic.plugins.feed.polls import FeedState

Known = Callable[[Sequence[str]], list[FeedState]]
"""Returns the states of the given URLs that are known; may block."""

BATCH = 500


def known_feeds(database: Database, project_id: str, urls: Sequence[str]) -> list[FeedState]:
    """Return the states of feeds whose first or current URL is in ``urls``; blocks."""
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


def troubled_feeds(
    database: Database, agent: AgentModel, urls: Sequence[str], *, is_all: bool
) -> list[FeedState]:
    """Return the failing or gone feeds of an agent, the longest failing first; blocks.

    Args:
        database: Contains them.
        agent: Watches them.
        urls: Of feeds in its own list.
        is_all: Include the feeds that it polled last, because the content of its OPML is unknown here.
    """
    keys = {url_key(url) for url in urls}
    query = (
        select(FeedModel)
        .where(FeedModel.project_id == agent.project_id)
        .where(or_(FeedModel.failures > 0, FeedModel.disabled_at.is_not(None)))
        .order_by(FeedModel.failures.desc(), FeedModel.url)
    )
    with database.reading() as session:
        return [
            state_of(row)
            for row in session.scalars(query)
            if {row.id, row.url_key} & keys or (is_all and row.agent_id == agent.id)
        ]


def state_of(row: FeedModel) -> FeedState:
    """Return the state of the feed of ``row``."""
    return FeedState.model_validate({name: getattr(row, name) for name in FeedState.model_fields})
