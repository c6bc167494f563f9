"""The table of Hacker News items."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers import Base, SourceColumns, UTCDateTime


class HackerNewsItemModel(SourceColumns, Base):
    """An item as it was last seen, one row for each project.

    Attributes:
        id: Hacker News' own.
        rank: Its place in the list when last seen there, from 1.
        title: Without HTML escapes.
        time: When it was made.
        text: HTML; what a deleted item once said is kept.
        descendants: Comments below it, at any depth.
        deleted: Its author took it back.
        dead: Moderators or flags took it off the lists.
    """

    __tablename__ = "hn_items"
    __table_args__ = (Index(None, "project_id", "time"),)

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
    poll_id: Mapped[int | None] = mapped_column(BigInteger)
    deleted: Mapped[bool]
    dead: Mapped[bool]
