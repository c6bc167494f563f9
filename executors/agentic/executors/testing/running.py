"""Runs agents in this process, as ``agentic run`` does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from sqlalchemy import Table, inspect, select

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.host import ExecutionOutcome, Host
from agentic.executors.runner import run_execution
from agentic.mappers import (
    Database,
    UnknownProjectError,
    add_agent,
    add_project,
    create_execution,
    find_project,
)

ModelT = TypeVar("ModelT")


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a run.

    Attributes:
        outcome: How it ended, with counts of rows and warnings.
        database: Where the rows are.
        project_id: Whose rows they are.
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


class RunAgent:
    """Runs an agent of a platform once, in a test that is no coroutine; see ``__call__``.

    Args:
        database: Migrated.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0

    def __call__(self, platform: str, config: Mapping[str, JSONValue], *, project: str = "tests") -> Ran:
        """Add an agent, and run it.

        Args:
            platform: Name of an installed one.
            config: What its settings take; what they refuse fails the run.
            project: Made if it is not there.

        Raises:
            LookupError: The platform is not installed.
        """
        self._count += 1
        get_registry().platform(platform)
        with self._database.writing() as session:
            try:
                owner = find_project(session, project)
            except UnknownProjectError:
                owner = add_project(session, project)
            agent = add_agent(session, owner, f"agent-{self._count}", platform, config)
            execution_id, agent_id, project_id = create_execution(session, agent).id, agent.id, owner.id
        host = Host(database=self._database, bus=MemoryBus(), worker="tests")
        outcome = asyncio.run(run_execution(execution_id, agent_id, host=host))
        return Ran(outcome, self._database, project_id)
