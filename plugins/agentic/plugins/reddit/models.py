"""The tables of Reddit. Keys are its fullnames: ``t3_`` posts, ``t1_`` comments, ``t5_`` subreddits."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Float, Index, String, Text, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from agentic.mappers import Base, SourceColumns, UTCDateTime

ID_LENGTH = 30


class RedditPostModel(SourceColumns, Base):
    """A post as last seen, one row for each project.

    Attributes:
        id: Fullname: ``t3_...``.
        author: Who wrote it; stays when the account or the post is gone.
        selftext: Markdown, or plain text from a feed; stays when the post is gone.
        url: Its link; its own page, if it is a text.
        permalink: Path of its page.
        score: Votes; unknown from a feed.
        upvote_ratio: Share of upvotes; a change of this alone is not an update.
        flair: Its label.
        removed_by: Who removed it: ``moderator``, ``deleted`` (its author), ``reddit``.
        crosspost_parent: Fullname of the post that it repeats.
        deleted_at: When it was first found deleted; empty while it exists.
        source_mode: The best mode of reading so far; a poorer mode never replaces its values. A change of
            this alone is not an update.
    """

    __tablename__ = "reddit_posts"
    __table_args__ = (
        Index(None, "project_id", "subreddit", "created_at"),
        Index(None, "project_id", "created_at"),
    )

    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    subreddit: Mapped[str | None] = mapped_column(Text)
    subreddit_id: Mapped[str | None] = mapped_column(Text)
    author: Mapped[str | None] = mapped_column(Text)
    author_fullname: Mapped[str | None] = mapped_column(Text)
    title: Mapped[str | None] = mapped_column(Text)
    selftext: Mapped[str | None] = mapped_column(Text)
    url: Mapped[str | None] = mapped_column(Text)
    domain: Mapped[str | None] = mapped_column(Text)
    permalink: Mapped[str | None] = mapped_column(Text)
    score: Mapped[int | None]
    upvote_ratio: Mapped[float | None] = mapped_column(Float)
    num_comments: Mapped[int | None]
    over_18: Mapped[bool | None]
    spoiler: Mapped[bool | None]
    stickied: Mapped[bool | None]
    locked: Mapped[bool | None]
    is_self: Mapped[bool | None]
    is_video: Mapped[bool | None]
    flair: Mapped[str | None] = mapped_column(Text)
    distinguished: Mapped[str | None] = mapped_column(Text)
    removed_by: Mapped[str | None] = mapped_column(Text)
    crosspost_parent: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    edited_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    deleted_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    source_mode: Mapped[str | None] = mapped_column(String(20))


class RedditCommentModel(SourceColumns, Base):
    """A comment as last seen, one row for each project.

    Attributes:
        id: Fullname: ``t1_...``.
        post_id: Fullname of the post.
        parent_id: Fullname of the post or comment that it answers.
        author: Who wrote it; stays when the account or the comment is gone.
        body: Markdown; stays when the comment is gone.
        score: Votes; empty while Reddit hides them.
        depth: Comments between it and the post.
        is_submitter: Whether the author of the post wrote it.
        deleted_at: When it was first found deleted; empty while it exists.
    """

    __tablename__ = "reddit_comments"
    __table_args__ = (Index(None, "project_id", "post_id"),)

    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    post_id: Mapped[str | None] = mapped_column(Text)
    parent_id: Mapped[str | None] = mapped_column(Text)
    author: Mapped[str | None] = mapped_column(Text)
    body: Mapped[str | None] = mapped_column(Text)
    score: Mapped[int | None]
    score_hidden: Mapped[bool | None]
    depth: Mapped[int | None]
    is_submitter: Mapped[bool | None]
    created_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    edited_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    deleted_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class RedditSubredditModel(SourceColumns, Base):
    """A subreddit as last seen, one row for each project.

    Attributes:
        id: Fullname: ``t5_...``.
        name: Without ``r/``.
        active_users: Number of users online at that time; a change of this alone is not an update.
        type: ``public``, ``restricted``, ``private``, ``user`` and the like.
    """

    __tablename__ = "reddit_subreddits"
    __table_args__ = (Index(None, "project_id", "name"),)

    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    title: Mapped[str | None] = mapped_column(Text)
    public_description: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    subscribers: Mapped[int | None]
    active_users: Mapped[int | None]
    over_18: Mapped[bool | None]
    quarantine: Mapped[bool | None]
    type: Mapped[str | None] = mapped_column(Text)
    language: Mapped[str | None] = mapped_column(Text)
    url: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


def recent_posts(session: Session, project_id: str, since: datetime, limit: int) -> tuple[str, ...]:
    """Return the ids of a project's posts created since then and not gone, the newest first."""
    post = RedditPostModel
    query = select(post.id).where(
        post.project_id == project_id, post.created_at >= since, post.deleted_at.is_(None)
    )
    return tuple(session.scalars(query.order_by(post.created_at.desc(), post.id).limit(limit)))
