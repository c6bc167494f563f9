"""Stores results as rows of ``reddit_posts``, ``reddit_comments`` and ``reddit_subreddits``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import cast

from pydantic import BaseModel
from sqlalchemy import inspect, select

from agentic.mappers import ResultMapper, utc_now, value_or_cleared
from agentic.plugins.reddit.models import RedditCommentModel, RedditPostModel, RedditSubredditModel
from agentic.plugins.reddit.standing import MODES, UNCOUNTED, merged
from agentic.plugins.reddit.things import GONE, RedditComment, RedditPost, RedditSubreddit

UNRIPE = timedelta(hours=36)
"""Until about this age of a post, an archive has no score for it, but writes 0 or 1."""

BATCH_SIZE = 500
NUMBERS = {"score": "score", "comments": "num_comments"}
"""Fields followed in ``metric_snapshots``."""

Row = dict[str, object]
Written = type[RedditPostModel] | type[RedditCommentModel]


class RedditResultMapper(ResultMapper):
    """Upserts by Reddit's ids: omitted or hidden fields keep their stored values."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store posts, comments and subreddits; bad ones become warnings, beside ``warnings``."""
        if not self.save_agent_result(results):
            return False
        for sentence in cast("list[str]", results.get("warnings", [])):
            self.warn(sentence)
        mode = cast("str | None", results.get("source_mode"))
        read_at = _read_at(results.get("read_at"))
        posts = self.accepted(RedditPost, _part(results, "posts"), "post")
        rows = self._beside_stored(RedditPostModel, (post_row(post, mode, read_at) for post in posts), mode)
        # Reddit blurs the ratio at each view of a post, and the same post may be read in several ways.
        self.save_rows(RedditPostModel, rows, volatile=["upvote_ratio", "source_mode"], counters=NUMBERS)
        comments = self.accepted(RedditComment, _part(results, "comments"), "comment")
        rows = self._beside_stored(
            RedditCommentModel, (comment_row(one, mode, read_at) for one in comments), mode
        )
        self.save_rows(RedditCommentModel, rows, counters={"score": "score"})
        subreddits = self.accepted(RedditSubreddit, _part(results, "subreddits"), "subreddit")
        members = {"subscribers": "subscribers"}
        rows = map(subreddit_row, subreddits)
        self.save_rows(RedditSubredditModel, rows, volatile=["active_users"], counters=members)
        return True

    def _beside_stored(self, model: Written, rows: Iterable[Row], mode: str | None) -> Iterator[Row]:
        """Yield the rows to store, merged with their stored rows."""
        # All writers lock them in key order, like the upsert: another order could deadlock with another
        # writer.
        waiting = iter(sorted(rows, key=itemgetter("id")))
        while batch := list(islice(waiting, BATCH_SIZE)):
            stored = self._stored(model, [row["id"] for row in batch], mode)
            yield from (merged(row, stored.get(row["id"], {}), mode) for row in batch)

    def _stored(
        self, model: Written, ids: Sequence[object], mode: str | None
    ) -> dict[object, Mapping[str, object]]:
        columns = [getattr(model, name) for name in _looked_at(model, mode)]
        query = select(*columns).where(model.project_id == self.agent.project_id, model.id.in_(ids))
        found = self.db_session.execute(query.order_by(model.id).with_for_update()).mappings()
        return {row["id"]: cast("Mapping[str, object]", row) for row in found}


def _looked_at(model: Written, mode: str | None) -> Sequence[str]:
    """Return the columns that decide about storing; the best way to read replaces all others."""
    if model is RedditCommentModel:
        return ("id", "deleted_at", "score")
    if mode == MODES[0]:
        return ("id", "deleted_at")
    return [column.key for column in inspect(RedditPostModel).columns if column.key != "raw"]


