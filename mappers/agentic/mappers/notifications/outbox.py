"""The outbox of notifications: filled by the transaction that ends an execution, emptied by senders.

A row is claimed before it is sent, and never sent after it was claimed unless the sender knows that it did
not arrive: each event reaches a target at most once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import CursorResult, func, select, update
from sqlalchemy.orm import Session

from agentic.core.ids import new_id
from agentic.core.types import JSONValue
from agentic.mappers.content import clean_text
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.tables.notifications import (
    NotificationEvent,
    NotificationModel,
    NotificationRuleModel,
    NotificationState,
)

MAX_CLAIMED = 1_000
"""Events in one message: it counts all of them, and shows a few."""

LOST = "the process that sent it ended before it had an answer; it may have arrived, so it is not sent again"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotification:
    """An event for the outbox; ``delay_s`` is the time to wait for further events."""

    rule_id: str
    event: NotificationEvent
    facts: Mapping[str, JSONValue]
    delay_s: float = 0


def add_notifications(
    session: Session,
    project_id: str,
    execution_id: str,
    attempt: int | None,
    found: Collection[NewNotification],
) -> None:
    """Add events to the outbox, in the transaction that brings them; known ones stay as they are.

    Args:
        session: In that transaction.
        project_id: Owns the execution.
        execution_id: The execution.
        attempt: Its attempt that ended; None for events that it may have several times, and are all new.
        found: The events.
    """
    if not found:
        return
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    insert = insert_into(NotificationModel, is_postgresql=is_postgresql)
    key = ("rule_id", "execution_id", "attempt", "event")
    for one in found:
        row = {
            "project_id": project_id,
            "rule_id": one.rule_id,
            "execution_id": execution_id,
            "attempt": _next_number(session, project_id, execution_id, one) if attempt is None else attempt,
            "event": one.event,
            "facts": dict(one.facts),
            "created_at": StoreNow(),
            "due_at": StoreNow(one.delay_s),
        }
        session.execute(insert.values(**row).on_conflict_do_nothing(index_elements=key))


def _next_number(session: Session, project_id: str, execution_id: str, new: NewNotification) -> int:
    row = NotificationModel
    mine = (row.project_id == project_id, row.execution_id == execution_id, row.rule_id == new.rule_id)
    return (session.scalar(select(func.max(row.attempt)).where(*mine, row.event == new.event)) or 0) + 1


def due_rules(session: Session, project_id: str) -> Sequence[str]:
    """Return the ids of rules with an event to send now, the longest due first."""
    row = NotificationModel
    query = (
        select(row.rule_id)
        .where(
            row.project_id == project_id,
            row.state == NotificationState.PENDING,
            row.due_at <= StoreNow(),
        )
        .group_by(row.rule_id)
        .order_by(func.min(row.due_at))
    )
    return session.scalars(query).all()


def projects_with_due(session: Session) -> Sequence[str]:
    """Return the projects that have an event to send, or one whose sender may be gone."""
    row = NotificationModel
    is_open = row.state.in_([NotificationState.PENDING, NotificationState.SENDING])
    return session.scalars(select(row.project_id).where(is_open, row.due_at <= StoreNow()).distinct()).all()


def lock_rule(session: Session, project_id: str, rule_id: str) -> NotificationRuleModel | None:
    """Return a rule, locked until the transaction ends; None if another sender has it, or it is removed."""
    rule = NotificationRuleModel
    query = select(rule).where(rule.project_id == project_id, rule.id == rule_id)
    # An execution that ends holds a share of it, and must not be waited for, or wait.
    return session.scalar(query.with_for_update(skip_locked=True, key_share=True))


def pending_of(session: Session, rule: NotificationRuleModel) -> Sequence[NotificationModel]:
    """Return the events of a rule that are not sent, in their order."""
    row = NotificationModel
    query = select(row).where(
        row.project_id == rule.project_id, row.rule_id == rule.id, row.state == NotificationState.PENDING
    )
    return session.scalars(query.order_by(row.id).limit(MAX_CLAIMED)).all()


def sent_since(session: Session, rule: NotificationRuleModel, seconds: float) -> list[datetime]:
    """Return when messages of a rule were sent in the last ``seconds``, in their order."""
    row = NotificationModel
    query = (
        select(func.min(row.claimed_at, type_=row.claimed_at.type))
        .where(
            row.project_id == rule.project_id,
            row.rule_id == rule.id,
            row.claimed_at > StoreNow(-seconds),
            row.state != NotificationState.PENDING,
        )
        .group_by(row.message_id)
    )
    return sorted(moment for moment in session.scalars(query) if moment is not None)


def claim(session: Session, rows: Sequence[NotificationModel], now: datetime, lease_s: float) -> str:
    """Mark events as being sent, and return the id of their message; the rule must be locked."""
    message_id = new_id()
    for row in rows:
        row.state = NotificationState.SENDING
        row.message_id = message_id
        row.claimed_at = now
        row.lease_until = now + timedelta(seconds=lease_s)
    session.flush()
    return message_id


def end_message(
    session: Session, project_id: str, message_id: str, state: NotificationState, reason: str | None = None
) -> None:
    """Record the end of a message, also if it was taken for lost meanwhile."""
    row = NotificationModel
    is_open = row.state.in_([NotificationState.SENDING, NotificationState.UNKNOWN])
    session.execute(
        update(row)
        .where(row.project_id == project_id, row.message_id == message_id, is_open)
        .values(state=state, lease_until=None, reason=clean_text(reason) if reason else None)
    )


def return_message(
    session: Session, project_id: str, message_id: str, reason: str, *, after_s: float, max_tries: int
) -> None:
    """Return the events of a message that certainly did not arrive; those tried too often fail."""
    row = NotificationModel
    mine = (
        row.project_id == project_id,
        row.message_id == message_id,
        row.state == NotificationState.SENDING,
    )
    text = clean_text(reason)
    session.execute(
        update(row)
        .where(*mine, row.tries + 1 >= max_tries)
        .values(state=NotificationState.FAILED, tries=row.tries + 1, lease_until=None, reason=text)
    )
    session.execute(
        update(row)
        .where(*mine)
        .values(
            state=NotificationState.PENDING,
            tries=row.tries + 1,
            due_at=StoreNow(after_s),
            message_id=None,
            claimed_at=None,
            lease_until=None,
            reason=text,
        )
    )


def abandon_lost(session: Session, project_id: str) -> int:
    """Mark the events whose sender is gone as unknown; return their number."""
    row = NotificationModel
    found = session.execute(
        update(row)
        .where(
            row.project_id == project_id,
            row.state == NotificationState.SENDING,
            row.lease_until < StoreNow(),
        )
        .values(state=NotificationState.UNKNOWN, lease_until=None, reason=LOST)
    )
    return found.rowcount if isinstance(found, CursorResult) else 0


def list_notifications(
    session: Session,
    project_id: str,
    *,
    rule_id: str | None = None,
    execution_id: str | None = None,
    state: NotificationState | None = None,
    limit: int = 50,
) -> Sequence[tuple[NotificationModel, str]]:
    """Return events of a project with the names of their rules, the newest first."""
    row, rule = NotificationModel, NotificationRuleModel
    chosen = [row.project_id == project_id, rule.id == row.rule_id]
    if rule_id is not None:
        chosen.append(row.rule_id == rule_id)
    if execution_id is not None:
        chosen.append(row.execution_id == execution_id)
    if state is not None:
        chosen.append(row.state == state)
    query = select(row, rule.name).where(*chosen).order_by(row.id.desc()).limit(limit)
    return [(found, name) for found, name in session.execute(query)]
