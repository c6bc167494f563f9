"""The tables of pages, of what is kept of them, and of items."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns, UTCDateTime


class WebPageModel(SourceColumns, Base):
    """A page as it was last seen, one row for each project.

    Attributes:
        url_key: Hash of ``url``.
        url: Canonical, where redirects end: pages that lead to one place are one row.
        status: HTTP status.
        gone_at: When it was first found not to be there any more (404, 410); empty while it is there. All
            that was stored of it stays.
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
    gone_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    content_type: Mapped[str | None] = mapped_column(String(200))
    title: Mapped[str | None] = mapped_column(Text)
    fetched_at: Mapped[datetime] = mapped_column(UTCDateTime)
    fetched_by: Mapped[str] = mapped_column(String(16), server_default="http")
    attempts: Mapped[list[JSONValue] | None] = mapped_column(JSON(none_as_null=True))


class WebContentModel(SourceColumns, Base):
    """What a crawl kept of a page, one row for each project; only of pages whose crawl was told to.

    It is a table of its own, as what is stored of a row is read when the row is seen again, and a crawl that
    keeps nothing should not read whole pages. What a later crawl does not ask for stays as it was.

    Attributes:
        url_key: Of the page, as in ``web_pages``.
        url: Of the page.
        canonical_url: Where the page says it belongs.
        language: As the page says: ``en``, ``en-GB``.
        text: What people read on it: blocks with an empty line between them, tables in columns.
        markdown: The same as Markdown.
        html: The page as it came, decoded: markup, JSON or other text; "" for files.
        fetched_at: When ``html`` was fetched.
        head: Status, content type, charset and headers, to read ``html`` again; empty for rows of older
            versions.
    """

    __tablename__ = "web_contents"

    url_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    canonical_url: Mapped[str | None] = mapped_column(Text)
    language: Mapped[str | None] = mapped_column(String(100))
    text: Mapped[str | None] = mapped_column(Text)
    markdown: Mapped[str | None] = mapped_column(Text)
    html: Mapped[str | None] = mapped_column(Text)
    fetched_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    head: Mapped[dict[str, JSONValue] | None] = mapped_column(JSON(none_as_null=True))


class WebLinkModel(SourceColumns, Base):
    """A link from a page to another, one row for each project and pair; only of pages whose crawl kept links.

    A page has the links it had when it was last seen: one that is gone from the page is gone from here.

    Attributes:
        from_key: Of the page with the link, as in ``web_pages``.
        to_key: Of the page it leads to, which need not be in ``web_pages``.
        from_url: Canonical address of the page with the link.
        to_url: Canonical address of where it leads.
        rel: Words that every link from the one to the other has, as ``nofollow``; sorted, "" for none.
        text: Of the first such link that has one; "" where none has.
        is_followed: Whether the crawl that saw it last follows it, by its rules.
    """

    __tablename__ = "web_links"
    __table_args__ = (Index(None, "project_id", "to_key"),)

    from_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    to_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    from_url: Mapped[str] = mapped_column(Text)
    to_url: Mapped[str] = mapped_column(Text)
    rel: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    is_followed: Mapped[bool]


class WebFileModel(SourceColumns, Base):
    """A file that a crawl downloaded, one row for each project and URL.

    Files with the same content have one ``path``. A file that disappears from the site stays.

    Attributes:
        url_key: Hash of ``url``.
        url: As it was requested.
        page_url: A page that names it: where a crawl saw it last.
        path: Where the file is: below the folder ``files``, or its URL in an object store.
        sha256: Hash of its content.
        size_bytes: Size of its content.
        media_type: As the server says, or by the ending of its URL; "" if both are unknown.
        width: In pixels, of an image whose size could be read.
        height: Like ``width``.
    """

    __tablename__ = "web_files"

    url_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    page_url: Mapped[str] = mapped_column(Text)
    path: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    media_type: Mapped[str] = mapped_column(Text)
    width: Mapped[int | None]
    height: Mapped[int | None]


class ItemModel(SourceColumns, Base):
    """Something a pipeline read from a page, one row for each project, pipeline and key.

    Attributes:
        pipeline: Name of the pipeline.
        key: What tells it from the others: the value of the pipeline's ``item_key``.
        data: The fields.
        attempts: Every try if it took more than one.
        pipeline_version: The version of the repaired pipeline that read it; empty for the pipeline as it was
            written.
    """

    __tablename__ = "items"

    pipeline: Mapped[str] = mapped_column(String(100), primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    data: Mapped[dict[str, JSONValue]] = mapped_column(JSON)
    attempts: Mapped[list[JSONValue] | None] = mapped_column(JSON(none_as_null=True))
    pipeline_version: Mapped[int | None]
