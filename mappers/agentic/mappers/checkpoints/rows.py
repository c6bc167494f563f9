"""A run's checkpoints as rows. All functions work inside a transaction of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Subquery,
    UpdateBase,
    and_,
    func,
    select,
)
from sqlalchemy.orm import Session

from agentic.core.graph.checkpoints.store import (
    Checkpoint,
    CheckpointMetadata,
    StoredCheckpoint,
    stored_bytes,
)
from agentic.core.graph.errors import CheckpointNotFoundError, CorruptCheckpointError
from agentic.core.graph.model.result import RunStatus
from agentic.core.types import RunId
from agentic.mappers.checkpoints import statements
from agentic.mappers.checkpoints.statements import CHECKPOINTS, METADATA
from agentic.mappers.database.driver import CompiledStatement, DriverCursor, Value, Values

_NAMES = tuple(column.name for column in METADATA)

RunKey = dict[str, str]
"""``project_id`` and ``run_id``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filter of the checkpoints to list; None: any."""

    run_id: RunId | None
    workflow_id: str | None
    status: RunStatus | None
    newest_only: bool


def add_checkpoint(cursor: DriverCursor, project_id: str, checkpoint: Checkpoint) -> bool:
    """Add a checkpoint; return False if it does not follow the newest one.

    Raises:
        IntegrityError: Another one was added at the same time, or the project does not exist.
    """
    return _add(cursor, project_id, checkpoint, statements.ADD_CHECKPOINT)


def add_next_checkpoint(cursor: DriverCursor, project_id: str, checkpoint: Checkpoint) -> None:
    """Add a checkpoint at half the cost, if the caller knows that it follows the newest one.

    Raises:
        IntegrityError: Another process added this revision, or the project does not exist.
    """
    _add(cursor, project_id, checkpoint, statements.ADD_NEXT_CHECKPOINT)


def _add(cursor: DriverCursor, project_id: str, checkpoint: Checkpoint, statement: CompiledStatement) -> bool:
    metadata, changes = checkpoint.metadata, checkpoint.changes
    key: dict[str, Value] = {
        "project_id": project_id,
        "run_id": metadata.run_id,
        "revision": metadata.revision,
    }
    facts = {
        **key,
        "superstep": metadata.superstep,
        "status": metadata.status.value,
        "workflow_id": metadata.workflow_id,
        "version": metadata.version,
        "schema_version": metadata.schema_version,
        "saved_at": metadata.saved_at,
        "forked_from": metadata.forked_from,
        "size_bytes": stored_bytes(checkpoint.head, changes.values()),
        "head": checkpoint.head,
    }
    if not cursor.run(statement, facts):
        return False
    if changes:
        rows = [{**key, "part": name, "text": text} for name, text in changes.items()]
        cursor.run_each(statements.ADD_PART, rows)
    return True


def newest_revision(cursor: DriverCursor, key: RunKey) -> int:
    """Return the revision of a run's newest checkpoint, 0 without one."""
    return cursor.number(statements.NEWEST_REVISION, key)


def read_checkpoint(
    session: Session | Connection, key: RunKey, revision: int | None
) -> StoredCheckpoint | None:
    """Return a checkpoint, the newest one by default; None without one.

    Raises:
        CorruptCheckpointError: A row has invalid data.
    """
    session.execute(statements.PREPARE_JOINS)
    wanted = statements.LATEST if revision is None else statements.AT_REVISION
    return checkpoint_of(session.execute(wanted, {**key, "revision": revision}).all())


def checkpoint_of(rows: Sequence[Sequence[Any]]) -> StoredCheckpoint | None:
    """Build the checkpoint from rows of :data:`checkpoint_statements.LATEST`; None without rows.

    Raises:
        CorruptCheckpointError: A row has invalid data.
    """
    head = next((row for row in rows if row[0] is None), None)
    if head is None:
        return None
    metadata = metadata_of(dict(zip(_NAMES, head[2:], strict=True)))
    parts: dict[str, str] = {row[0]: row[1] for row in rows if row is not head}
    return StoredCheckpoint(metadata=metadata, head=head[1], parts=parts)


