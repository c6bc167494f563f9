"""The tables."""

from __future__ import annotations

from datetime import datetime

from agentic.mappers import Base, SourceColumns, UTCDateTime
from sqlalchemy import JSON, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

TIMELINE_LENGTH = 700


class MastodonStatusModel(SourceColumns, Base):
    """A status as it was last seen; the project comes first in the key, so two projects keep a row each.

    Attributes:
        uri: The same on all instances.
        instance: The one that was asked last.
        id: Its id there, and nowhere else.
        account: ``name@host``.
        content: HTML, as the instance cleaned it.
        tags: Names.
        in_reply_to_id: Id on the instance of what it answers.
        reblog_of_uri: Of a boost: what is boosted, which has a row of its own.
        replies: How many; as with all counts, a change of this alone is no update.
    """

    __tablename__ = "mastodon_statuses"
    __table_args__ = (Index(None, "project_id", "created_at"),)

    uri: Mapped[str] = mapped_column(String(700), primary_key=True)
    instance: Mapped[str] = mapped_column(String(260))
    id: Mapped[str] = mapped_column(String(64))
    account: Mapped[str] = mapped_column(String(400))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    edited_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    content: Mapped[str | None] = mapped_column(Text)
    spoiler_text: Mapped[str | None] = mapped_column(Text)
    sensitive: Mapped[bool | None]
    language: Mapped[str | None] = mapped_column(String(20))
    visibility: Mapped[str | None] = mapped_column(String(20))
    url: Mapped[str | None] = mapped_column(Text)
    in_reply_to_id: Mapped[str | None] = mapped_column(String(64))
    reblog_of_uri: Mapped[str | None] = mapped_column(Text)
    tags: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    replies: Mapped[int | None]
    reblogs: Mapped[int | None]
    favourites: Mapped[int | None]


class MastodonTimelineModel(SourceColumns, Base):
    """How far a timeline was read.

    Attributes:
        timeline: Instance, path and options.
        newest_id: The newest status that was read.
    """

    __tablename__ = "mastodon_timelines"

    timeline: Mapped[str] = mapped_column(String(TIMELINE_LENGTH), primary_key=True)
    newest_id: Mapped[str] = mapped_column(String(64))
