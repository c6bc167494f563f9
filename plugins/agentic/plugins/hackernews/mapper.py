"""Stores what was read as rows of ``hn_items``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from agentic.mappers import ResultMapper
from agentic.plugins.hackernews.items import RankedItem
from agentic.plugins.hackernews.models import HackerNewsItemModel


class HackerNewsResultMapper(ResultMapper):
    """Upserts items by id: what an answer leaves out stays as it was stored."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store ``stories``; a bad one is a warning, as is each of ``warnings``."""
        if not self.save_agent_result(results):
            return False
        for sentence in cast("list[str]", results.get("warnings", [])):
            self.warn(sentence)
        entries = cast("list[object]", results["stories"])
        # Stories move up and down all the time: a new place alone is no update.
        rows = map(row_of, self.accepted(RankedItem, entries, "story"))
        self.save_rows(HackerNewsItemModel, rows, volatile=["rank"])
        return True


def row_of(ranked: RankedItem) -> dict[str, object]:
    """Return the columns that ``ranked`` fills; None stands for what the API did not say."""
    item = ranked.item
    return {
        "id": item.id,
        "type": item.type,
        "by": item.by,
        "time": None if item.time is None else datetime.fromtimestamp(item.time, UTC),
        "title": item.plain_title,
        "url": item.url or None,
        "text": item.text,
        "score": item.score,
        "descendants": item.descendants,
        "parent_id": item.parent,
        "poll_id": item.poll,
        "deleted": item.deleted,
        "dead": item.dead,
        "rank": ranked.rank,
        "raw": item.model_dump(mode="json", exclude_unset=True),
    }
