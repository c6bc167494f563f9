"""Threads of LangGraph in SQL."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Self, TypeVar, cast

from sqlalchemy import ColumnElement, Table, and_, delete, select, tuple_
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from agentic.mappers import Database, DuplicateProjectError, add_project, find_project
from agentic.mappers.database.away import went_away
from agentic.mappers.database.engine import reason_of
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.database.thread import CallThread
from agentic.mappers.errors import DatabaseUnavailableError
from agentic.plugins.langgraph.errors import LangGraphError, SaverUnavailableError, StoredStateError
from agentic.plugins.langgraph.models import (
    LangGraphCheckpointModel,
    LangGraphPieceModel,
    LangGraphThreadModel,
    LangGraphWriteModel,
)
from agentic.plugins.langgraph.savers.records import (
    CheckpointPlace,
    CheckpointRecord,
    WriteRecord,
    read_blob,
    read_checkpoint,
    write_blob,
    write_checkpoint,
)
from agentic.plugins.langgraph.savers.rows import NewCheckpoint, Retained, refuse_stale
from agentic.plugins.langgraph.savers.saver import AgenticSaver, Job
from agentic.plugins.langgraph.savers.serializer import StateType

T = TypeVar("T")

_PART = 500
"""Values in one ``IN``."""


class SqlSaver(AgenticSaver):
    """Keeps threads in the tables ``langgraph_*`` of a project's database: SQLite or PostgreSQL.

    The async methods work in one thread, one call after the other; the sync ones in the caller's thread. Each
    call is one transaction.

    Args:
        database: Migrated.
        project_id: Owns the threads; threads of other projects are invisible.
        types: See :class:`AgenticSaver`.
    """

    def __init__(
        self, database: Database, *, project_id: str, types: Iterable[type | StateType] = ()
    ) -> None:
        super().__init__(types=types)
        self._database = database
        self._project_id = project_id
        self._lane = CallThread("agentic-langgraph")

    @classmethod
    def open(cls, url: str, *, project: str = "default", types: Iterable[type | StateType] = ()) -> Self:
        """Return the saver of a project in a database; a new project is added.

        Args:
            url: Of a migrated database, such as ``sqlite:///runs.db``.
            project: Name of the project.
            types: See :class:`AgenticSaver`.

        Raises:
            DatabaseUrlError: ``url`` does not name a supported database.
            SaverUnavailableError: The database cannot be used.
            LangGraphError: It has no tables yet.
        """
        database = Database(url)
        with _reporting(database), database.writing() as session:
            with suppress(DuplicateProjectError):
                add_project(session, project)
            project_id = find_project(session, project).id
        return cls(database, project_id=project_id, types=types)

    def close(self) -> None:
        """Close this process's connections to the database; the next call opens one again."""
        self._database.dispose()

    async def _do(self, job: Job[T], *, reads: bool = False) -> T:
        return await self._lane.run(self._work, job, reads)

    def _do_now(self, job: Job[T], *, reads: bool = False) -> T:
        return self._work(job, reads)

    def _work(self, job: Job[T], reads: bool) -> T:
        opened = self._database.reading() if reads else self._database.writing()
        with _reporting(self._database), opened as session:
            return _completed(cast("Coroutine[Any, Any, T]", job(_SqlRows(session, self._project_id))))


def remove_thread(session: Session, project_id: str, thread_id: str) -> None:
    """Remove a thread in a transaction of the caller."""
    for model in (
        LangGraphCheckpointModel,
        LangGraphWriteModel,
        LangGraphPieceModel,
        LangGraphThreadModel,
    ):
        mine = (model.project_id == project_id, model.thread_id == thread_id)
        session.execute(delete(model).where(*mine))


