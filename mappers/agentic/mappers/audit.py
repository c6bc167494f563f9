"""Decisions in SQL: added in the transaction of their change, read newest first."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from sqlalchemy import Connection, Select, Table, Text, bindparam, column, insert, or_, select, update
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, DecisionKind, decided
from agentic.core.ids import new_ids
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.mappers.content import clean_text
from agentic.mappers.database.database import Database
from agentic.mappers.database.driver import CompiledStatement, cursor_of
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.database.prefixes import as_pairs, as_table, is_within
from agentic.mappers.ledger.sql import NOW
from agentic.mappers.tables.audit import AuditModel

AUDIT = cast("Table", AuditModel.__table__)

_COLUMNS = AUDIT.c
_DECISION = tuple(
    _COLUMNS[name] for name in ("id", "time", "kind", "subject", "who", "what", "reason", "details")
)

KeptDecision: TypeAlias = tuple[Decision, float | None]
"""A decision and the time of its publication, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """Filter of decisions.

    Attributes:
        run_id: About this run, and the runs within it; None for any subject.
        kinds: Of these kinds; empty for all.
        who: Made by this user.
        since: Made at this time or later; seconds since the epoch.
    """

    run_id: str | None = None
    kinds: Collection[DecisionKind] = ()
    who: str | None = None
    since: float | None = None

    def takes(self, decision: Decision) -> bool:
        """Whether a decision matches."""
        return (
            (self.run_id is None or self.run_id in {decision.subject, decision.run_id})
            and (not self.kinds or decision.kind in self.kinds)
            and (self.who is None or decision.who == self.who)
            and (self.since is None or decision.time >= self.since)
        )


class SqlAudit:
    """Stores decisions of a project at once, each in its own transaction.

    Args:
        database: Migrated.
        project_id: Project of the decisions.
    """

    def __init__(self, database: Database, project_id: str) -> None:
        self._database = database
        self._project_id = project_id

    async def decide(self, decision: Decision) -> None:
        """Store a decision.

        Raises:
            DatabaseUnavailableError: The database cannot be opened.
        """
        await in_thread(self._add, decision)

    def _add(self, decision: Decision) -> None:
        with self._database.writing() as session:
            add_decisions(session.connection(), self._project_id, [decision])


def audit(  # noqa: PLR0913  # the parts of a decision
    session: Session,
    project_id: str,
    kind: DecisionKind,
    subject: str,
    what: str,
    *,
    reason: str = "",
    who: str = "",
    **details: JSONValue,
) -> None:
    """Store a decision in the transaction of its change: both are kept, or neither.

    Args:
        session: In a transaction.
        project_id: Project of the decision.
        kind: Kind of the decision.
        subject: Subject of the decision.
        what: The decision, in words.
        reason: Why, in words.
        who: Who decided; by default the user of this process.
        details: Facts, without secrets.
    """
    decision = decided(kind, subject, what, reason=reason, who=who, **details)
    add_decisions(session.connection(), project_id, [decision])


def add_decisions(connection: Connection, project_id: str, decisions: Sequence[Decision]) -> None:
    """Store decisions to publish; skip any whose id the project has already.

    Args:
        connection: In a transaction.
        project_id: Project of the decisions.
        decisions: To store.
    """
    keep_decisions(connection, project_id, [(one, None) for one in decisions])


def keep_decisions(connection: Connection, project_id: str, decisions: Sequence[KeptDecision]) -> None:
    """Store decisions with their time of publication; see :func:`add_decisions`."""
    if not decisions:
        return
    rows, key = [_row(project_id, *one) for one in decisions], ["project_id", "id"]
    if connection.dialect.name == "postgresql":
        names = list(rows[0])
        values = as_table([column(name, _COLUMNS[name].type) for name in names], rows)
        statement = insert_into(AUDIT, is_postgresql=True).from_select(names, select(*values.c))
        connection.execute(statement.on_conflict_do_nothing(index_elements=key))
    else:
        statement = insert_into(AUDIT, is_postgresql=False)
        connection.execute(statement.on_conflict_do_nothing(index_elements=key), rows)


