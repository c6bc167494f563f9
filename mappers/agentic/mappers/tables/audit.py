"""The table of decisions."""

from __future__ import annotations

from sqlalchemy import BigInteger, Float, Index, Integer, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers.tables.columns import ID_LENGTH, Base

_UNPUBLISHED = text("published_at IS NULL")


class AuditModel(Base):
    """A decision that no event tells of, or whose run was removed; see :class:`agentic.core.audit.Decision`.

    Rows are added, and never changed or removed: triggers of the database see to it. ``published_at`` alone
    is set once. ``number`` grows in the order rows were added; ``details`` is JSON. ``project_id`` refers to
    nothing, so that decisions outlive their project.
    """

    __tablename__ = "audit"
    __table_args__ = (
        UniqueConstraint("project_id", "id"),
        Index(None, "project_id", "time"),
        Index(None, "project_id", "kind", "time"),
        Index(None, "project_id", "who", "time"),
        Index(None, "project_id", "subject", "time"),
        Index(
            "ix_audit_unpublished",
            "project_id",
            "number",
            sqlite_where=_UNPUBLISHED,
            postgresql_where=_UNPUBLISHED,
        ),
    )

    # Only a plain INTEGER key counts up by itself on SQLite.
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
