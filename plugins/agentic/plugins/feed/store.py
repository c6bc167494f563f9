"""The states of a project's feeds, read from SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from agentic.core.http import url_key
from agentic.mappers import AgentModel, Database
from agentic.plugins.feed.identity import Question, StoredEntry
from agentic.plugins.feed.models import FeedEntryModel, FeedModel
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


class StoredEntries:
    """The rows of a feed, as far as they identify entries; blocks.

    Args:
        session: In the transaction that will change them.
        project_id: The project.
        feed_id: The feed.
    """

    def __init__(self, session: Session, project_id: str, feed_id: str) -> None:
        self._session = session
        self._columns = select(
            FeedEntryModel.entry_key,
            FeedEntryModel.raw["id"].as_string(),
            FeedEntryModel.link,
            FeedEntryModel.title,
            FeedEntryModel.published_at,
        ).where(FeedEntryModel.project_id == project_id, FeedEntryModel.feed_id == feed_id)

    def by_key(self, keys: Iterable[str]) -> dict[str, StoredEntry]:
        """Return the rows with these keys."""
        return self._found(FeedEntryModel.entry_key, keys)

    def like(self, question: Question) -> dict[str, StoredEntry]:
        """Return the rows with any of these values."""
        return {
            **self._found(FeedEntryModel.entry_key, question.keys),
            **self._found(FeedEntryModel.link, question.links),
            **self._found(FeedEntryModel.title, question.titles),
            **self._found(FeedEntryModel.published_at, question.times),
            **self._found(FeedEntryModel.raw["id"].as_string(), question.ids),
        }

    def _found(
        self, column: ColumnElement[Any] | InstrumentedAttribute[Any], values: Iterable[object]
    ) -> dict[str, StoredEntry]:
        found: dict[str, StoredEntry] = {}
        wanted = sorted(set(values), key=str)
        for start in range(0, len(wanted), BATCH):
            rows = self._session.execute(self._columns.where(column.in_(wanted[start : start + BATCH])))
            found |= {row[0]: StoredEntry(*row) for row in rows}
        return found


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
