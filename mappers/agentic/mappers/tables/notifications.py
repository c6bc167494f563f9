"""The tables of notifications: rules, the outbox, and notes about new and changed rows."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.ids import new_id
from agentic.core.types import JSONValue
from agentic.mappers.tables.columns import ID_LENGTH, Base, UTCDateTime, utc_now
from agentic.mappers.tables.core import names
from agentic.mappers.tables.vault import NAME_LENGTH


class NotificationEvent(StrEnum):
    """What a rule may notify about; the first four are statuses of ended executions."""

    FAILED = "failed"
    PARTIAL = "partial"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"
    NEW = "new"
    CHANGED = "changed"
    FEWER = "fewer"
    HELD = "held"


class Channel(StrEnum):
    """How a notification is sent."""

    EMAIL = "email"
    WEBHOOK = "webhook"
    SLACK = "slack"
    DISCORD = "discord"
    TEAMS = "teams"
    APPRISE = "apprise"


class NotificationState(StrEnum):
    """Where a notification is on its way.

    ``UNKNOWN`` may or may not have arrived, and is never sent again.
    """

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"


def _id() -> Mapped[str]:
    return mapped_column(String(ID_LENGTH), primary_key=True, default=new_id)


def _number() -> Mapped[int]:
    """Return a key that is in the order of insertion; on SQLite, only a plain INTEGER key increments."""
    return mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)


def _of(table: str) -> Mapped[str]:
    return mapped_column(String(ID_LENGTH), ForeignKey(f"{table}.id", ondelete="CASCADE"))


class NotificationRuleModel(Base):
    """Whom to notify about which events of an agent, or of all agents of the project.

    Attributes:
        agent_id: The agent; None for all.
        events: Values of :class:`NotificationEvent`, separated by blanks.
        row_filter: JMESPath; new and changed rows count if its result is true.
        table_name: Table of the rows; None for the table with the results.
        target: URL or e-mail addresses, perhaps with ``${secrets.NAME}``.
        credential: The signing key of a webhook, or the URL of the SMTP server: ``${secrets.NAME}``.
        digest_s: Time to collect further events for the same message.
        max_per_hour: Limit of messages; further events are in the next one.
        may_be_private: Whether the target may have a private or loopback address.
    """

    __tablename__ = "notification_rules"
    __table_args__ = (UniqueConstraint("project_id", "name"), Index(None, "agent_id"))

    id: Mapped[str] = _id()
    project_id: Mapped[str] = _of("projects")
    agent_id: Mapped[str | None] = mapped_column(
        String(ID_LENGTH), ForeignKey("agents.id", ondelete="CASCADE")
    )
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    events: Mapped[str] = mapped_column(Text)
    row_filter: Mapped[str | None] = mapped_column(Text)
    table_name: Mapped[str | None] = mapped_column(String(63))
    channel: Mapped[Channel] = mapped_column(names(Channel, 16))
    target: Mapped[str] = mapped_column(Text)
    credential: Mapped[str | None] = mapped_column(Text)
    digest_s: Mapped[int] = mapped_column(default=0)
    max_per_hour: Mapped[int]
    may_be_private: Mapped[bool] = mapped_column(default=False, server_default=false())
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)


class NotificationModel(Base):
    """An event to notify about, once: stored in the transaction that ends the execution.

    Attributes:
        attempt: Which attempt of the execution ended; each end is an event of its own. Of held pages, how
            often the execution held some.
        facts: Content of the message.
        due_at: Not sent before this time.
        tries: How often sending failed so that it can be repeated.
        message_id: The message that has it; events of a rule may share one.
        claimed_at: When its sending began.
        lease_until: A sender that has not answered until then is gone.
        reason: Why it was not sent.
    """

    __tablename__ = "notifications"
    __table_args__ = (
        UniqueConstraint("rule_id", "execution_id", "attempt", "event"),
        Index(None, "state", "due_at"),
        Index(None, "project_id", "id"),
        Index(None, "rule_id", "claimed_at"),
        Index(None, "execution_id"),
        Index(None, "message_id"),
    )

    id: Mapped[int] = _number()
    project_id: Mapped[str] = _of("projects")
    rule_id: Mapped[str] = _of("notification_rules")
    execution_id: Mapped[str] = _of("executions")
    attempt: Mapped[int]
    event: Mapped[NotificationEvent] = mapped_column(names(NotificationEvent, 16))
    facts: Mapped[dict[str, JSONValue]] = mapped_column(JSON)
    state: Mapped[NotificationState] = mapped_column(
        names(NotificationState, 8), default=NotificationState.PENDING
    )
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    due_at: Mapped[datetime] = mapped_column(UTCDateTime)
    tries: Mapped[int] = mapped_column(default=0)
    message_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    claimed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    lease_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    reason: Mapped[str | None] = mapped_column(Text)


class RowNoteModel(Base):
    """New and changed rows of one commit that a rule waits for; removed when the execution ends.

    A row of this table for each commit: a shared counter would make the writers of a crawl wait for each
    other, in different orders. ``rule_id`` is not a foreign key: a removed rule must not stop a crawl.
    """

    __tablename__ = "row_notes"
    __table_args__ = (Index(None, "project_id", "execution_id"), Index(None, "execution_id"))

    id: Mapped[int] = _number()
    project_id: Mapped[str] = _of("projects")
    rule_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    execution_id: Mapped[str] = _of("executions")
    table_name: Mapped[str] = mapped_column(String(63))
    new_count: Mapped[int]
    changed_count: Mapped[int]
    samples: Mapped[list[JSONValue]] = mapped_column(JSON)
