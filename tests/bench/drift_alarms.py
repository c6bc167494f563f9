"""False alarms and delay of drift tests on real values: ``python -m tests.bench.drift_alarms PAGES.xz``.

The file has a page on each line: ``host``, ``key``, ``labels`` (field: value) and ``html``; the newest
version of a page counts. Each trial deals the pages out to runs: the first ones are learnt, the others are
healthy runs, with only false alarms. Then one field breaks from a page on: it is gone, shows the text of
another field, or the same text on each page; or the page is a wall.

``--by-host`` leaves the pages of a host together, so that missing fields come in sequence. Whole pages are
given to the recognition of walls, too: none of them is a wall.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from agentic.core.pipeline.drift.crawls import CrawlWatch, WatchedPage
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile, learnt
from agentic.core.pipeline.drift.sights import PageKind, PageSight, wall_in
from agentic.core.types import JSONValue

KIND = PageKind("corpus", "corpus")
RUN_PAGES = 60
GOOD_PAGES = 20
"""Healthy pages before the break."""

Item = Mapping[str, JSONValue]


@dataclass(frozen=True)
class Labelled:
    """A page: its host, its fields by name, and its size."""

    host: str
    item: Item
    size: int


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--learnt", type=int, default=4, help="Runs that are known before.")
    parser.add_argument("--by-host", action="store_true")
    given = parser.parse_args()
    pages, walls = read(given.pages)
    hosts = len({page.host for page in pages})
    say(f"{len(pages)} pages of {hosts} hosts; taken for a wall: {dict(walls) or 'none'}")
    fields = sorted({name for page in pages for name in page.item})
    rnd, runs, alarms = Random(1), 0, Counter[str]()
    delays: dict[str, list[int]] = {}
    for _ in range(given.trials):
        dealt = deal(pages, rnd, by_host=given.by_host)
        profile = learn(dealt[: given.learnt])
        for run in dealt[given.learnt :]:
            runs += len(fields)
            alarms.update(alarmed(run, profile)[1])
        for how, broken in breaks(dealt[given.learnt], fields, rnd).items():
            page, _ = alarmed(broken, profile)
            delays.setdefault(how, []).append(999 if page is None else page - GOOD_PAGES)
    say(f"{alarms.total()} false alarms in {runs} field-runs: {1_000 * alarms.total() / runs:.2f} in 1,000")
    for name, count in alarms.most_common():
        say(f"  {name}: {count}")
    for how, found in sorted(delays.items()):
        found.sort()
        say(f"{how:24} alarm after {found[len(found) // 2]} pages (median), {found[-1]} at most")


def read(path: Path) -> tuple[list[Labelled], Counter[str]]:
    """Return the pages, and how many whole pages are taken for which wall."""
    pages, walls = dict[tuple[str, str], Labelled](), Counter[str]()
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for page in map(json.loads, lines):
            pages[page["host"], page["key"]] = Labelled(page["host"], page["labels"], len(page["html"]))
            walls.update(filter(None, [wall_in(page["html"], f"https://{page['host']}{page['key']}")]))
    return [*pages.values()], walls


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def deal(pages: Sequence[Labelled], rnd: Random, *, by_host: bool) -> list[list[Labelled]]:
    """Return runs of the same number of pages."""
    shuffled = rnd.sample(pages, len(pages))
    runs = [shuffled[at : at + RUN_PAGES] for at in range(0, len(pages) - RUN_PAGES + 1, RUN_PAGES)]
    return [sorted(run, key=lambda page: page.host) for run in runs] if by_host else runs


def learn(runs: Sequence[Sequence[Labelled]]) -> KindProfile:
    """Return the profile of healthy runs."""
    profile = KindProfile()
    for number, run in enumerate(runs):
        watch = CrawlWatch()
        watch.note([watched(index, page) for index, page in enumerate(run)], {})
        profile = learnt(profile, f"run{number}", watch.summaries()[KIND.key])
    return profile


def alarmed(run: Sequence[Labelled], profile: KindProfile) -> tuple[int | None, list[str]]:
    """Return the page with the alarm, and its fields or its cause."""
    watch, expectations = CrawlWatch(), {KIND.key: Expectation(profile)}
    for index, page in enumerate(run):
        for incident in watch.note([watched(index, page)], expectations):
            return index + 1, [f"{one.field} {one.fault}" for one in incident.faults] or [incident.cause]
    return None, []


def watched(index: int, page: Labelled) -> WatchedPage:
    """Return a page as a crawl gives it to the watch."""
    wall = None if page.item else Cause.CONSENT
    return WatchedPage(f"{index}", "", f"{index}", PageSight(KIND, page.size, wall), [page.item])


def breaks(run: Sequence[Labelled], fields: Sequence[str], rnd: Random) -> Mapping[str, list[Labelled]]:
    """Return a run with a broken field from one page on, in several ways."""
    good, rest = list(run[:GOOD_PAGES]), run[GOOD_PAGES:]
    own, other = "title", rnd.choice([name for name in fields if name != "title"])

    def after(**change: JSONValue) -> list[Labelled]:
        return [*good, *(Labelled(page.host, {**page.item, **change}, page.size) for page in rest)]

    swapped = [Labelled(page.host, {**page.item, own: page.item.get(other)}, page.size) for page in rest]
    return {
        "title gone": after(title=None),
        "ingredients gone": after(ingredients=None),
        "all gone": after(**dict.fromkeys(fields)),
        "title from another field": [*good, *swapped],
        "title always the same": after(title="Recipes of the week"),
        "consent wall": [*good, *(Labelled(page.host, {}, page.size) for page in rest)],
    }


if __name__ == "__main__":
    main()