def list_checkpoints(session: Session, project_id: str, wanted: Wanted) -> list[CheckpointMetadata]:
    """Return metadata of checkpoints: of one run by revision, else by time, newest first.

    Raises:
        CorruptCheckpointError: A row has invalid data.
    """
    columns = CHECKPOINTS.c
    scope = [columns.project_id == project_id]
    if wanted.run_id is not None:
        scope.append(columns.run_id == wanted.run_id)
    query = select(*METADATA).where(*scope)
    if wanted.newest_only:
        session.execute(statements.PREPARE_JOINS)
        newest = _newest_of_each(scope)
        query = query.join(
            newest, and_(columns.run_id == newest.c.run_id, columns.revision == newest.c.revision)
        )
    if wanted.workflow_id is not None:
        query = query.where(columns.workflow_id == wanted.workflow_id)
    if wanted.status is not None:
        query = query.where(columns.status == wanted.status)
    by_time = [columns.saved_at.desc()] if wanted.run_id is None else []
    rows = session.execute(query.order_by(*by_time, columns.revision.desc())).mappings()
    return [metadata_of(row) for row in rows]


def remove_older(cursor: DriverCursor, key: RunKey, count: int) -> int:
    """Remove all but the newest ``count`` and the parts only they used; return how many were removed."""
    oldest = cursor.number(statements.OLDEST_REVISION, key)
    first = newest_revision(cursor, key) - count + 1
    if first <= oldest:
        return 0
    cursor.run(statements.PREPARE_HOT_JOINS, {})
    limits: dict[str, Value] = {**key, "oldest": oldest, "first": first}
    removed_count = cursor.run(statements.REMOVE_OLDER, limits)
    cursor.run(statements.REMOVE_REPLACED, limits)
    cursor.run(statements.REMOVE_GONE, limits)
    return removed_count


def remove_run(cursor: DriverCursor, key: RunKey) -> int:
    """Remove a run; return how many checkpoints it had."""
    cursor.number(statements.OLDEST_REVISION, key)
    removed_count = 0
    # Repeat until nothing is left: on PostgreSQL, one may be added while the newest is removed.
    while removed := cursor.run(statements.REMOVE_RUN, key):
        removed_count += removed
    cursor.run(statements.REMOVE_PARTS, key)
    return removed_count


def copy_checkpoint(
    session: Session, key: RunKey, revision: int, new_run_id: RunId
) -> CheckpointMetadata | None:
    """Copy a checkpoint as the first of a new run; None if that run has checkpoints already.

    Raises:
        CheckpointNotFoundError: The checkpoint does not exist.
        IntegrityError: The new run got its first checkpoint at the same time.
    """
    session.execute(statements.PREPARE_JOINS)
    origin = _described(session, key, revision)
    copied: dict[str, Value] = {
        **key,
        "revision": revision,
        "new_run_id": new_run_id,
        "origin": origin.id,
    }
    if not _affected(session, statements.COPY_CHECKPOINT, copied):
        return None
    session.execute(statements.COPY_PARTS, copied)
    return _described(session, {**key, "run_id": new_run_id}, 1)


def _newest_of_each(scope: Sequence[ColumnElement[bool]]) -> Subquery:
    columns = CHECKPOINTS.c
    newest = select(columns.run_id, func.max(columns.revision).label("revision"))
    return newest.where(*scope).group_by(columns.run_id).subquery("newest")


def _described(session: Session, key: RunKey, revision: int) -> CheckpointMetadata:
    row = session.execute(statements.LOCK_CHECKPOINT, {**key, "revision": revision}).mappings().one_or_none()
    if row is None:
        raise CheckpointNotFoundError(key["run_id"], revision)
    return metadata_of(row)


def metadata_of(row: Mapping[Any, Any]) -> CheckpointMetadata:
    """Return the metadata of a checkpoint from its row.

    Raises:
        CorruptCheckpointError: The row has invalid data.
    """
    facts = {name: row[name] for name in _NAMES}
    try:
        return CheckpointMetadata(**{**facts, "status": RunStatus(facts["status"])})
    except ValueError as exc:
        raise CorruptCheckpointError(f"{facts['run_id']}@{facts['revision']}", str(exc)) from exc


def _affected(session: Session, statement: UpdateBase, values: Values) -> int:
    # Without this option, SQLAlchemy keeps the count of inserted rows only on SQLite.
    result = session.execute(statement, values, execution_options={"preserve_rowcount": True})
    return cast("CursorResult[object]", result).rowcount
