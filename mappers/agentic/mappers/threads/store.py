"""The threads of agents in SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar, cast

from sqlalchemy import ColumnElement, Table, and_, bindparam, delete, insert, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session

from agentic.core.agents.errors import (
    ThreadConflictError,
    ThreadError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata, reading_stored, stored_text
from agentic.core.agents.threads.store import StoredThread
from agentic.mappers.database.database import Database
from agentic.mappers.database.engine import reason_of
from agentic.mappers.database.prefixes import follows
from agentic.mappers.database.thread import CallThread
from agentic.mappers.errors import DatabaseUnavailableError
from agentic.mappers.tables.threads import THREAD_ID_LENGTH, ThreadEntryModel, ThreadModel

# Made once: to make the two took half of the time to add an entry.
_ENTRY = select(ThreadEntryModel.text).where(
    ThreadEntryModel.project_id == bindparam("project_id"),
    ThreadEntryModel.thread_id == bindparam("thread_id"),
    ThreadEntryModel.number == bindparam("number"),
)
_ADD_ENTRY = insert(cast("Table", ThreadEntryModel.__table__))

P = ParamSpec("P")
R = TypeVar("R")


class SqlThreadStore:
    """Keeps the threads of a project.

    Implements :class:`agentic.core.agents.ThreadStore`. A store does its work in one thread of its process,
    one call after the other, each in its own transaction.

    Args:
        database: Migrated.
        project_id: Owns the threads; threads of other projects are invisible.
    """

    def __init__(self, database: Database, *, project_id: str) -> None:
        self._database = database
        self._project_id = project_id
        self._lane = CallThread("agentic-threads")

    async def create(self, thread_id: str, metadata: ThreadMetadata) -> None:
        """Keep a new thread; see :class:`~agentic.core.agents.ThreadStore`.

        Raises:
            ThreadExistsError: Another one has its id.
            ThreadError: The id is too long, or the database cannot be used.
        """
        for name, text in (("id", thread_id), ("user_id", metadata.user_id or "")):
            if len(text) > THREAD_ID_LENGTH:
                raise ThreadError(
                    f"the {name} of a thread has {len(text)} characters; {THREAD_ID_LENGTH} are stored in SQL"
                )
        await self._call(self._create, thread_id, metadata)

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        """Keep one more entry; see :class:`~agentic.core.agents.ThreadStore`."""
        await self._call(self._append, thread_id, number, stored_text(entry))

    async def load(self, thread_id: str) -> StoredThread:
        """Return a thread; see :class:`~agentic.core.agents.ThreadStore`."""
        return await self._call(self._load, thread_id)

    async def list(self, *, user_id: str | None = None, agent: str | None = None) -> Sequence[StoredThread]:
        """Return the threads of a person or an agent; see :class:`~agentic.core.agents.ThreadStore`."""
        return await self._call(self._list, user_id, agent)

    async def newest(
        self, limit: int, *, user_id: str | None = None, agent: str | None = None, after: str | None = None
    ) -> Sequence[StoredThread]:
        """Return threads of a person or an agent, without their entries, newest first.

        Args:
            limit: Most threads.
            user_id: The person.
            agent: The agent.
            after: Only those after this thread: the last one of the previous page.

        Raises:
            ThreadNotFoundError: ``after`` does not exist.
        """
        return await self._call(self._newest, limit, user_id, agent, after)

    async def delete(self, thread_id: str) -> bool:
        """Remove a thread; see :class:`~agentic.core.agents.ThreadStore`."""
        return await self._call(self._delete, thread_id)

    async def _call(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with _reporting(self._database):
            return await self._lane.run(call, *args, **kwargs)

    def _create(self, thread_id: str, metadata: ThreadMetadata) -> None:
        row = {
            "project_id": self._project_id,
            "id": thread_id,
            "agent": metadata.agent,
            "user_id": metadata.user_id,
            "facts": stored_text(metadata),
            "created_at": metadata.created_at,
        }
        try:
            with self._database.writing() as session:
                session.execute(insert(ThreadModel).values(row))
        except IntegrityError:
            if self._load(thread_id).metadata != metadata:
                raise ThreadExistsError(thread_id) from None

    def _append(self, thread_id: str, number: int, text: str) -> None:
        row = {**self._key_of(thread_id, number), "text": text}
        try:
            with self._database.writing() as session:
                if number > 1 and self._entry(session, thread_id, number - 1) is None:
                    self._check_exists(session, thread_id)
                    raise ThreadConflictError(thread_id, number)
                session.execute(_ADD_ENTRY, row)
        except IntegrityError:
            with self._database.reading() as session:
                self._check_exists(session, thread_id)
                if self._entry(session, thread_id, number) != text:
                    raise ThreadConflictError(thread_id, number) from None

    def _entry(self, session: Session, thread_id: str, number: int) -> str | None:
        return session.scalar(_ENTRY, self._key_of(thread_id, number))

    def _key_of(self, thread_id: str, number: int) -> dict[str, str | int]:
        return {"project_id": self._project_id, "thread_id": thread_id, "number": number}

    def _check_exists(self, session: Session, thread_id: str) -> None:
        if session.scalar(select(ThreadModel.id).where(self._of_thread(thread_id))) is None:
            raise ThreadNotFoundError(thread_id)

    def _load(self, thread_id: str) -> StoredThread:
        with self._database.reading() as session:
            facts = session.scalar(select(ThreadModel.facts).where(self._of_thread(thread_id)))
            if facts is None:
                raise ThreadNotFoundError(thread_id)
            texts = session.scalars(
                select(ThreadEntryModel.text)
                .where(self._of_entries(thread_id))
                .order_by(ThreadEntryModel.number)
            ).all()
        with reading_stored(thread_id):
            entries = tuple(ThreadEntry.model_validate(json.loads(text)) for text in texts)
            return StoredThread(thread_id, ThreadMetadata.model_validate(json.loads(facts)), entries)

    def _list(self, user_id: str | None, agent: str | None) -> Sequence[StoredThread]:
        query = select(ThreadModel.id, ThreadModel.facts).where(ThreadModel.project_id == self._project_id)
        if user_id is not None:
            query = query.where(ThreadModel.user_id == user_id)
        if agent is not None:
            query = query.where(ThreadModel.agent == agent)
        with self._database.reading() as session:
            rows = session.execute(query.order_by(ThreadModel.created_at, ThreadModel.id)).all()
        return [_listed(*row) for row in rows]

    def _newest(
        self, limit: int, user_id: str | None, agent: str | None, after: str | None
    ) -> Sequence[StoredThread]:
        query = select(ThreadModel.id, ThreadModel.facts).where(ThreadModel.project_id == self._project_id)
        if user_id is not None:
            query = query.where(ThreadModel.user_id == user_id)
        if agent is not None:
            query = query.where(ThreadModel.agent == agent)
        with self._database.reading() as session:
            if after is not None:
                last = session.scalar(select(ThreadModel.created_at).where(self._of_thread(after)))
                if last is None:
                    raise ThreadNotFoundError(after)
                query = query.where(follows(ThreadModel.created_at, last, ThreadModel.id, after))
            query = query.order_by(ThreadModel.created_at.desc(), ThreadModel.id).limit(limit)
            rows = session.execute(query).all()
        return [_listed(*row) for row in rows]

    def _delete(self, thread_id: str) -> bool:
        with self._database.writing() as session:
            found = session.scalar(select(ThreadModel.id).where(self._of_thread(thread_id)))
            session.execute(delete(ThreadEntryModel).where(self._of_entries(thread_id)))
            session.execute(delete(ThreadModel).where(self._of_thread(thread_id)))
        return found is not None

    def _of_thread(self, thread_id: str) -> ColumnElement[bool]:
        return and_(ThreadModel.project_id == self._project_id, ThreadModel.id == thread_id)

    def _of_entries(self, thread_id: str) -> ColumnElement[bool]:
        return and_(ThreadEntryModel.project_id == self._project_id, ThreadEntryModel.thread_id == thread_id)


def _listed(thread_id: str, facts: str) -> StoredThread:
    with reading_stored(thread_id):
        return StoredThread(thread_id, ThreadMetadata.model_validate(json.loads(facts)))


@contextmanager
def _reporting(database: Database) -> Iterator[None]:
    """Turn a failure of the database into the error of a store.

    Raises:
        ThreadError: The database cannot be used.
    """
    try:
        yield
    except (SQLAlchemyError, DatabaseUnavailableError, UnicodeError) as exc:
        raise ThreadError(
            f"threads cannot be stored in {database.url}: {reason_of(exc)}; check that it is running, has "
            "space and is up to date (`agentic db check`)"
        ) from exc
