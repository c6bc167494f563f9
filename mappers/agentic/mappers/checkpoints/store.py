"""The checkpoints of runs in SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import ParamSpec, Self, TypeVar

from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, StoredCheckpoint
from agentic.core.graph.errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    InvalidPolicyError,
)
from agentic.core.graph.model.result import RunStatus
from agentic.core.types import RunId
from agentic.mappers.catalog.projects import add_project, find_project
from agentic.mappers.checkpoints import rows
from agentic.mappers.checkpoints.rows import RunKey, Wanted
from agentic.mappers.database.database import Database, hot_transaction
from agentic.mappers.database.engine import reason_of
from agentic.mappers.database.thread import CallThread
from agentic.mappers.errors import DatabaseUnavailableError, DuplicateProjectError

P = ParamSpec("P")
R = TypeVar("R")


class SqlCheckpointStore:
    """The checkpoints of a project's runs.

    Implements :class:`agentic.core.graph.checkpoints.store.CheckpointStore`. Any number of stores, in any
    number of processes, may work on one run: if several save one revision at once, one succeeds. A store does
    its work in one thread, one call after the other, each in its own transaction.
    """

    def __init__(self, database: Database, *, project_id: str) -> None:
        """Create the store; nothing is read or written yet.

        Args:
            database: Migrated.
            project_id: Owns the runs; the runs of other projects are invisible.
        """
        self._database = database
        self._project_id = project_id
        self._lane = CallThread("agentic-checkpoints")

    @classmethod
    def open(cls, url: str, *, project: str = "default") -> Self:
        """Return the checkpoint store of a project in a database; a new project is added.

        Args:
            url: Of a migrated database, such as ``sqlite:///runs.db``.
            project: Name of the project.

        Raises:
            DatabaseUrlError: ``url`` does not name a supported database.
            CheckpointStoreError: The database cannot be used, or has no tables yet.
        """
        database = Database(url)
        with _telling(database, project), database.writing() as session:
            with suppress(DuplicateProjectError):
                add_project(session, project)
            project_id = find_project(session, project).id
        return cls(database, project_id=project_id)

    def close(self) -> None:
        """Close this process's connections to the database; the next call opens one again."""
        self._database.dispose()

    async def save(self, checkpoint: Checkpoint) -> None:
        """Save ``checkpoint``, all of it or nothing.

        Raises:
            CheckpointConflictError: Its revision does not follow the newest: another process continued.
            CheckpointStoreError: The database cannot be used.
        """
        await self._call(self._save, checkpoint)

    async def load(self, run_id: RunId, revision: int) -> StoredCheckpoint:
        """Return a checkpoint.

        Raises:
            CheckpointNotFoundError: It does not exist, or was removed.
            CorruptCheckpointError: It exists, but cannot be read.
            CheckpointStoreError: The database cannot be used.
        """
        return await self._call(self._read, run_id, revision)

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint. Raises the same errors as :meth:`load`."""
        return await self._call(self._read, run_id, None)

    async def list_metadata(
        self,
        *,
        run_id: RunId | None = None,
        workflow_id: str | None = None,
        status: RunStatus | None = None,
        newest_only: bool = False,
    ) -> Sequence[CheckpointMetadata]:
        """Return metadata of checkpoints: of one run by revision, else by time, newest first.

        Raises:
            CorruptCheckpointError: One of them cannot be read.
            CheckpointStoreError: The database cannot be used.
        """
        wanted = Wanted(run_id=run_id, workflow_id=workflow_id, status=status, newest_only=newest_only)
        return await self._call(self._list, wanted)

    async def keep_last(self, run_id: RunId, count: int) -> int:
        """Remove all but a run's newest ``count`` checkpoints; the cost grows with the number removed.

        Returns:
            The number of removed checkpoints.

        Raises:
            InvalidPolicyError: ``count`` is below 1.
            CheckpointStoreError: The database cannot be used.
        """
        if count < 1:
            raise InvalidPolicyError("count", count, "1 or more; delete_all() removes a run")
        return await self._call(self._keep_last, run_id, count)

    async def delete_all(self, run_id: RunId) -> int:
        """Remove a run; return how many checkpoints it had.

        Raises:
            CheckpointStoreError: The database cannot be used.
        """
        return await self._call(self._delete_all, run_id)

    async def fork(self, run_id: RunId, revision: int, new_run_id: RunId) -> CheckpointMetadata:
        """Copy a checkpoint as the first one of a new run, inside the database.

        Raises:
            CheckpointNotFoundError: The checkpoint does not exist.
            CheckpointConflictError: ``new_run_id`` has checkpoints already.
            CheckpointStoreError: The database cannot be used.
        """
        return await self._call(self._fork, run_id, revision, new_run_id)

    async def _call(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with _telling(self._database, self._project_id):
            return await self._lane.run(call, *args, **kwargs)

    def _save(self, checkpoint: Checkpoint) -> None:
        metadata = checkpoint.metadata
        try:
            with hot_transaction(self._database) as cursor:
                if rows.add_checkpoint(cursor, self._project_id, checkpoint):
                    return
        except IntegrityError:
            if self._newest(metadata.run_id) < metadata.revision:
                raise
        raise CheckpointConflictError(metadata.run_id, metadata.revision, self._newest(metadata.run_id))

    def _newest(self, run_id: RunId) -> int:
        with hot_transaction(self._database) as cursor:
            return rows.newest_revision(cursor, self._key(run_id))

    def _read(self, run_id: RunId, revision: int | None) -> StoredCheckpoint:
        with self._database.reading() as session:
            found = rows.read_checkpoint(session, self._key(run_id), revision)
        if found is None:
            raise CheckpointNotFoundError(run_id, revision)
        return found

    def _list(self, wanted: Wanted) -> list[CheckpointMetadata]:
        with self._database.reading() as session:
            return rows.list_checkpoints(session, self._project_id, wanted)

    def _keep_last(self, run_id: RunId, count: int) -> int:
        with hot_transaction(self._database) as cursor:
            return rows.remove_older(cursor, self._key(run_id), count)

    def _delete_all(self, run_id: RunId) -> int:
        with hot_transaction(self._database) as cursor:
            return rows.remove_run(cursor, self._key(run_id))

    def _fork(self, run_id: RunId, revision: int, new_run_id: RunId) -> CheckpointMetadata:
        try:
            with self._database.writing() as session:
                copied = rows.copy_checkpoint(session, self._key(run_id), revision, new_run_id)
        except IntegrityError:
            copied = None
        if copied is None:
            raise CheckpointConflictError(new_run_id, 1, self._newest(new_run_id))
        return copied

    def _key(self, run_id: RunId) -> RunKey:
        return {"project_id": self._project_id, "run_id": run_id}


@contextmanager
def _telling(database: Database, project: str) -> Iterator[None]:
    """Turn a failure of the database into the error of a store.

    Raises:
        CheckpointStoreError: The database cannot be used.
    """
    try:
        yield
    except (SQLAlchemyError, DatabaseUnavailableError, UnicodeError) as exc:
        raise CheckpointStoreError(
            f"checkpoints of project {project!r} cannot be stored in {database.url}: {reason_of(exc)}; "
            "check that it is running, has space and is up to date (`agentic db check`)"
        ) from exc
