"""The tables of Hacker News."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers import Base, SourceColumns, UTCDateTime


class HackerNewsItemModel(SourceColumns, Base):
    """An item as last seen, one row for each project.

    Attributes:
        id: Hacker News' own.
        rank: Its place in the list when last seen there, from 1.
        title: Without HTML escapes.
        time: When it was created.
        text: HTML; the text of a deleted item is kept.
        descendants: Comments below it, at any depth.
        parent_id: The item that a comment answers.
        story_id: The story at the top of a comment's tree; only from Algolia.
        deleted: Its author deleted it.
        dead: Moderators or flags removed it from the lists.
    """

    __tablename__ = "hn_items"
    __table_args__ = (Index(None, "project_id", "time"), Index(None, "project_id", "story_id"))

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    rank: Mapped[int | None]
    title: Mapped[str | None] = mapped_column(Text)
    score: Mapped[int | None]
    by: Mapped[str | None] = mapped_column(String(100))
    time: Mapped[datetime | None] = mapped_column(UTCDateTime)
    type: Mapped[str | None] = mapped_column(String(20))
    url: Mapped[str | None] = mapped_column(Text)
    text: Mapped[str | None] = mapped_column(Text)
    descendants: Mapped[int | None]
    parent_id: Mapped[int | None] = mapped_column(BigInteger)
    story_id: Mapped[int | None] = mapped_column(BigInteger)
    poll_id: Mapped[int | None] = mapped_column(BigInteger)
    # Unknown to Algolia: a new row starts with this, a stored one keeps its value.
    deleted: Mapped[bool] = mapped_column(default=False)
    dead: Mapped[bool] = mapped_column(default=False)


class HackerNewsUserModel(SourceColumns, Base):
    """A user as last seen, one row for each project.

    Attributes:
        id: The name; upper and lower case count.
        created: When the account was created.
        about: HTML, written by the user.
        submitted_count: Stories, comments and polls, including deleted ones.
    """

    __tablename__ = "hn_users"

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    karma: Mapped[int | None]
    created: Mapped[datetime | None] = mapped_column(UTCDateTime)
    about: Mapped[str | None] = mapped_column(Text)
    submitted_count: Mapped[int | None]
