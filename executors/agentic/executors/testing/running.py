"""Runs agents in this process, as ``agentic run`` does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from sqlalchemy import Table, inspect, select
from sqlalchemy.orm import Session

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.agents.outcome import ExecutionOutcome
from agentic.executors.agents.runner import outcome_of, run_execution
from agentic.mappers import (
    Database,
    ProjectModel,
    UnknownProjectError,
    add_agent,
    add_project,
    create_execution,
    find_project,
)

ModelT = TypeVar("ModelT")

PROJECT = "tests"
"""The default project of agents and secrets of a test."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a run.

    Attributes:
        outcome: How it ended, with counts of rows and warnings.
        database: Holds the rows.
        project_id: Owns the rows.
    """

    outcome: ExecutionOutcome
    database: Database
    project_id: str

    def rows(self, model: type[ModelT]) -> Sequence[ModelT]:
        """Return the project's rows of a table, by primary key."""
        table = cast("Table", inspect(model).local_table)
        query = select(model).where(table.c.project_id == self.project_id).order_by(*table.primary_key)
        with self.database.reading() as session:
            found = session.scalars(query).all()
            session.expunge_all()
        return found


@dataclass(frozen=True, slots=True)
class Queued:
    """An execution that has not started yet."""

    execution_id: str
    agent_id: str
    project_id: str


class RunAgent:
    """Runs an agent of a platform once, in a test that is not a coroutine; see ``__call__``.

    Args:
        database: A migrated database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0

    def __call__(self, platform: str, config: Mapping[str, JSONValue], *, project: str = PROJECT) -> Ran:
        """Add an agent, and run it.

        Args:
            platform: Name of an installed platform.
            config: Values for its settings; an invalid value fails the run.
            project: Created if missing.

        Raises:
            LookupError: The platform is not installed.
        """
        return self.run(self.queue(platform, config, project=project))

    def queue(self, platform: str, config: Mapping[str, JSONValue], *, project: str = PROJECT) -> Queued:
        """Add an agent, and an execution for :meth:`run`. Arguments and errors as in a call."""
        self._count += 1
        get_registry().platform(platform)
        with self._database.writing() as session:
            owner = project_named(session, project)
            agent = add_agent(session, owner, f"agent-{self._count}", platform, config)
            return Queued(create_execution(session, agent).id, agent.id, owner.id)

    def run(self, queued: Queued) -> Ran:
        """Run an execution; an interrupted one continues where it stopped."""
        return asyncio.run(self.arun(queued))

    async def arun(self, queued: Queued) -> Ran:
        """Same as :meth:`run`; if cancelled, it cancels the execution."""
        bus = MemoryBus()
        outcome = await run_execution(queued.execution_id, queued.agent_id, database=self._database, bus=bus)
        return Ran(outcome, self._database, queued.project_id)

    def look(self, queued: Queued) -> Ran:
        """Return the current result of an execution."""
        outcome = outcome_of(self._database, queued.execution_id, queued.agent_id)
        return Ran(outcome, self._database, queued.project_id)


def project_named(session: Session, name: str) -> ProjectModel:
    """Return the project with that name; create it if missing."""
    try:
        return find_project(session, name)
    except UnknownProjectError:
        return add_project(session, name)
