"""What all crawlers share: a sink for the rows, and how a crawl is measured. Standard library only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.bench.measuring import Figures, Stopwatch, peak_mib
from tests.bench.site import Site

PAGES = 2_000
AT_A_TIME = 16

Row = tuple[str, str, str, int, str, str]
"""URL, title, author, score, when it was posted, summary."""

_TABLE = """
CREATE TABLE IF NOT EXISTS pages (
    url TEXT PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL, score INTEGER NOT NULL,
    posted TEXT NOT NULL, summary TEXT NOT NULL, writes INTEGER NOT NULL DEFAULT 1
)
"""
_UPSERT = """
INSERT INTO pages (url, title, author, score, posted, summary) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET title = excluded.title, author = excluded.author, score = excluded.score,
    posted = excluded.posted, summary = excluded.summary, writes = pages.writes + 1
"""
_WHOLE = "SELECT count(*) FROM pages WHERE '' NOT IN (title, author, posted, summary)"


class SqliteSink:
    """Where the peers put their rows: an upsert for each, committed by itself with ``synchronous=NORMAL``."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(_TABLE)

    def put(self, row: Row) -> None:
        """Store a row, or replace the one of the same URL."""
        self._database.execute(_UPSERT, row)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def whole_rows(path: Path) -> int:
    """Return how many rows a sink has in which no field is empty."""
    with closing(sqlite3.connect(path)) as database:
        count: int = database.execute(_WHOLE).fetchone()[0]
    return count


def crawled(
    crawl: Callable[[str], None], rows: Callable[[], int], *, pages: int = PAGES, is_made_late: bool = False
) -> Figures:
    """Return what a crawl of the catalogue costs, with the crawler's own start and end, imports apart.

    Args:
        crawl: Gets the address of the first list.
        rows: Tells how many rows there are that lack nothing: what is quick and wrong is no figure.
        pages: Of the catalogue.
        is_made_late: Whether the site makes its pages when they are asked for, as it cannot keep so many.

    Returns:
        ``pages_s``: pages a second, from the first request that the site saw to the last; ``wall_s`` and
        ``cpu_ms`` (for each page) of the whole crawl; ``rss_mib`` at most of this process.
    """
    with Site("--pages", str(pages), *(["--is-made-late"] if is_made_late else [])) as site:
        watch = Stopwatch()
        crawl(site.first)
        cost = watch.read()
        stats = site.stats()
    if (stored := rows()) != pages:
        raise RuntimeError(f"{stored} whole rows of {pages} pages")
    return {
        "pages_s": pages / stats["first_to_last_s"],
        "cpu_ms": cost.cpu_s / pages * 1e3,
        "wall_s": cost.wall_s,
        "rss_mib": peak_mib(),
    }
