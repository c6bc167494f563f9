"""The tables of watched feeds."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns, UTCDateTime

KEY_LENGTH = 32
ENTRY_KEY_LENGTH = 255


class FeedModel(SourceColumns, Base):
    """A feed and the state of its polls, one row for each project: its agents share it.

    Attributes:
        id: Key of its first known URL; it stays when the feed moves.
        url: Where it is polled.
        url_key: Key of ``url``.
        title: Its own title.
        home_url: The page of the feed.
        interval_s: Its requested pause between two polls.
        polled_at: When it was last polled.
        changed_at: When it last had new content.
        next_poll_at: When it may be polled again.
        failures: Polls since the last success.
        last_error: Why the last poll failed.
        disabled_at: When its server reported it as gone; it is no longer polled.
    """

    __tablename__ = "feeds"
    __table_args__ = (Index(None, "project_id", "url_key"),)

    id: Mapped[str] = mapped_column(String(KEY_LENGTH), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    url_key: Mapped[str] = mapped_column(String(KEY_LENGTH))
    title: Mapped[str | None] = mapped_column(Text)
    home_url: Mapped[str | None] = mapped_column(Text)
    language: Mapped[str | None] = mapped_column(Text)
    etag: Mapped[str | None] = mapped_column(Text)
    last_modified: Mapped[str | None] = mapped_column(Text)
    interval_s: Mapped[int | None] = mapped_column(BigInteger)
    polled_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    changed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    next_poll_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    failures: Mapped[int] = mapped_column(default=0)
    last_error: Mapped[str | None] = mapped_column(Text)
    disabled_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class FeedEntryModel(SourceColumns, Base):
    """An entry as its feed last returned it, one row for each project.

    Attributes:
        feed_id: The feed.
        entry_key: The entry's own id, else its link, else a hash of title and time; hashed if it is long.
        summary: As in the feed, often markup, like ``content``.
        categories: A list of words.
        enclosures: A list of ``url``, ``type`` and ``length``: the audio of a podcast.
        video_id: YouTube's.
        views: Number of views of the video.
    """

    __tablename__ = "feed_entries"
    __table_args__ = (Index(None, "project_id", "published_at"),)

    feed_id: Mapped[str] = mapped_column(String(KEY_LENGTH), primary_key=True)
    entry_key: Mapped[str] = mapped_column(String(ENTRY_KEY_LENGTH), primary_key=True)
    title: Mapped[str | None] = mapped_column(Text)
    link: Mapped[str | None] = mapped_column(Text)
    author: Mapped[str | None] = mapped_column(Text)
    published_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    updated_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    summary: Mapped[str | None] = mapped_column(Text)
    content: Mapped[str | None] = mapped_column(Text)
    categories: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    enclosures: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    video_id: Mapped[str | None] = mapped_column(Text)
    views: Mapped[int | None] = mapped_column(BigInteger)
