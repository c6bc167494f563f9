"""Two projects to store results in, and checks of their contents afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from sqlalchemy import Table, inspect, select

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ResultMapper,
    SourceColumns,
    add_agent,
    add_project,
    create_execution,
    get_result_mapper,
)

Row = dict[str, object]

OF_EACH_RUN = frozenset({"execution_id", "last_seen_at"})
"""Columns that change with every run."""

OF_NO_SOURCE = frozenset({*OF_EACH_RUN, "project_id", "agent_id", "first_seen_at", "content_hash", "raw"})
"""Columns of ``SourceColumns``, without the platform's own columns."""


class MappingRoom:
    """A database with two projects, each with an agent of a platform.

    Args:
        database: With all tables, without rows.
        platform: The installed platform of the mapper and the tables.
        config: Config of the agents.

    Attributes:
        database: As given.
        agent: The default agent for results.
        other: An agent of another project.
    """

    def __init__(self, database: Database, platform: str, config: Mapping[str, JSONValue]) -> None:
        self.database = database
        self._platform = platform
        with database.writing() as session:
            ours, theirs = add_project(session, "ours"), add_project(session, "theirs")
            self.agent = add_agent(session, ours, "mapped", platform, config)
            self.other = add_agent(session, theirs, "mapped", platform, config)

    @contextmanager
    def mapping(self, agent: AgentModel | None = None) -> Iterator[ResultMapper]:
        """Yield a mapper for a new execution, in a transaction that ends with the block.

        The mapper cannot roll back earlier writes.
        """
        agent = agent or self.agent
        with self.database.joined() as session:
            execution_id = create_execution(session, agent).id
            session.commit()
            yield get_result_mapper(self._platform, session, execution_id, agent)

    def save(self, results: Mapping[str, object], agent: AgentModel | None = None) -> ResultMapper:
        """Store results as a separate execution; return its mapper."""
        with self.mapping(agent) as mapper:
            assert mapper.save_results(results), "save_results returned False, as for a failure"
        return mapper

    def rows(
        self, agent: AgentModel | None = None, *, without: Collection[str] = ()
    ) -> dict[tuple[str, ...], Row]:
        """Return the rows of the agent's project in the platform's tables: table and key -> columns."""
        found: dict[tuple[str, ...], Row] = {}
        with self.database.reading() as session:
            for table in self._tables():
                query = select(table).where(table.c.project_id == (agent or self.agent).project_id)
                for row in session.execute(query).mappings():
                    key = [
                        str(row[column.name]) for column in table.primary_key if column.name != "project_id"
                    ]
                    columns = {name: value for name, value in row.items() if name not in without}
                    found[(table.name, *key)] = columns
        return found

    def summaries(self) -> Sequence[dict[str, JSONValue]]:
        """Return the short results of the agent."""
        query = select(AgentResultModel.summary).where(AgentResultModel.agent_id == self.agent.id)
        with self.database.reading() as session:
            return session.scalars(query).all()

    def _tables(self) -> list[Table]:
        models = get_registry().platform(self._platform).models
        return [
            cast("Table", inspect(model).local_table) for model in models if issubclass(model, SourceColumns)
        ]
