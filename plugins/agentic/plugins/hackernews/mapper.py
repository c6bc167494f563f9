"""Stores results as rows of ``hn_items`` and ``hn_users``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from pydantic import BaseModel

from agentic.mappers import CLEARED, ResultMapper, value_or_cleared
from agentic.mappers.upserts.target import Row
from agentic.plugins.hackernews.items import AlgoliaHit, AlgoliaNode, HackerNewsUser, RankedItem
from agentic.plugins.hackernews.models import HackerNewsItemModel, HackerNewsUserModel

KINDS = ("story", "comment", "poll", "pollopt", "job")
"""Tags of Algolia for the kind of a hit."""

NUMBERS = {"score": "score", "comments": "descendants"}
"""Fields followed in ``metric_snapshots``."""


class HackerNewsResultMapper(ResultMapper):
    """Upserts items and users by id: fields that an answer leaves out keep their stored values."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store stories, hits, nodes and users; bad ones become warnings, beside ``warnings``."""
        if not self.save_agent_result(results):
            return False
        for sentence in cast("list[str]", results.get("warnings", [])):
            self.warn(sentence)
        self.save_rows(
            HackerNewsItemModel,
            self._item_rows(results),
            volatile=["rank"],  # ranks change all the time: a new rank alone is not an update
            counters=NUMBERS,
        )
        users = self.accepted(HackerNewsUser, _part(results, "users"), "user")
        self.save_rows(HackerNewsUserModel, map(user_row, users), counters={"karma": "karma"})
        return True

    def _item_rows(self, results: Mapping[str, object]) -> Iterator[Row]:
        yield from map(row_of, self.accepted(RankedItem, _part(results, "stories"), "story"))
        yield from map(hit_row, self.accepted(AlgoliaHit, _part(results, "hits"), "hit"))
        yield from map(node_row, self.accepted(AlgoliaNode, _part(results, "nodes"), "item"))


def row_of(ranked: RankedItem) -> dict[str, object]:
    """Return the columns of ``ranked``; None stands for values that the API omits."""
    item = ranked.item
    return {
        "id": item.id,
        "type": item.type,
        "by": item.by,
        "time": _moment(item.time),
        "title": item.plain_title,
        "url": item.url or None,
        "text": item.text or (CLEARED if item.is_whole else None),
        "score": item.score,
        "descendants": item.descendants,
        "parent_id": item.parent,
        "poll_id": item.poll,
        "deleted": item.deleted,
        "dead": item.dead,
        "rank": ranked.rank,
        "raw": _raw(item),
    }


def hit_row(hit: AlgoliaHit) -> dict[str, object]:
    """Return the columns of a search hit: without its rank, and without whether it is dead."""
    field = "comment_text" if "comment" in hit.tags else "story_text"
    return {
        "id": hit.id,
        "type": next((kind for kind in KINDS if kind in hit.tags), None),
        "by": hit.author,
        "time": _moment(hit.created_at_i) or hit.created_at,
        "title": hit.plain_title,
        "url": hit.url or None,
        "text": None
        if hit.author is None
        else value_or_cleared(hit, field, hit.story_text or hit.comment_text or None),
        "score": hit.points,
        "descendants": hit.num_comments,
        "parent_id": hit.parent_id,
        "story_id": _above(hit.story_id, hit.id),
        "raw": {**_raw(hit), "objectID": str(hit.id)},
    }


def node_row(node: AlgoliaNode) -> dict[str, object]:
    """Return the columns of an item in a tree: without its rank and its number of comments."""
    above = "poll_id" if node.type == "pollopt" else "parent_id"
    return {
        "id": node.id,
        "type": node.type or ("comment" if node.parent_id else None),
        "by": node.author,
        "time": _moment(node.created_at_i) or node.created_at,
        "title": node.plain_title,
        "url": node.url or None,
        "text": None if node.is_deleted else value_or_cleared(node, "text", node.text or None),
        "score": node.points,
        above: node.parent_id,
        "story_id": _above(node.story_id, node.id),
        "deleted": True if node.is_deleted else None,
        "raw": _raw(node),
    }


def user_row(user: HackerNewsUser) -> dict[str, object]:
    """Return the columns of a user."""
    return {
        "id": user.id,
        "karma": user.karma,
        "created": _moment(user.created),
        "about": value_or_cleared(user, "about", user.about or None),
        "submitted_count": user.submitted_count,
        "raw": _raw(user),
    }


def _part(results: Mapping[str, object], name: str) -> Sequence[object]:
    return cast("Sequence[object]", results.get(name, ()))


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _above(story_id: int | None, item_id: int) -> int | None:
    """Return the story of an item; None for a story, which is its own."""
    return None if story_id == item_id else story_id


def _raw(thing: BaseModel) -> dict[str, object]:
    return thing.model_dump(mode="json", by_alias=True, exclude_unset=True)
