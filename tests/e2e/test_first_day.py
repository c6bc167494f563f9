"""The first day of a newcomer, as the tutorial has it: a site, an API, files, Ctrl-C, an export."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pyarrow.parquet
import pytest
from tests.e2e.guides import Command, Shell, Varying, steps_of
from tests.e2e.machines import REPOSITORY

from agentic.core.services import free_port
from agentic.fakes.shop.catalogue import build_catalogue

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

GUIDE = (REPOSITORY / "docs" / "tutorial" / "first-day.md").read_text(encoding="utf-8")
PORT = "28480"
PRODUCTS, PAGES = 60, 67
IN_FLIGHT = 16
"""Pages that a crawl fetches at a time."""

STOPPED = re.compile(r"stopped: (\d+) of (\d+) pages and (\d+) rows are kept, (\d+) pages are left")
VARYING: tuple[Varying, ...] = (
    (STOPPED, "STOPPED"),
    (re.compile(r"(?<=cancelled)\s+\d+ inserted"), " SOME inserted"),
    (re.compile("─+"), "─"),  # as wide as the numbers above
    # A pipe has lines of progress, a terminal a bar that is gone at the end.
    (re.compile(r"^\w+: \S+.*, \d+ events\n", re.MULTILINE), ""),
)
DEMO = re.compile(r"^  agent .*\n(?:^ .*\n)*", re.MULTILINE)


class Site:
    """The site of the guide: it says when to press Ctrl-C on the crawl, and counts its requests."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._stop_count = 0

    def requests(self) -> Counter[str]:
        """Return how often each page of the shop was asked for."""
        with urlopen(f"http://127.0.0.1:{self.port}/__control/stats", timeout=10) as answer:
            found = json.load(answer)["requests"]
        return Counter({path: count for path, count in found.items() if path.startswith("/shop/")})

    def await_ctrl_c(self) -> None:
        """Return when the crawl is a third further."""
        self._stop_count += 1
        while self.requests().total() < self._stop_count * PAGES // 3:
            time.sleep(0.02)


@dataclass(frozen=True, slots=True)
class Kept:
    """The pages and items of the crawl that are stored, and the requests so far."""

    pages: list[str]
    prices: dict[str, float | None]
    item_count: int
    requests: Counter[str]

    @classmethod
    def read(cls, folder: Path, site: Site) -> Kept:
        with closing(sqlite3.connect(folder / ".agentic" / "agentic.db")) as database:
            pages = [urlsplit(url) for (url,) in database.execute("select url from web_pages")]
            found = database.execute("select data from items where pipeline = 'shop'").fetchall()
        items = [json.loads(data) for (data,) in found]
        return cls(
            pages=[
                page.path + (f"?{page.query}" if page.query else "")
                for page in pages
                if "/shop/" in page.path
            ],
            prices={urlsplit(item["url"]).path: item["price"] for item in items},
            item_count=len(items),
            requests=site.requests(),
        )


@pytest.fixture
def site() -> Site:
    return Site(free_port())


@pytest.fixture
def shell(site: Site, tmp_path: Path) -> Iterator[Shell]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTIC_", "PYTEST_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**kept, "PATH": path, "COLUMNS": "80"}
    with Shell(tmp_path, environment, varying=VARYING, await_ctrl_c=site.await_ctrl_c) as opened:
        yield opened


@pytest.mark.requirement("BR05", "PL44")
@pytest.mark.slow
def test_the_first_day_is_as_its_page_says_and_ctrl_c_loses_and_repeats_nothing(
    shell: Shell, site: Site
) -> None:
    stops: list[Kept] = []
    complete: list[Kept] = []
    for step in steps_of(GUIDE.replace(PORT, str(site.port))):
        shell.take(step)
        if isinstance(step, Command) and step.is_interrupted:
            stops.append(Kept.read(shell.folder, site))
            check_stop(shell.printed, stops[-1])
        if isinstance(step, Command) and "--as-changed" in step.text:
            complete.append(Kept.read(shell.folder, site))
    check_continued(stops, *complete)
    last = Kept.read(shell.folder, site)
    assert last.requests == complete[0].requests  # the rest was read from the database
    check_rows(shell.folder, last)


def check_stop(printed: str, kept: Kept) -> None:
    """Check that the message of Ctrl-C counts what is stored, and that the rest was on its way at most."""
    found = STOPPED.search(printed)
    assert found is not None
    done, known, rows, left = map(int, found.groups())
    excluded_count = 1  # by robots.txt
    assert done == len(kept.pages)
    assert known <= PAGES + excluded_count
    assert 0 <= known - done - left <= excluded_count
    assert rows == 2 * len(kept.pages) + kept.item_count  # a page and its markup are a row each
    asked = set(kept.requests)
    assert set(kept.pages) <= asked
    assert len(asked - set(kept.pages)) <= IN_FLIGHT


def check_continued(stops: list[Kept], complete: Kept) -> None:
    """Check that no page that was kept was fetched again, and that nothing is missing or there twice."""
    first, second = stops
    assert 0 < len(first.pages) < len(second.pages) < PAGES
    for stop in stops:
        assert {page: complete.requests[page] for page in stop.pages} == {
            page: stop.requests[page] for page in stop.pages
        }
    assert len(complete.pages) == len(set(complete.pages)) == len(complete.requests) == PAGES
    assert complete.item_count == len(complete.prices) == PRODUCTS
    # The selector was wrong until the second Ctrl-C.
    lacking = {page for page, price in complete.prices.items() if price is None}
    assert lacking == second.prices.keys()


def check_rows(folder: Path, last: Kept) -> None:
    """Check that the table and the exported file have each product once, as the shop sells it."""
    sold = {f"/shop/product/{one.number}": one for one in build_catalogue(1, PRODUCTS).values()}
    assert last.item_count == PRODUCTS
    assert last.prices == {path: float(one.price) for path, one in sold.items()}
    rows = pyarrow.parquet.read_table(folder / "shop.parquet").to_pylist()
    assert len(rows) == PRODUCTS
    assert {urlsplit(row["url"]).path: (row["title"], row["price"]) for row in rows} == {
        path: (one.title, float(one.price)) for path, one in sold.items()
    }


def test_its_page_fits_a_terminal_of_80_columns() -> None:
    assert [line for line in GUIDE.splitlines() if len(line) > 80] == []


def test_its_page_shows_the_demo_as_the_readme_does() -> None:
    found = DEMO.search(GUIDE)
    assert found is not None
    assert found[0] in (REPOSITORY / "README.md").read_text(encoding="utf-8")
