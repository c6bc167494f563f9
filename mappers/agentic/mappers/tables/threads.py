"""The tables of threads: conversations of agents, as logs of entries."""

from __future__ import annotations

from sqlalchemy import Float, ForeignKey, ForeignKeyConstraint, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers.tables.columns import ID_LENGTH, Base

THREAD_ID_LENGTH = 200


class ThreadModel(Base):
    """A thread.

    Attributes:
        user_id: The person who speaks, if known.
        facts: Its metadata, as JSON in ASCII.
        created_at: Seconds since the epoch.
    """

    __tablename__ = "threads"
    __table_args__ = (
        Index(None, "project_id", "user_id", "created_at"),
        Index(None, "project_id", "created_at"),
    )

    project_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    id: Mapped[str] = mapped_column(String(THREAD_ID_LENGTH), primary_key=True)
    agent: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[str | None] = mapped_column(String(THREAD_ID_LENGTH))
    facts: Mapped[str] = mapped_column(Text)
    created_at: Mapped[float] = mapped_column(Float)


class ThreadEntryModel(Base):
    """One step of a thread; never changed.

    Attributes:
        number: From 1, without gaps.
        text: The entry, as JSON in ASCII.
    """

    __tablename__ = "thread_entries"
    __table_args__ = (
        ForeignKeyConstraint(
            ["project_id", "thread_id"], ["threads.project_id", "threads.id"], ondelete="CASCADE"
        ),
    )

    project_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    thread_id: Mapped[str] = mapped_column(String(THREAD_ID_LENGTH), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(Text)
