"""Looks through the ledgers of all projects, again and again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from agentic.core.errors import AgenticError
from agentic.core.logging import get_logger
from agentic.executors.durable.reconcile.reconciler import Swept
from agentic.executors.durable.worker.process import RunProcess
from agentic.executors.workers.stalling import Stalled
from agentic.mappers import Database, ProjectModel

log = get_logger(__name__)

_JITTER = 0.2


class Sweeper:
    """Sees to what nobody works on, in every project of a database.

    Args:
        database: Holds the ledgers.
        runs: Of this process.
    """

    def __init__(self, database: Database, runs: RunProcess) -> None:
        self._database = database
        self._runs = runs

    async def sweep(self) -> Swept:
        """Look once through all projects; one that cannot be looked through stops no other one.

        Raises:
            LedgerUnavailableError: A ledger cannot be used.
            DatabaseUnavailableError: The database cannot be opened.
            SQLAlchemyError: The database refuses.
        """
        found = Swept()
        for project_id in await asyncio.to_thread(self._projects):
            try:
                found.add(await self._runs.sweep(project_id))
            except (AgenticError, SQLAlchemyError):
                raise
            except Exception as exc:  # a row that does not hold what it should
                log.warning("project.unreadable", project_id=project_id, exc_info=exc)
        return found

    async def take_from(self, stalled: Stalled) -> None:
        """Take back what a process that stands still is at, in all projects. Raises as :meth:`sweep`."""
        for project_id in await asyncio.to_thread(self._projects):
            await self._runs.take_from(project_id, stalled)

    async def keep_sweeping(self, every_s: float) -> None:
        """Look every so many seconds, give or take a fifth, until cancelled.

        While the database is away it says so once, and goes on when it is back.
        """
        was_away = False
        while True:
            try:
                await self.sweep()
            except (AgenticError, SQLAlchemyError) as exc:
                if not was_away:
                    log.warning("ledger.unavailable", reason=str(exc))
                was_away = True
            else:
                was_away = False
            await asyncio.sleep(every_s * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311  # jitter is no secret

    def _projects(self) -> Sequence[str]:
        with self._database.reading() as session:
            return session.scalars(select(ProjectModel.id)).all()
