"""Sweeps the ledgers of all projects repeatedly."""

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
    """Recovers abandoned work in every project of a database.

    Args:
        database: Holds the ledgers.
        runs: The runs of this process.
    """

    def __init__(self, database: Database, runs: RunProcess) -> None:
        self._database = database
        self._runs = runs

    async def sweep(self) -> Swept:
        """Sweep all projects once; an error in one does not stop the others.

        Raises:
            LedgerUnavailableError: A ledger cannot be used.
            DatabaseUnavailableError: The database cannot be opened.
            SQLAlchemyError: The database reports an error.
        """
        found = Swept()
        for project_id in await asyncio.to_thread(self._projects):
            try:
                found.add(await self._runs.sweep(project_id))
            except (AgenticError, SQLAlchemyError):
                raise
            except Exception as exc:  # a damaged row
                log.warning("project.unreadable", project_id=project_id, exc_info=exc)
        return found

    async def take_from(self, stalled: Stalled) -> None:
        """Take back a stalled process's activations, in all projects. Raises as :meth:`sweep`."""
        for project_id in await asyncio.to_thread(self._projects):
            await self._runs.take_from(project_id, stalled)

    async def keep_sweeping(self, every_s: float) -> None:
        """Sweep every ``every_s`` seconds, plus or minus a fifth, until cancelled.

        It reports an unavailable database once, and continues when it is back.
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
            await asyncio.sleep(every_s * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311  # jitter is not a secret

    def _projects(self) -> Sequence[str]:
        with self._database.reading() as session:
            return session.scalars(select(ProjectModel.id)).all()