def add_decision_about(
    connection: Connection, project_id: str, decision: Decision, subjects: Sequence[str]
) -> None:
    """Store one decision per subject, each with its own id, to publish later.

    In one statement: checking, masking and binding the same words for each takes longer than storing them.

    Args:
        connection: In a transaction.
        project_id: Project of the decision.
        decision: The decision; its own id and subject are ignored.
        subjects: Its subjects.
    """
    ids = json.dumps(dict(zip(new_ids(len(subjects)), map(clean_text, subjects), strict=True)))
    statement = _add_about(is_sqlite=connection.dialect.name == "sqlite")
    with cursor_of(connection) as cursor:
        cursor.run(statement, {**_row(project_id, decision, None), "ids": ids})


@lru_cache
def _add_about(*, is_sqlite: bool) -> CompiledStatement:
    pairs = as_pairs(bindparam("ids", type_=Text), "id", "subject", is_sqlite=is_sqlite)
    columns = [column for column in AUDIT.c if column is not _COLUMNS.number]
    values = [pairs.c.get(column.name, bindparam(column.name, type_=column.type)) for column in columns]
    return CompiledStatement(insert(AUDIT).from_select(columns, select(*values).select_from(pairs)))


def unpublished_decisions(connection: Connection, project_id: str, limit: int) -> list[Decision]:
    """Return the unpublished decisions of a project, in the order they were added."""
    query = select(*_DECISION).where(_COLUMNS.project_id == project_id, _COLUMNS.published_at.is_(None))
    return _read(connection, query.order_by(_COLUMNS.number).limit(limit))


def first_decisions(connection: Connection, project_id: str, limit: int) -> list[Decision]:
    """Return the decisions of a project in the order they were added."""
    query = select(*_DECISION).where(_COLUMNS.project_id == project_id)
    return _read(connection, query.order_by(_COLUMNS.number).limit(limit))


def newest_decisions(session: Session, project_id: str, wanted: DecisionFilter, limit: int) -> list[Decision]:
    """Return the newest matching decisions of a project, the newest first."""
    query = select(*_DECISION).where(_COLUMNS.project_id == project_id)
    if wanted.run_id is not None:
        query = query.where(
            or_(_COLUMNS.subject == wanted.run_id, is_within(_COLUMNS.subject, wanted.run_id))
        )
    if wanted.kinds:
        query = query.where(_COLUMNS.kind.in_([str(kind) for kind in wanted.kinds]))
    if wanted.who is not None:
        query = query.where(_COLUMNS.who == wanted.who)
    if wanted.since is not None:
        query = query.where(_COLUMNS.time >= wanted.since)
    query = query.order_by(_COLUMNS.time.desc(), _COLUMNS.number.desc()).limit(limit)
    return _read(session.connection(), query)


def mark_decisions(connection: Connection, project_id: str, ids: Sequence[str]) -> None:
    """Mark decisions as published; nothing else in a row ever changes."""
    own = (_COLUMNS.project_id == project_id, _COLUMNS.id.in_(ids), _COLUMNS.published_at.is_(None))
    connection.execute(update(AUDIT).where(*own).values(published_at=NOW))


def _row(project_id: str, decision: Decision, published_at: float | None) -> dict[str, object]:
    return {
        "project_id": project_id,
        "id": clean_text(decision.id),
        "time": decision.time,
        "kind": str(decision.kind),
        "subject": clean_text(decision.subject),
        "who": clean_text(decision.who),
        "what": clean_text(decision.what),
        "reason": clean_text(decision.reason),
        "details": json.dumps(decision.details),
        "published_at": published_at,
    }


def _read(connection: Connection, query: Select[tuple[object, ...]]) -> list[Decision]:
    found = connection.execute(query).mappings()
    return [Decision.model_validate({**row, "details": json.loads(row["details"])}) for row in found]
