"""Finds durable runs for commands, and decides about them; workers are notified of the results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from agentic.core.cli import console
from agentic.core.settings import Settings, load_settings
from agentic.executors.commands.shared.database import current_database, opened

if TYPE_CHECKING:
    from agentic.core.ledger import RunRow
    from agentic.executors.durable.runs.service import RunService
    from agentic.mappers import Database

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The runs of a project, for a command.

    Attributes:
        settings: The settings of this process.
        database: Holds them.
        project_id: Owns them.
        project: Its name.
    """

    settings: Settings
    database: Database
    project_id: str
    project: str

    def find(self, name: str) -> RunRow:
        """Return a run by its id, or by a prefix of it.

        Raises:
            UnknownRunError: No run matches.
            LedgerError: Several runs match.
        """
        from agentic.mappers.runs.reading import LedgerReader

        with self.database.reading() as session:
            return LedgerReader(session, self.project_id).run(name)

    def decide(self, act: Callable[[RunService], Awaitable[R]]) -> R:
        """Return the result of ``act``, called with a service that decides about runs but works on none."""
        from agentic.executors.celery import make_app
        from agentic.executors.durable.worker.process import RunProcess

        with make_app(self.settings) as app:
            runs = RunProcess(self.settings, self.database, app, queues=())

            async def decide() -> R:
                async with aclosing(runs):
                    return await act(runs.service(self.project_id))

            try:
                return asyncio.run(decide())
            finally:
                runs.close()


@contextmanager
def opened_desk(project: str | None) -> Iterator[Desk]:
    """Yield the runs of a project, by default of the settings' project.

    Raises:
        DatabaseNotMigratedError: The database lacks tables, or does not exist yet.
        UnknownProjectError: The project does not exist.
    """
    from agentic.mappers import find_project

    settings = load_settings()
    with opened(current_database(settings)) as database:
        with database.reading() as session:
            owner = find_project(session, project or settings.project)
        yield Desk(settings=settings, database=database, project_id=owner.id, project=owner.name)


def say(line: str) -> None:
    """Print a line unchanged."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
