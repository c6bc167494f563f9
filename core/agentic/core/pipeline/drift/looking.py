"""Looks at the pages of a crawl as they are read, and knows which kinds are held."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agentic.core.actors import Page
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.learning import FieldLearner
from agentic.core.pipeline.drift.sights import (
    EMPTY,
    MAX_MARKERS,
    WALL_LINKS,
    PageKind,
    PageSight,
    ShownPage,
    has_markers,
    is_blank,
    kind_of,
    lacks_fields,
    markers_in,
    shown_page,
    signs_on,
    wall_at,
    wall_on,
)
from agentic.core.pipeline.drift.watching import SAMPLED
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.records import record
from agentic.core.types import JSONValue, RunId

OTHER_PAGES = 4
"""Pages of no kind whose markup is sampled: it cannot be a marker."""

SIGN_PAGES = 2
"""Healthy pages of a kind, and pages of no kind, whose signs of walls are noted."""

MAX_COMMON = 1_000

KEPT_CRAWLS = 64


@record
class UsualLook:
    """The look of the healthy pages of a kind.

    Attributes:
        markers: Texts in their markup.
        needed: Fields that hardly any of them lacks.
        is_accepted: Whether the pages of this crawl are right as they are.
    """

    markers: Sequence[str] = ()
    needed: frozenset[str] = frozenset()
    is_accepted: bool = False


NO_LOOK = UsualLook()


@record
class _VoidPage:
    """The newest page of a kind without the fields of its kind: its address, names and words."""

    url: str
    names: tuple[str, ...]
    words: frozenset[str] | None

    def is_like(self, other: _VoidPage | None) -> bool:
        """Whether this short page says the same as one at another address, apart from numbers."""
        return other is not None and self.url != other.url and self.words == other.words is not None

    def has_names_of(self, other: _VoidPage | None) -> bool:
        return other is not None and self.url != other.url and self.names == other.names

    def has_other_names(self, other: _VoidPage | None) -> bool:
        return other is not None and bool(self.names and other.names) and not {*self.names} & {*other.names}


@dataclass(slots=True)
class PageWatcher:
    """Looks at the pages of one crawl in this process.

    Attributes:
        kinds: Of the rules of ``detail``, in their order.
        held: Keys of the kinds whose pages are not fetched now.
        looks: The look of healthy pages of each kind, by its key.
        learner: Learns how the fields look.
    """

    kinds: tuple[PageKind, ...]
    held: frozenset[str] = frozenset()
    looks: Mapping[str, UsualLook] = field(default_factory=dict)
    learner: FieldLearner = field(default_factory=FieldLearner)
    _common: set[str] = field(default_factory=set)
    _others: int = 0
    _sampled: Counter[str] = field(default_factory=Counter)
    _signs: set[Cause] = field(default_factory=set)
    _healthy: Counter[str] = field(default_factory=Counter)
    _last_void: dict[str, _VoidPage] = field(default_factory=dict)

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
            void = tuple(items) if is_blank(items) else None
            return PageSight(kind, size, wall_at(page.final_url, page.url), void=void)
        wall = is_known = None
        is_void = False
        look = self.looks.get(kind.key, NO_LOOK)
        if lacks_fields(items):
            wall, is_void = self.wall_on(page, number, items)
            is_known = has_markers(page.text, look.markers) if look.markers else None
        elif self._healthy[kind.key] < SIGN_PAGES:
            self._healthy[kind.key] += 1
            self._note_signs(page)
        markers = () if wall else self._sample(kind, page)
        return PageSight(kind, size, wall, is_known, markers, tuple(items) if is_void else None)

    def wall_on(
        self, page: Page, number: int, items: Sequence[Mapping[str, JSONValue]]
    ) -> tuple[Cause | None, bool]:
        """Return the obstacle on a page of a kind, and whether the page says nothing about its item.

        A page without any field that healthy pages have says nothing. Neither does a wall whose heading is
        taken for a field.

        Args:
            page: The page.
            number: Its rule.
            items: The items on it, which lack a field.
        """
        kind = self.kinds[number]
        look = self.looks.get(kind.key, NO_LOOK)
        if look.is_accepted:
            return None, False
        needed = look.needed
        valued = _valued(items)
        is_void = is_blank(items) or bool(needed and not needed & valued.keys())
        may_be_heading = len(items) == 1 and bool(needed - valued.keys())
        if not page.is_html or not (is_void or may_be_heading):
            return None, bool(needed) and is_void
        shown = shown_page(page.text, page.final_url)
        if not is_void and not all(_is_heading(valued[name], shown) for name in needed & valued.keys()):
            return None, False
        former = self._last_void.get(kind.key)
        self._last_void[kind.key] = now = _VoidPage(page.url, shown.names, shown.constant_words)
        wall = wall_on(shown, self._signs, is_varied=now.has_other_names(former))
        if wall is None and now.is_like(former):
            wall = Cause.ELSEWHERE
        # With a value, it may be the page in another layout, beside a login that is new on all pages.
        if not is_void and wall is not Cause.GONE and not now.has_names_of(former):
            return None, False
        return wall, wall is not None or bool(needed)

    def _note_signs(self, page: Page) -> None:
        """Note the signs of walls on a page that is not a wall."""
        if page.is_html:
            self._signs.update(signs_on(shown_page(page.text, page.final_url)))

    def _sample(self, kind: PageKind, page: Page) -> tuple[str, ...]:
        if self._sampled[kind.key] >= SAMPLED or not page.is_html:
            return ()
        self._sampled[kind.key] += 1
        return tuple(_first(marker for marker in markers_in(page.text) if marker not in self._common))

    def _note_other(self, page: Page) -> None:
        if self._others < OTHER_PAGES and page.is_html and len(self._common) < MAX_COMMON:
            self._others += 1
            self._common.update(markers_in(page.text))
            if self._others <= SIGN_PAGES and page.text.count("<a ") > WALL_LINKS:
                self._note_signs(page)


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


def _valued(items: Sequence[Mapping[str, JSONValue]]) -> Mapping[str, JSONValue]:
    """Return the fields that have a value on a page, with the first one."""
    found: dict[str, JSONValue] = {}
    for item in items:
        for name, value in item.items():
            if name != "url" and value not in EMPTY:
                found.setdefault(name, value)
    return found


def _is_heading(value: JSONValue, shown: ShownPage) -> bool:
    return isinstance(value, str) and " ".join(value.casefold().replace("’", "'").split()) in (
        *shown.names,
        *shown.headings,
    )


def _first(markers: Iterable[str]) -> Iterable[str]:
    for count, marker in enumerate(markers):
        if count >= MAX_MARKERS:
            return
        yield marker
