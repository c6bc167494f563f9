"""The tables that a project keeps between runs: encrypted secrets and sessions, and a memory.

``sealed`` is a Fernet token; see :mod:`agentic.mappers.vault.keys`. It comes last, so that SQLite reads the
other columns without it.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers.tables.columns import ID_LENGTH, Base, UTCDateTime
from agentic.mappers.tables.core import owner

NAME_LENGTH = 200


class SealedModel(Base):
    """Common columns of secrets and sessions."""

    __abstract__ = True

    project_id: Mapped[str] = owner()
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True, sort_order=-1)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, sort_order=90)
    updated_at: Mapped[datetime] = mapped_column(UTCDateTime, sort_order=91)
    sealed: Mapped[str] = mapped_column(Text, sort_order=92)


class SecretModel(SealedModel):
    """A secret of a project. Its ``kind`` is ``login`` if ``authenticate`` reads it, else ``text``."""

    __tablename__ = "secrets"

    kind: Mapped[str] = mapped_column(String(16))


class SessionModel(SealedModel):
    """A login of a project. Each write changes its ``revision``."""

    __tablename__ = "sessions"

    revision: Mapped[str] = mapped_column(String(ID_LENGTH))


class ActorMemoryModel(Base):
    """A value that actors of a project remember, as JSON."""

    __tablename__ = "actor_memory"

    project_id: Mapped[str] = owner()
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    updated_at: Mapped[datetime] = mapped_column(UTCDateTime)
    value: Mapped[str] = mapped_column(Text)
