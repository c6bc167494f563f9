"""Keeps the projections of events up to date, for every project."""

from __future__ import annotations

import asyncio

from sqlalchemy import select

from agentic.core.bus import Buses
from agentic.core.bus.projections.projector import Projector
from agentic.core.logging import get_logger
from agentic.executors.durable.worker.process_names import process_name
from agentic.mappers import Database, DatabaseUnavailableError, ProjectModel

log = get_logger(__name__)

LOOK_S = 10.0
"""Delay until a new project with its own account is served."""


async def keep_projecting(database: Database, buses: Buses) -> None:
    """Update all projects' buckets until cancelled: from one stream, or from one per project."""
    if not buses.are_apart:
        await Projector(buses.of(""), process_name()).keep_projecting()
        return
    at_work: dict[str, asyncio.Task[None]] = {}
    try:
        while True:
            try:
                names = set(await asyncio.to_thread(_names, database))
            except DatabaseUnavailableError as exc:
                log.info("projects.unknown", reason=str(exc))
            else:
                for name in at_work.keys() - names:
                    at_work.pop(name).cancel()
                for name in names - at_work.keys():
                    projector = Projector(buses.of(name), process_name())
                    at_work[name] = asyncio.create_task(projector.keep_projecting(), name=f"project {name}")
            await asyncio.sleep(LOOK_S)
    finally:
        for task in at_work.values():
            task.cancel()


def _names(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(ProjectModel.name)))
