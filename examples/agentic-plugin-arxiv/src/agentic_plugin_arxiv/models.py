"""The table."""

from __future__ import annotations

from datetime import datetime

from agentic.mappers import Base, SourceColumns, UTCDateTime
from sqlalchemy import JSON, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column


class ArxivPaperModel(SourceColumns, Base):
    """A paper in its newest version; the project comes first in the key, so two projects keep a row each.

    Attributes:
        id: Without the version: ``2401.00001`` or ``hep-th/9901001``.
        version: The one that the row tells of.
        summary: The abstract.
        authors: Names, in their order.
        published: When its first version was submitted.
        updated: When this one was.
        doi: Of the article elsewhere, if the authors told.
    """

    __tablename__ = "arxiv_papers"
    __table_args__ = (Index(None, "project_id", "published"),)

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    version: Mapped[int]
    title: Mapped[str] = mapped_column(Text)
    summary: Mapped[str | None] = mapped_column(Text)
    authors: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    primary_category: Mapped[str | None] = mapped_column(String(100))
    categories: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    published: Mapped[datetime | None] = mapped_column(UTCDateTime)
    updated: Mapped[datetime | None] = mapped_column(UTCDateTime)
    doi: Mapped[str | None] = mapped_column(Text)
    journal_ref: Mapped[str | None] = mapped_column(Text)
    comment: Mapped[str | None] = mapped_column(Text)
    pdf_url: Mapped[str | None] = mapped_column(Text)
