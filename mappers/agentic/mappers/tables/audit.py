"""The table of decisions."""

from __future__ import annotations

from sqlalchemy import BigInteger, Float, Index, Integer, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers.tables.columns import ID_LENGTH, Base, index_of

_UNPUBLISHED = text("published_at IS NULL")


class AuditModel(Base):
    """A decision without an event, or whose run was removed; see :class:`agentic.core.audit.Decision`.

    Rows are added, and never changed or removed: database triggers ensure it. Only ``published_at`` is set
    later, once. ``number`` grows in the order of insertion; ``details`` is JSON. ``project_id`` is not a
    foreign key, so that decisions outlive their project.
    """

    __tablename__ = "audit"
    __table_args__ = (
        UniqueConstraint("project_id", "id"),
        Index(None, "project_id", "time"),
        Index(None, "project_id", "kind", "time"),
        Index(None, "project_id", "who", "time"),
        Index(None, "project_id", "subject", "time"),
        index_of(_UNPUBLISHED, "ix_audit_unpublished", "project_id", "number"),
    )

    # On SQLite, only a plain INTEGER key increments automatically.
    number: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    id: Mapped[str] = mapped_column(Text)
    time: Mapped[float] = mapped_column(Float)
    kind: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(Text)
    who: Mapped[str] = mapped_column(Text)
    what: Mapped[str] = mapped_column(Text)
    reason: Mapped[str] = mapped_column(Text)
    details: Mapped[str] = mapped_column(Text)
    published_at: Mapped[float | None] = mapped_column(Float)