class _SqlRows:
    """Implements :class:`SaverRows` in a transaction; its methods never wait for the loop."""

    def __init__(self, session: Session, project_id: str) -> None:
        self._session = session
        self._project_id = project_id
        self._is_postgresql = session.get_bind().dialect.name == "postgresql"

    async def lock(self, thread_id: str) -> None:
        model = LangGraphThreadModel
        row = {"project_id": self._project_id, "thread_id": thread_id}
        insert = insert_into(model, is_postgresql=self._is_postgresql).values(row)
        self._session.execute(insert.on_conflict_do_nothing(index_elements=list(row)))
        if self._is_postgresql:  # on SQLite, writers take turns anyway
            query = select(model.thread_id).where(self._of_thread(model, thread_id))
            self._session.execute(query.with_for_update())

    async def newest(self, place: CheckpointPlace) -> CheckpointRecord | None:
        model = LangGraphCheckpointModel
        query = select(model.record, model.number).where(self._of_history(model, place))
        row = self._session.execute(query.order_by(model.number.desc()).limit(1)).first()
        return None if row is None else _record(place.thread_id, *row)

    async def find(self, place: CheckpointPlace, ids: Collection[str]) -> Mapping[str, CheckpointRecord]:
        model = LangGraphCheckpointModel
        found = [
            _record(place.thread_id, *row)
            for part in _parts(ids)
            for row in self._session.execute(
                select(model.record, model.number).where(
                    self._of_history(model, place), model.checkpoint_id.in_(part)
                )
            )
        ]
        return {record.id: record for record in found}

    async def records(self, thread_id: str | None = None, ns: str | None = None) -> list[CheckpointRecord]:
        model = LangGraphCheckpointModel
        query = select(model.thread_id, model.record, model.number).where(
            model.project_id == self._project_id
        )
        if thread_id is not None:
            query = query.where(model.thread_id == thread_id)
        if ns is not None:
            query = query.where(model.ns == ns)
        rows = self._session.execute(query.order_by(model.thread_id, model.ns, model.number.desc()))
        return [_record(*row) for row in rows]

    async def threads_of_runs(self, run_ids: Collection[str]) -> list[str]:
        model = LangGraphCheckpointModel
        found: dict[str, None] = {}
        for part in _parts(run_ids):
            mine = (model.project_id == self._project_id, model.run_id.in_(part))
            found |= dict.fromkeys(self._session.scalars(select(model.thread_id).where(*mine).distinct()))
        return list(found)

    async def writes(self, place: CheckpointPlace, checkpoint_id: str) -> list[WriteRecord]:
        model = LangGraphWriteModel
        query = select(model).where(self._of_history(model, place), model.checkpoint_id == checkpoint_id)
        return [_write(row) for row in self._session.scalars(query)]

    async def writes_of_thread(self, thread_id: str) -> list[WriteRecord]:
        model = LangGraphWriteModel
        return [
            _write(row)
            for row in self._session.scalars(select(model).where(self._of_thread(model, thread_id)))
        ]

    async def pieces(self, thread_id: str, hashes: Collection[bytes]) -> Mapping[bytes, bytes]:
        model = LangGraphPieceModel
        return {
            name: data
            for part in _parts(hashes)
            for name, data in self._session.execute(
                select(model.name, model.data).where(self._of_thread(model, thread_id), model.name.in_(part))
            )
        }

    async def add(self, new: NewCheckpoint) -> None:
        record, place = new.record, new.record.place
        if record.id in await self.find(place, [record.id]):
            return
        model = LangGraphCheckpointModel
        newest = self._session.execute(
            select(model.checkpoint_id, model.number)
            .where(self._of_history(model, place))
            .order_by(model.number.desc())
            .limit(1)
        ).first()
        refuse_stale(new, None if newest is None else newest[0])
        self._add_pieces(place.thread_id, new.pieces)
        self._insert([replace(record, number=1 if newest is None else newest[1] + 1)])

    async def add_writes(self, writes: Sequence[WriteRecord], pieces: Mapping[bytes, bytes]) -> None:
        if not writes:
            return
        self._add_pieces(writes[0].place.thread_id, pieces)
        insert = insert_into(LangGraphWriteModel, is_postgresql=self._is_postgresql)
        key = ["project_id", "thread_id", "ns", "checkpoint_id", "task_id", "slot"]
        values = {name: getattr(insert.excluded, name) for name in ("channel", "path", "value")}
        for is_special in (False, True):
            rows = [self._write_row(one) for one in writes if (one.slot < 0) is is_special]
            if rows and is_special:
                self._session.execute(insert.on_conflict_do_update(index_elements=key, set_=values), rows)
            elif rows:
                self._session.execute(insert.on_conflict_do_nothing(index_elements=key), rows)

    async def add_thread(
        self,
        records: Sequence[CheckpointRecord],
        writes: Sequence[WriteRecord],
        pieces: Mapping[bytes, bytes],
    ) -> None:
        self._add_pieces(records[0].place.thread_id, pieces)
        self._insert(records)
        await self.add_writes(writes, {})

    async def retain(self, thread_id: str, kept: Retained) -> None:
        model, pieces = LangGraphCheckpointModel, LangGraphPieceModel
        for part in _parts([(one.place.ns, one.id) for one in kept.removed]):
            for table in (model, LangGraphWriteModel):
                gone = tuple_(table.ns, table.checkpoint_id).in_(part)
                self._session.execute(delete(table).where(self._of_thread(table, thread_id), gone))
        for record in kept.records:
            self._session.execute(
                _table(model)
                .update()
                .where(self._of_history(model, record.place), model.checkpoint_id == record.id)
                .values(record=write_checkpoint(record))
            )
        names = self._session.scalars(select(pieces.name).where(self._of_thread(pieces, thread_id)))
        for some in _parts([name for name in names if name not in kept.pieces]):
            self._session.execute(
                delete(pieces).where(self._of_thread(pieces, thread_id), pieces.name.in_(some))
            )

    async def delete(self, thread_id: str) -> None:
        remove_thread(self._session, self._project_id, thread_id)

    def _insert(self, records: Sequence[CheckpointRecord]) -> None:
        rows = [
            {
                **self._key(record.place),
                "checkpoint_id": record.id,
                "number": record.number,
                "run_id": record.run_id,
                "record": write_checkpoint(record),
            }
            for record in records
        ]
        self._session.execute(_table(LangGraphCheckpointModel).insert(), rows)

    def _add_pieces(self, thread_id: str, pieces: Mapping[bytes, bytes]) -> None:
        if not pieces:
            return
        insert = insert_into(LangGraphPieceModel, is_postgresql=self._is_postgresql)
        rows = [
            {"project_id": self._project_id, "thread_id": thread_id, "name": name, "data": data}
            for name, data in pieces.items()
        ]
        key = ["project_id", "thread_id", "name"]
        self._session.execute(insert.on_conflict_do_nothing(index_elements=key), rows)

    def _write_row(self, one: WriteRecord) -> dict[str, object]:
        return {
            **self._key(one.place),
            "checkpoint_id": one.checkpoint_id,
            "task_id": one.task_id,
            "slot": one.slot,
            "channel": one.channel,
            "path": one.path,
            "value": write_blob(one.value),
        }

    def _key(self, place: CheckpointPlace) -> dict[str, object]:
        return {"project_id": self._project_id, "thread_id": place.thread_id, "ns": place.ns}

    def _of_history(
        self, model: type[LangGraphCheckpointModel | LangGraphWriteModel], place: CheckpointPlace
    ) -> ColumnElement[bool]:
        return and_(self._of_thread(model, place.thread_id), model.ns == place.ns)

    def _of_thread(self, model: type[_Model], thread_id: str) -> ColumnElement[bool]:
        return and_(model.project_id == self._project_id, model.thread_id == thread_id)


