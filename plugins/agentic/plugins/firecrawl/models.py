"""The tables of Firecrawl's results."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns, UTCDateTime


class FirecrawlPageModel(SourceColumns, Base):
    """A page as Firecrawl last returned it, one row for each project.

    Attributes:
        url_key: Hash of ``url``.
        url: Canonical, where redirects end.
        source_url: The requested URL.
        status: HTTP status of the site.
        language: The page's own, ``en`` or ``en-GB``.
        markdown: The page as Markdown.
        html: The page cleaned up.
        links: Addresses on it.
        item: The fields that a model read from it.
        told: All metadata of the service; column ``metadata``. A change of this alone is not an update.
        scraped_at: When we last received it.
    """

    __tablename__ = "firecrawl_pages"

    url_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    source_url: Mapped[str | None] = mapped_column(Text)
    status: Mapped[int | None]
    title: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    language: Mapped[str | None] = mapped_column(String(100))
    markdown: Mapped[str | None] = mapped_column(Text)
    html: Mapped[str | None] = mapped_column(Text)
    links: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    item: Mapped[dict[str, JSONValue] | None] = mapped_column(JSON(none_as_null=True))
    # SQLAlchemy reserves `metadata`.
    told: Mapped[dict[str, JSONValue] | None] = mapped_column("metadata", JSON(none_as_null=True))
    scraped_at: Mapped[datetime] = mapped_column(UTCDateTime)


class FirecrawlLinkModel(SourceColumns, Base):
    """A URL from a map or a search, one row for each project and request.

    Attributes:
        found_by: ``map`` or ``search``.
        asked_key: Hash of ``asked``.
        url_key: Hash of ``url``.
        asked: The mapped site, or the query.
        url: Canonical.
        source: Of a search: ``web``, ``news``, ``images``.
        position: In the answer, from 1; a change of this alone is not an update.
        description: Of a search, the text of the result.
    """

    __tablename__ = "firecrawl_links"

    found_by: Mapped[str] = mapped_column(String(10), primary_key=True)
    asked_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    url_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    asked: Mapped[str] = mapped_column(Text)
    url: Mapped[str] = mapped_column(Text)
    source: Mapped[str | None] = mapped_column(String(10))
    title: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    position: Mapped[int | None]
