"""Stores what was read as rows of ``hn_items``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from pydantic import ValidationError

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
        self.save_rows(HackerNewsItemModel, self._rows(entries), volatile=["rank"])
        return True

    def _rows(self, entries: list[object]) -> Iterator[dict[str, object]]:
        for index, entry in enumerate(entries):
            try:
                yield row_of(RankedItem.model_validate(entry))
            except ValidationError as exc:
                fault = exc.errors(include_url=False, include_input=False)[0]
                self.warn(f"story {index} was rejected: {'.'.join(map(str, fault['loc']))}: {fault['msg']}")
                self.counts = replace(self.counts, rejected=self.counts.rejected + 1)


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
