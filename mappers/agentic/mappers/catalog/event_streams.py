"""Remembers the stream of a project's published events, and handles a change of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import select, tuple_, update

from agentic.mappers.database.database import Database
from agentic.mappers.ledger.sql import EVENTS, NOW
from agentic.mappers.tables.core import ProjectModel

KEPT_S = 7 * 86_400.0
"""Retention of a stream: it no longer has older events."""

_MAX_ROWS = 2_000
"""Maximum number of batches one transaction resets; on SQLite others wait for it."""

_Place = tuple[str, int]


def note_stream(database: Database, project_id: str, made: str) -> int:
    """Record the stream of the events; if it changed, mark the last week's events to be published again.

    Concurrent and interrupted calls are safe: an event published twice within ten minutes is stored once.

    Args:
        database: Holds the ledger.
        project_id: Whose events.
        made: Distinguishes the stream from others with its name.

    Returns:
        How many batches of events will be published again.

    Raises:
        DatabaseUnavailableError: The database cannot be used.
    """
    with database.reading() as session:
        noted = session.scalar(select(ProjectModel.event_stream).where(ProjectModel.id == project_id))
        now = session.execute(select(NOW)).scalar_one()
    if noted == made:
        return 0
    count = 0
    batches = _published(database, project_id, now) if noted else iter(())
    for places in batches:
        with database.writing() as session:
            named = tuple_(EVENTS.c.run_id, EVENTS.c.last).in_(places)
            taken_back = update(EVENTS).where(EVENTS.c.project_id == project_id, named)
            session.execute(taken_back.values(published_at=None))
        count += len(places)
    with database.writing() as session:
        session.execute(update(ProjectModel).where(ProjectModel.id == project_id).values(event_stream=made))
    return count


def _published(database: Database, project_id: str, now: float) -> Iterator[Sequence[_Place]]:
    """Yield events published within the last week and before now, in pages."""
    place: _Place = ("", 0)
    key = tuple_(EVENTS.c.run_id, EVENTS.c.last)
    while True:
        wanted = (
            select(EVENTS.c.run_id, EVENTS.c.last)
            .where(EVENTS.c.project_id == project_id, key > place)
            .where(EVENTS.c.published_at.between(now - KEPT_S, now))
            .order_by(EVENTS.c.run_id, EVENTS.c.last)
            .limit(_MAX_ROWS)
        )
        with database.reading() as session:
            found = [(run_id, last) for run_id, last in session.execute(wanted)]
        if not found:
            return
        yield found
        place = found[-1]
