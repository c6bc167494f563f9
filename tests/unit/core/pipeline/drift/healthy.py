"""Pages of a kind, profiles learnt from them, and what a watch makes of more of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from agentic.core.pipeline.drift.crawls import CrawlWatch, WatchedPage, load_crawl_watch
from agentic.core.pipeline.drift.incidents import Cause, Incident
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile, learnt
from agentic.core.pipeline.drift.sights import PageKind, PageSight
from agentic.core.types import JSONValue

KIND = PageKind("k", "/product/*")
MARKERS = ('class="title"', 'class="price"')

Items = Sequence[Mapping[str, JSONValue]]


class Seen(NamedTuple):
    """What a watch made of a run: pages until the alarm (None: no alarm), the incident, and the watch."""

    pages: int | None
    incident: Incident | None
    watch: CrawlWatch


def page(
    number: int,
    items: Items,
    *,
    wall: Cause | None = None,
    is_known: bool | None = None,
    size: int = 1_000,
    body: str | None = None,
) -> WatchedPage:
    sight = PageSight(KIND, size, wall, is_known, MARKERS)
    return WatchedPage(f"p{number}", f"http://site/{number}", body or f"h{number}", sight, items)


def pages(items: Iterable[Mapping[str, JSONValue]]) -> list[WatchedPage]:
    return [page(number, [item]) for number, item in enumerate(items)]


def profile_of(runs: Iterable[Sequence[WatchedPage]]) -> KindProfile:
    profile = KindProfile()
    for number, run in enumerate(runs):
        watch = CrawlWatch()
        watch.note(run, {})
        profile = learnt(profile, f"r{number}", watch.summaries()[KIND.key])
    return profile


def watched(run: Iterable[WatchedPage], profile: KindProfile, *, is_stored: bool = False) -> Seen:
    """Give a watch page after page until an incident; ``is_stored`` stores and loads it after each."""
    watch, expectations = CrawlWatch(), {KIND.key: Expectation(profile)}
    for count, one in enumerate(run, 1):
        found = watch.note([one], expectations)
        if is_stored:
            watch = load_crawl_watch(watch.dump())
        if found:
            return Seen(count, found[0], watch)
    return Seen(None, None, watch)


def optional(rate: float, rnd: Random, fields: int = 8) -> dict[str, JSONValue]:
    """Return an item whose fields ``f0``, ``f1``... are missing independently, and a title."""
    values: dict[str, JSONValue] = {
        f"f{number}": None if rnd.random() < rate else f"v {rnd.random()}" for number in range(fields)
    }
    return {"title": f"t {rnd.random()}", **values}


def spread(rate: float, rnd: Random, spread: float = 0.05) -> float:
    """Return the rate of one run: healthy runs differ."""
    return rnd.betavariate(rate / spread, (1 - rate) / spread) if rate else 0.0
