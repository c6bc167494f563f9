"""Stores polls as rows of ``feeds``, and entries as rows of ``feed_entries``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from agentic.core.http import url_key
from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.types import JSONValue
from agentic.mappers import CLEARED, ResultMapper, upsert
from agentic.mappers.content import clean_text
from agentic.plugins.feed.identity import entry_key, identify, question_of, usual_key
from agentic.plugins.feed.models import FeedEntryModel, FeedModel
from agentic.plugins.feed.polls import FeedState, Poll, Polls
from agentic.plugins.feed.store import StoredEntries

SAID = frozenset({"id", "title", "home_url", "language"})
"""Fields of a feed's state from the feed itself; the others are about its polls."""

STATE = tuple(name for name in FeedState.model_fields if name not in SAID)
TOLD = frozenset({"summary", "content"})
"""Parts of an entry that are not stored twice."""


class FeedResultMapper(ResultMapper):
    """Upserts entries by feed and key: fields that a feed leaves out keep their stored values.

    The same transaction stores the poll state of a feed, so that no entry is lost or requested again between
    two polls. ``counts`` counts the entries.
    """

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store all polls; bad entries become warnings, beside the warnings of the polls."""
        if not self.save_agent_result(results):
            return False
        found = Polls.model_validate({name: results[name] for name in Polls.model_fields if name in results})
        for sentence in found.warnings:
            self.warn(sentence)
        for poll in found.polls:
            for sentence in poll.warnings:
                self.warn(sentence)
        self._save_feeds([poll.feed for poll in found.polls])
        # One more view is not a change of a video.
        rows = self._rows(found.polls)
        self.save_rows(FeedEntryModel, rows, volatile=["views"], counters={"views": "views"})
        return True

    def _save_feeds(self, feeds: list[FeedState]) -> None:
        owner = {
            "project_id": self.agent.project_id,
            "agent_id": self.agent.id,
            "execution_id": self.execution_id,
        }
        rows = ({**feed_row(feed), **owner} for feed in feeds)
        volatile = (*STATE, "url_key")
        upsert(self.db_session, FeedModel, rows, key=("project_id", "id"), volatile=volatile, warn=self.warn)

    def _rows(self, polls: Iterable[Poll]) -> Iterator[dict[str, object]]:
        for poll in polls:
            undated = 0
            for index, (key, item) in enumerate(zip(self._keys(poll), poll.entries, strict=True)):
                try:
                    row = entry_row(poll.feed.id, item, key)
                except ValueError as exc:
                    self.warn(f"entry {index} of {poll.feed.name} was rejected: {exc}")
                    self.counts = replace(self.counts, rejected=self.counts.rejected + 1)
                else:
                    undated += is_undated(item, row)
                    yield row
            if undated:
                self.warn(f"{undated} entries of {poll.feed.name} have a time that cannot be read; see raw")

    def _keys(self, poll: Poll) -> tuple[str | None, ...]:
        """Return the keys of the rows of entries."""
        if not poll.entries:
            return ()
        rows = StoredEntries(self.db_session, self.agent.project_id, poll.feed.id)
        stored = rows.by_key(key for item in poll.entries if (key := usual_key(item)))
        if (question := question_of(poll.entries, stored)) is not None:
            stored |= rows.like(question)
        found = identify(poll.entries, stored)
        for doubt in found.doubts:
            self.warn(f"{poll.feed.name}: {clean_text(doubt)}")
        return found.keys


def feed_row(feed: FeedState) -> dict[str, object]:
    """Return the columns of a feed; its poll state is complete: None there means no value."""
    polls = {name: CLEARED for name in STATE if getattr(feed, name) is None}
    return {**dict(feed), **polls, "url_key": url_key(feed.url)}


def entry_row(feed_id: str, item: Mapping[str, JSONValue], key: str | None = None) -> dict[str, object]:
    """Return the columns of an entry; None stands for values that the feed omits.

    Args:
        feed_id: Its feed.
        item: The entry.
        key: The key of its row; by default the usual one.

    Raises:
        ValueError: It has nothing to identify it.
    """
    return {
        "feed_id": feed_id,
        "entry_key": key or entry_key(item),
        "title": item.get("title"),
        "link": item.get("url"),
        "author": item.get("author"),
        "published_at": _moment(item.get("published")),
        "updated_at": _moment(item.get("updated")),
        "summary": item.get("summary"),
        "content": item.get("content"),
        "categories": item.get("tags") or None,
        "enclosures": item.get("enclosures") or None,
        "video_id": item.get("video_id"),
        "views": item.get("views"),
        "raw": {name: value for name, value in item.items() if name not in TOLD},
    }


def is_undated(item: Mapping[str, JSONValue], row: Mapping[str, object]) -> bool:
    """Whether a time of ``item`` is missing in its ``row``."""
    times = (("published", "published_at"), ("updated", "updated_at"))
    return any(item.get(name) is not None and row[column] is None for name, column in times)


def _moment(text: JSONValue) -> datetime | None:
    found = parse_moment(text) if isinstance(text, str) else None
    return None if found is None else as_utc(found)
