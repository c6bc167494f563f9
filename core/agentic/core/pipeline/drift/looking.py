"""Looks at the pages of a crawl as they are read, and knows which kinds are held."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agentic.core.actors import Page
from agentic.core.pipeline.drift.learning import FieldLearner
from agentic.core.pipeline.drift.sights import (
    MAX_MARKERS,
    PageKind,
    PageSight,
    has_markers,
    is_blank,
    kind_of,
    lacks_fields,
    markers_in,
    wall_at,
    wall_in,
)
from agentic.core.pipeline.drift.watching import SAMPLED
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import JSONValue, RunId

OTHER_PAGES = 4
"""Pages of no kind whose markup is sampled: it cannot be a marker."""

MAX_COMMON = 1_000

KEPT_CRAWLS = 64


@dataclass(slots=True)
class PageWatcher:
    """Looks at the pages of one crawl in this process.

    Attributes:
        kinds: Of the rules of ``detail``, in their order.
        held: Keys of the kinds whose pages are not fetched now.
        markers: Markers of each kind on healthy pages.
        learner: Learns how the fields look.
    """

    kinds: tuple[PageKind, ...]
    held: frozenset[str] = frozenset()
    markers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    learner: FieldLearner = field(default_factory=FieldLearner)
    _common: set[str] = field(default_factory=set)
    _others: int = 0
    _sampled: Counter[str] = field(default_factory=Counter)

    def is_held(self, number: int | None) -> bool:
        """Whether pages of a rule are held now."""
        return number is not None and self.kinds[number].key in self.held

    def look(
        self, page: Page, wanted: int | None, read: int | None, items: Sequence[Mapping[str, JSONValue]]
    ) -> PageSight | None:
        """Return the look of a page; None for a page of no kind.

        Args:
            page: The page.
            wanted: The rule of the URL that the crawl requested.
            read: The rule of the URL after redirects, whose actor has read the page.
            items: The items on it.
        """
        number = wanted if wanted is not None else read
        if number is None:
            self._note_other(page)
            return None
        kind = self.kinds[number]
        size = len(page.text)
        if number != read:
            return PageSight(kind, size, wall_at(page.final_url, page.url))
        wall = is_known = None
        if lacks_fields(items):
            wall = wall_in(page.text, page.final_url) if page.is_html and is_blank(items) else None
            known = self.markers.get(kind.key)
            is_known = has_markers(page.text, known) if known else None
        return PageSight(kind, size, wall, is_known, () if wall else self._sample(kind, page))

    def _sample(self, kind: PageKind, page: Page) -> tuple[str, ...]:
        if self._sampled[kind.key] >= SAMPLED or not page.is_html:
            return ()
        self._sampled[kind.key] += 1
        return tuple(_first(marker for marker in markers_in(page.text) if marker not in self._common))

    def _note_other(self, page: Page) -> None:
        if self._others < OTHER_PAGES and page.is_html and len(self._common) < MAX_COMMON:
            self._others += 1
            self._common.update(markers_in(page.text))


class PageWatchers:
    """The watchers of the crawls of one step, each for all its slices in this process.

    Args:
        rules: The rules of ``detail``, with references as they are written.
    """

    def __init__(self, rules: Iterable[DetailRules]) -> None:
        self._kinds = tuple(map(kind_of, rules))
        self._known: OrderedDict[RunId, PageWatcher] = OrderedDict()

    def of(self, run_id: RunId) -> PageWatcher:
        """Return the watcher of a run's crawl, a new one for an unknown run."""
        found = self._known.pop(run_id, None) or PageWatcher(self._kinds)
        self._known[run_id] = found
        if len(self._known) > KEPT_CRAWLS:
            self._known.popitem(last=False)
        return found


def _first(markers: Iterable[str]) -> Iterable[str]:
    for count, marker in enumerate(markers):
        if count >= MAX_MARKERS:
            return
        yield marker
