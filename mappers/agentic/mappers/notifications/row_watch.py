"""Notes the new and changed rows that rules of notifications wait for, when they are stored.

Afterwards, the changed rows of an execution and their earlier values cannot be found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import cast

from sqlalchemy import Table, bindparam, delete, insert, or_, select
from sqlalchemy.orm import Session

from agentic.core.pipeline.expressions.expressions import query
from agentic.core.types import JSONValue
from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.database.savepoints import hot_savepoint
from agentic.mappers.tables.core import SourceColumns
from agentic.mappers.tables.notifications import NotificationEvent, NotificationRuleModel, RowNoteModel

Row = Mapping[str, object]

MAX_SAMPLES = 5
"""Rows that a notification shows."""

MAX_FIELDS = 12
MAX_CHARS = 200

BEFORE = "_before"
"""Name of the stored row in the input of a filter; null for a new row."""

_ITEM = "data"
_SHARED = frozenset(name for name in vars(SourceColumns) if not name.startswith("_"))
_RULES = cast("Table", NotificationRuleModel.__table__)
_WATCHING = CompiledStatement(
    select(_RULES.c.id, _RULES.c.name, _RULES.c.events, _RULES.c.row_filter, _RULES.c.table_name).where(
        _RULES.c.project_id == bindparam("project"),
        or_(_RULES.c.agent_id.is_(None), _RULES.c.agent_id == bindparam("agent")),
    )
)


@dataclass(frozen=True, slots=True)
class WatchingRule:
    """A rule about rows."""

    id: str
    name: str
    events: frozenset[str]
    row_filter: str | None
    table_name: str | None

    def wants(self, event: NotificationEvent, row: Row, before: Row | None) -> bool:
        """Whether the rule counts a row.

        Raises:
            ValueError: The filter cannot be applied to the row.
        """
        if event not in self.events:
            return False
        if self.row_filter is None:
            return True
        given = {**row, BEFORE: None if before is None else dict(before)}
        return query(self.row_filter, cast("JSONValue", given)) not in (None, False, "", [], {})


@dataclass(slots=True)
class _Tally:
    new: int = 0
    changed: int = 0
    samples: list[JSONValue] = field(default_factory=list)


class RowWatch:
    """Counts the rows of one save, with some of them as samples, for each rule.

    Args:
        rules: The rules that wait for rows.
        table: Table of the rows.
    """

    def __init__(self, rules: Sequence[WatchingRule], table: str) -> None:
        self._rules = [rule for rule in rules if rule.table_name in (None, table)]
        self._table = table
        self._tallies: dict[str, _Tally] = {}
        self._faults: dict[str, str] = {}

    def forget(self) -> None:
        """Begin again: the rows so far are rolled back."""
        self._tallies.clear()
        self._faults.clear()

    def see(self, before: Row | None, after: Row) -> None:
        """Count a row: a new one, or one whose content differs from ``before``."""
        event = NotificationEvent.NEW if before is None else NotificationEvent.CHANGED
        row, known = fields_of(after), None if before is None else fields_of(before)
        for rule in self._rules:
            try:
                is_wanted = rule.wants(event, row, known)
            except ValueError as exc:
                self._faults.setdefault(rule.name, str(exc))
                continue
            if is_wanted:
                self._count(rule.id, event, row, known)

    def write(
        self, session: Session, project_id: str, execution_id: str, warn: Callable[[str], object]
    ) -> None:
        """Store the counts in the transaction of the rows; warn about filters that failed."""
        for name, reason in self._faults.items():
            warn(f"the filter of notification {name!r} cannot be applied to a row of {self._table}: {reason}")
        rows = [
            {
                "project_id": project_id,
                "rule_id": rule_id,
                "execution_id": execution_id,
                "table_name": self._table,
                "new_count": tally.new,
                "changed_count": tally.changed,
                "samples": tally.samples,
            }
            for rule_id, tally in self._tallies.items()
        ]
        if rows:
            session.execute(insert(RowNoteModel), rows)

    def _count(self, rule_id: str, event: NotificationEvent, row: Row, before: Row | None) -> None:
        tally = self._tallies.setdefault(rule_id, _Tally())
        if event is NotificationEvent.NEW:
            tally.new += 1
        else:
            tally.changed += 1
        if len(tally.samples) < MAX_SAMPLES:
            tally.samples.append(_sample(event, row, before))


def watching_rules(session: Session, project_id: str, agent_id: str) -> list[WatchingRule]:
    """Return the rules that wait for rows of an agent; mostly none, which takes 30 us to find."""
    with hot_savepoint(session) as cursor:
        found = cursor.rows(_WATCHING, {"project": project_id, "agent": agent_id})
    rules = (
        WatchingRule(rule_id, name, frozenset(events.split()), row_filter, table)
        for rule_id, name, events, row_filter, table in found
    )
    about_rows = {NotificationEvent.NEW, NotificationEvent.CHANGED}
    return [rule for rule in rules if rule.events & about_rows]


def take_notes(session: Session, project_id: str, execution_id: str) -> Sequence[RowNoteModel]:
    """Remove the notes of an execution, and return them, the oldest first."""
    note = RowNoteModel
    found = session.scalars(
        delete(note)
        .where(note.project_id == project_id, note.execution_id == execution_id)
        .returning(note)
        .execution_options(synchronize_session=False)
    ).all()
    return sorted(found, key=lambda each: each.id)


def fields_of(row: Row) -> dict[str, JSONValue]:
    """Return the fields of a row as JSON: of an item, or else the columns that are useful to people."""
    item = row.get(_ITEM)
    if isinstance(item, Mapping):
        return {str(name): _plain(value) for name, value in item.items()}
    return {
        name: _plain(value)
        for name, value in row.items()
        if name not in _SHARED and not name.endswith("_key")
    }


def _plain(value: object) -> JSONValue:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str | int | float | list | dict) or value is None:
        return cast("JSONValue", value)
    return str(value)


def _sample(event: NotificationEvent, row: Row, before: Row | None) -> JSONValue:
    shown: dict[str, JSONValue] = {
        name: _short(value) for name, value in list(row.items())[:MAX_FIELDS] if value not in (None, "")
    }
    if before is None:
        return {"kind": str(event), "row": shown}
    was = {name: before.get(name) for name in row if before.get(name) != row[name]}
    changed = {name: _short(value) for name, value in list(was.items())[:MAX_FIELDS]}
    named = {name: _short(row[name]) for name in changed}
    return {"kind": str(event), "row": {**shown, **named}, "before": changed}


def _short(value: object) -> JSONValue:
    if isinstance(value, int | float) or value is None:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