_Model = LangGraphCheckpointModel | LangGraphWriteModel | LangGraphPieceModel | LangGraphThreadModel


def _completed(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    raise RuntimeError("work in a transaction must not wait for the loop")


def _record(thread_id: str, data: bytes, number: int) -> CheckpointRecord:
    try:
        return replace(read_checkpoint(data), number=number)
    except ValueError as exc:
        raise StoredStateError(thread_id, str(exc)) from exc


def _write(row: LangGraphWriteModel) -> WriteRecord:
    try:
        value = read_blob(row.value)
    except ValueError as exc:
        raise StoredStateError(row.thread_id, str(exc)) from exc
    return WriteRecord(
        place=CheckpointPlace(thread_id=row.thread_id, ns=row.ns),
        checkpoint_id=row.checkpoint_id,
        task_id=row.task_id,
        slot=row.slot,
        channel=row.channel,
        path=row.path,
        value=value,
    )


def _parts(values: Collection[T]) -> Iterator[list[T]]:
    found = list(values)
    for start in range(0, len(found), _PART):
        yield found[start : start + _PART]


def _table(model: type[LangGraphCheckpointModel]) -> Table:
    return cast("Table", model.__table__)


@contextmanager
def _reporting(database: Database) -> Iterator[None]:
    """Turn a failure of the database into an error of ours.

    Raises:
        SaverUnavailableError: It is temporarily unavailable.
        LangGraphError: It refuses.
    """
    try:
        yield
    except (SQLAlchemyError, DatabaseUnavailableError) as exc:
        kind = SaverUnavailableError if went_away(exc) else LangGraphError
        raise kind(
            f"threads of LangGraph cannot be stored in {database.url}: {reason_of(exc)}; check that it is "
            "running, has space and is up to date (`agentic db check`)"
        ) from exc