def post_row(post: RedditPost, mode: str | None, read_at: datetime) -> Row:
    """Return the columns of a post; None stands for values that its source omits."""
    return {
        "id": post.fullname,
        "subreddit": post.subreddit,
        "subreddit_id": post.subreddit_id,
        "author": post.writer,
        "author_fullname": post.author_fullname,
        "title": _text(post.title),
        "selftext": None if post.is_gone else value_or_cleared(post, "selftext", _text(post.selftext)),
        "url": post.url_overridden_by_dest or post.url,
        "domain": post.domain,
        "permalink": post.permalink,
        "score": _ripe(post.score, post.created_utc, mode, read_at),
        "upvote_ratio": post.upvote_ratio,
        "num_comments": _ripe(post.num_comments, post.created_utc, mode, read_at),
        "over_18": post.over_18,
        "spoiler": post.spoiler,
        "stickied": post.stickied,
        "locked": post.locked,
        "is_self": post.is_self,
        "is_video": post.is_video,
        "flair": value_or_cleared(post, "link_flair_text", post.link_flair_text),
        "distinguished": value_or_cleared(post, "distinguished", post.distinguished),
        "removed_by": post.removed_by_category,
        "crosspost_parent": post.crosspost_parent,
        "created_at": _moment(post.created_utc),
        "edited_at": _moment(post.edited_utc),
        "deleted_at": read_at if post.is_gone else None,
        "source_mode": mode,
        "raw": _raw(post),
    }


def comment_row(comment: RedditComment, mode: str | None, read_at: datetime) -> Row:
    """Return the columns of a comment; a hidden score is None."""
    score = None if comment.score_hidden else comment.score
    return {
        "id": comment.fullname,
        "post_id": comment.post_id,
        "parent_id": comment.parent_id,
        "author": comment.writer,
        "body": _text(comment.body),
        "score": _ripe(score, comment.created_utc, mode, read_at),
        "score_hidden": comment.score_hidden,
        "depth": comment.depth,
        "is_submitter": comment.is_submitter,
        "created_at": _moment(comment.created_utc),
        "edited_at": _moment(comment.edited_utc),
        "deleted_at": read_at if comment.is_gone else None,
        "raw": _raw(comment),
    }


def subreddit_row(subreddit: RedditSubreddit) -> Row:
    """Return the columns of a subreddit."""
    active = subreddit.accounts_active
    return {
        "id": subreddit.fullname,
        "name": subreddit.display_name,
        "title": value_or_cleared(subreddit, "title", subreddit.title or None),
        "public_description": value_or_cleared(
            subreddit, "public_description", subreddit.public_description or None
        ),
        "description": value_or_cleared(subreddit, "description", subreddit.description or None),
        "subscribers": subreddit.subscribers,
        "active_users": subreddit.active_user_count if active is None else active,
        "over_18": subreddit.over18,
        "quarantine": subreddit.quarantine,
        "type": subreddit.subreddit_type,
        "language": subreddit.lang,
        "url": subreddit.url,
        "created_at": _moment(subreddit.created_utc),
        "raw": _raw(subreddit),
    }


def _ripe(number: int | None, created: float | None, mode: str | None, read_at: datetime) -> int | None:
    """Return a number of votes or comments; None for an archive's placeholder before it has counted."""
    if mode != "archive" or number not in UNCOUNTED or created is None:
        return number
    return None if read_at.timestamp() - created < UNRIPE.total_seconds() else number


def _text(text: str | None) -> str | None:
    """Return a written text; None if it is empty, or a placeholder of a deleted text."""
    return None if not text or text in GONE else text


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _read_at(text: object) -> datetime:
    return datetime.fromisoformat(text) if isinstance(text, str) else utc_now()


def _part(results: Mapping[str, object], name: str) -> Sequence[object]:
    return cast("Sequence[object]", results.get(name, ()))


def _raw(thing: BaseModel) -> Row:
    return thing.model_dump(mode="json", by_alias=True, exclude_unset=True)
