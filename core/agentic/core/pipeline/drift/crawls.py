"""The watch over all kinds of pages in one crawl, kept as text beside its counts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agentic.core.pipeline.drift.incidents import Incident
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile, KindSummary
from agentic.core.pipeline.drift.sights import PageSight
from agentic.core.pipeline.drift.values import seen_items
from agentic.core.pipeline.drift.watching import KindWatch, load_watch
from agentic.core.records import record
from agentic.core.types import JSONValue

MAX_KINDS = 50
"""Kinds of a crawl that are watched."""

_UNKNOWN = Expectation(KindProfile())


@record
class WatchedPage:
    """A page that was read: its key, its address, the hash of its body, its look and its items."""

    key: str
    url: str
    content_hash: str
    sight: PageSight
    items: Sequence[Mapping[str, JSONValue]]


@dataclass(slots=True)
class CrawlWatch:
    """The kinds of a crawl by their keys."""

    kinds: dict[str, KindWatch] = field(default_factory=dict)

    def note(
        self, pages: Sequence[WatchedPage], expectations: Mapping[str, Expectation]
    ) -> Sequence[Incident]:
        """Take pages in the order of their end; return the incidents that begin with them."""
        usual = self._note_usual(pages, expectations)
        found = []
        for page in pages:
            kind = page.sight.kind
            if kind.key in usual:
                continue
            watch = self.kinds.get(kind.key)
            if watch is None:
                if len(self.kinds) >= MAX_KINDS:
                    continue
                watch = self.kinds[kind.key] = KindWatch(kind.label)
            incident = watch.note(
                page.sight,
                seen_items(page.items),
                (page.key, page.url, page.content_hash),
                expectations.get(kind.key, _UNKNOWN),
            )
            if incident is not None:
                found.append(incident)
        return found

    def _note_usual(
        self, pages: Sequence[WatchedPage], expectations: Mapping[str, Expectation]
    ) -> Collection[str]:
        """Take the pages of each kind without a sign of drift on any of them; return these kinds."""
        looks: dict[str, list[WatchedPage]] = {}
        for page in pages:
            looks.setdefault(page.sight.kind.key, []).append(page)
        usual: set[str] = set()
        for key, those in looks.items():
            watch, seen = self.kinds.get(key), [(page.sight, page.items) for page in those]
            if watch is not None and watch.note_usual(seen, expectations.get(key, _UNKNOWN)):
                for page in those:
                    watch.note_key(page.key)
                usual.add(key)
        return usual

    @property
    def incidents(self) -> Sequence[Incident]:
        """The incidents that are not settled."""
        return [watch.incident for watch in self.kinds.values() if watch.incident is not None]

    @property
    def muted(self) -> frozenset[str]:
        """Keys of the kinds whose pages were accepted as they are."""
        return frozenset(key for key, watch in self.kinds.items() if watch.is_muted)

    @property
    def suspects(self) -> Sequence[str]:
        """Keys of the pages that raised the alarms, and of others that may have been read wrong."""
        return [
            key for watch in self.kinds.values() if watch.incident is not None for key in watch.read_wrong
        ]

    def settle(self, *, is_accepted: bool, repaired: Collection[str] = ()) -> Sequence[str]:
        """End all incidents; return the keys of the pages to read again.

        Args:
            is_accepted: Whether the pages are right as they are.
            repaired: Keys of the kinds whose pages are read with other rules from now on.
        """
        open_ones = {key: watch for key, watch in self.kinds.items() if watch.incident is not None}
        again = [key for watch in open_ones.values() for key in watch.settle(is_accepted=is_accepted)]
        for watch in (open_ones[key] for key in repaired if key in open_ones):
            watch.start_over()
        return again

    def summaries(self) -> Mapping[str, KindSummary]:
        """Return what can be learnt from the crawl, by kind."""
        found = {key: watch.summary() for key, watch in self.kinds.items()}
        return {key: summary for key, summary in found.items() if summary is not None}

    def dump(self) -> str:
        """Return it as text."""
        kinds = {key: watch.dump() for key, watch in self.kinds.items()}
        return json.dumps(kinds, ensure_ascii=False, separators=(",", ":"))


def load_crawl_watch(text: str | None) -> CrawlWatch:
    """Return what :meth:`CrawlWatch.dump` has written."""
    return CrawlWatch({key: load_watch(data) for key, data in json.loads(text or "{}").items()})
