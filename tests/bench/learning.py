"""Processor time that a crawl spends on watching its pages and on learning their fields.

``python -m tests.bench.learning`` crawls two shops on this machine, of small and of large pages, twice
each: the second run knows the first. It prints the share of the watch (drift) and the share of learning
(wrappers) in the processor time of the run, its start and its end included. Each part is timed by itself, so
that other work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.bench.crawls import crawl_pipeline, make_database, prepared, run_here
from tests.bench.measuring import Stopwatch, scratch
from tests.bench.site import Site

from agentic.core.pipeline.drift.learning import FieldLearner
from agentic.core.pipeline.drift.looking import PageWatcher
from agentic.core.types import JSONValue
from agentic.mappers.crawl import profiles, wrappers
from agentic.mappers.crawl.frontier import SqlCrawlStore

FIELDS: dict[str, JSONValue] = {
    "title": "h1.title",
    "price": {"selector": ".price", "type": "number"},
    "rating": {"selector": ".rating", "type": "number"},
    "sku": "dd.sku",
    "about": "p.about",
    "parts": {"selector": "ul.parts li", "list": True},
}
PARTS: tuple[tuple[str, object, str], ...] = (
    ("watch", PageWatcher, "look"),
    ("watch", SqlCrawlStore, "_watch"),
    ("watch", profiles, "learn_profiles"),
    ("learning", FieldLearner, "learn"),
    ("learning", SqlCrawlStore, "_learn"),
    ("learning", wrappers, "learn_wrappers"),
)
SIZES = {"small": 0, "large": 40}
"""Groups of 25 elements beside the record on each page."""


def product(number: int, groups: int) -> str:
    """Return a page of the shop: its record, then menus, related products and comments."""
    more = "".join(
        f'<section class="group g{group}"><h2>Group {group}</h2>'
        + "".join(
            f'<div class="card c{card}"><a class="link" href="#c{card}">Item {group}.{card}</a>'
            f'<span class="cost">{group + card}.50</span></div>'
            for card in range(8)
        )
        + "</section>"
        for group in range(groups)
    )
    return (
        f"<!doctype html><title>Lamp {number}</title><main><h1 class='title'>Lamp number {number}</h1>"
        f"<p><b>Price</b> <span class='price'>{number + 10}.90</span></p><dl><dt>SKU</dt>"
        f"<dd class='sku'>S-{number}</dd><dt>Rating</dt><dd class='rating'>{number % 5}.5</dd></dl>"
        f"<p class='about'>A lamp for {number} evenings, made of oak and paper.</p>"
        f"<ul class='parts'><li>shade {number}</li><li>bulb</li><li>cable</li></ul></main>{more}"
    )


def write_shop(folder: Path, pages: int, groups: int) -> None:
    """Write a list and the pages that it leads to."""
    links = "".join(f'<a class="item" href="p{number}.html">{number}</a>' for number in range(pages))
    (folder / "list.html").write_text(f"<!doctype html><title>All</title>{links}", encoding="utf-8")
    for number in range(pages):
        (folder / f"p{number}.html").write_text(product(number, groups), encoding="utf-8")


@contextmanager
def timed() -> Iterator[Counter[str]]:
    """Add up the seconds of processor time of each part, by its name."""
    spent: Counter[str] = Counter()  # of floats

    def measuring(name: str, inner: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **given: object) -> object:
            # The first reading of the clock tells the cost of one here, where its code may not be in a cache.
            first, began = time.thread_time(), time.thread_time()
            try:
                return inner(*args, **given)
            finally:
                ended = time.thread_time()
                spent[name] += ended - began - (began - first)  # type: ignore[assignment]  # seconds

        return call

    patches = [
        patch.object(where, what, measuring(name, getattr(where, what))) for name, where, what in PARTS
    ]
    try:
        for one in patches:
            one.start()
        yield spent
    finally:
        patch.stopall()


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.learning", description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000)
    given = parser.parse_args()
    for name, groups in SIZES.items():
        with scratch() as made:
            home, folder = Path(made).resolve(), Path(made).resolve() / "shop"
            folder.mkdir()
            write_shop(folder, given.pages, groups)
            make_database(home)
            prepared(home, "normal")
            with Site("--folder", str(folder)) as site:
                for run in ("first", "second"):
                    _run(f"{name} pages, {run} run", f"{site.base}/list.html", home, given.pages)


def _run(label: str, start: str, home: Path, pages: int) -> None:
    step: dict[str, JSONValue] = {
        "follow": {"include": ["*/p*.html"]},
        "detail": {"match": ["*/p*.html"], "config": {"schema": FIELDS}},
        "store": {"pages": False},
    }
    with timed() as spent:
        watch = Stopwatch()
        run_here(crawl_pipeline(start, step), home)
        cost = watch.read()
    shares = ", ".join(f"{name} {100 * spent[name] / cost.cpu_s:.2f} %" for name in ("watch", "learning"))
    both = 100 * sum(spent.values()) / cost.cpu_s
    sys.stdout.write(f"{label}: {1e3 * cost.cpu_s / pages:.2f} ms a page; {shares}, together {both:.2f} %\n")


if __name__ == "__main__":
    main()
