"""The tables of pages and items."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns, UTCDateTime


class WebPageModel(SourceColumns, Base):
    """A page as it was last seen, one row for each project.

    Attributes:
        url_key: Hash of ``url``.
        url: Canonical, where redirects end: pages that lead to one place are one row.
        status: HTTP status.
        content_type: Media type, None where the server named none.
        title: Text of ``<title>``.
        fetched_at: When it was last fetched.
        fetched_by: How: ``http``, ``browser``, ``firecrawl``.
        attempts: Every try if it took more than one.
    """

    __tablename__ = "web_pages"

    url_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    status: Mapped[int]
    content_type: Mapped[str | None] = mapped_column(String(200))
    title: Mapped[str | None] = mapped_column(Text)
    fetched_at: Mapped[datetime] = mapped_column(UTCDateTime)
    fetched_by: Mapped[str] = mapped_column(String(16), server_default="http")
    attempts: Mapped[list[JSONValue] | None] = mapped_column(JSON(none_as_null=True))


class ItemModel(SourceColumns, Base):
    """Something a pipeline read from a page, one row for each project, pipeline and key.

    Attributes:
        pipeline: Name of the pipeline.
        key: What tells it from the others: the value of the pipeline's ``item_key``.
        data: The fields.
        attempts: Every try if it took more than one.
    """

    __tablename__ = "items"

    pipeline: Mapped[str] = mapped_column(String(100), primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    data: Mapped[dict[str, JSONValue]] = mapped_column(JSON)
    attempts: Mapped[list[JSONValue] | None] = mapped_column(JSON(none_as_null=True))
