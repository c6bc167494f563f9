"""The memories of agents in SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from sqlalchemy import ColumnElement, and_, delete, select
from sqlalchemy.exc import SQLAlchemyError

from agentic.core.agents.memory.records import AgentMemoryError, Memory
from agentic.mappers.database.database import Database
from agentic.mappers.database.engine import reason_of
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.database.thread import CallThread
from agentic.mappers.errors import DatabaseUnavailableError
from agentic.mappers.tables.memories import NAME_LENGTH, AgentMemoryModel

P = ParamSpec("P")
R = TypeVar("R")


class SqlMemoryStore:
    """Keeps the memories of a project.

    Implements :class:`agentic.core.agents.MemoryStore`. A store does its work in one thread of its process,
    one call after the other, each in its own transaction.

    Args:
        database: Migrated.
        project_id: Owns the memories; memories of other projects are invisible.
    """

    def __init__(self, database: Database, *, project_id: str) -> None:
        self._database = database
        self._project_id = project_id
        self._lane = CallThread("agentic-memories")

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return the memories of a person; see :class:`~agentic.core.agents.MemoryStore`."""
        texts = await self._call(self._load, agent, user_id)
        return [Memory.read(text, f"a stored memory of agent {agent!r}") for text in texts]

    async def put(self, agent: str, user_id: str, memory: Memory) -> None:
        """Keep a memory; see :class:`~agentic.core.agents.MemoryStore`.

        Raises:
            AgentMemoryError: A name is too long, or the database cannot be used.
        """
        for name, text in (("agent", agent), ("user_id", user_id), ("id", memory.id)):
            if len(text) > NAME_LENGTH:
                raise AgentMemoryError(
                    f"the {name} of a memory has {len(text)} characters; {NAME_LENGTH} are stored in SQL"
                )
        await self._call(self._put, agent, user_id, memory)

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`~agentic.core.agents.MemoryStore`."""
        return await self._call(self._clear, agent, user_id)

    async def _call(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with _reporting(self._database):
            return await self._lane.run(call, *args, **kwargs)

    def _load(self, agent: str, user_id: str) -> Sequence[str]:
        with self._database.reading() as session:
            return session.scalars(select(AgentMemoryModel.text).where(self._of_person(agent, user_id))).all()

    def _put(self, agent: str, user_id: str, memory: Memory) -> None:
        text = memory.stored()
        row = {
            "project_id": self._project_id,
            "agent": agent,
            "user_id": user_id,
            "id": memory.id,
            "text": text,
        }
        with self._database.writing() as session:
            is_postgresql = session.get_bind().dialect.name == "postgresql"
            statement = insert_into(AgentMemoryModel, is_postgresql=is_postgresql).values(row)
            key = ["project_id", "agent", "user_id", "id"]
            session.execute(statement.on_conflict_do_update(index_elements=key, set_={"text": text}))

    def _clear(self, agent: str, user_id: str) -> int:
        statement = delete(AgentMemoryModel).where(self._of_person(agent, user_id))
        with self._database.writing() as session:
            return len(session.scalars(statement.returning(AgentMemoryModel.id)).all())

    def _of_person(self, agent: str, user_id: str) -> ColumnElement[bool]:
        return and_(
            AgentMemoryModel.project_id == self._project_id,
            AgentMemoryModel.agent == agent,
            AgentMemoryModel.user_id == user_id,
        )


@contextmanager
def _reporting(database: Database) -> Iterator[None]:
    """Turn a failure of the database into the error of a store.

    Raises:
        AgentMemoryError: The database cannot be used.
    """
    try:
        yield
    except (SQLAlchemyError, DatabaseUnavailableError, UnicodeError) as exc:
        raise AgentMemoryError(
            f"memories cannot be stored in {database.url}: {reason_of(exc)}; check that it is running, has "
            "space and is up to date (`agentic db check`)"
        ) from exc
