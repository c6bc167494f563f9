"""A crawl of files that somebody else wrote: ``python -m tests.bench.documents FOLDER``.

Every link of every page is looked at, from ``index.html`` on.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from tests.bench.crawls import crawl_pipeline, database_of, prepared, run_here
from tests.bench.measuring import Figures, Stopwatch, peak_mib, scratch
from tests.bench.site import Site

from agentic.core.types import JSONValue

FOLLOW: JSONValue = {"include": ["*.html"]}
DETAIL: JSONValue = {"match": ["*"], "config": {"schema": {"heading": "h1, h2, h3", "text": "body"}}}


def documents(folder: Path) -> Figures:
    """Return what a crawl of a folder costs: the text of each page is stored.

    Raises:
        RuntimeError: Fewer pages were stored than the server gave.
    """
    with Site("--folder", str(folder)) as site, scratch() as made:
        home = Path(made).resolve()
        prepared(home, "normal")
        watch = Stopwatch()
        run_here(crawl_pipeline(f"{site.base}/index.html", {"follow": FOLLOW, "detail": DETAIL}), home)
        cost = watch.read()
        stats = site.stats()
        with closing(sqlite3.connect(database_of(home))) as database:
            pages: int = database.execute("SELECT count(*) FROM web_pages").fetchone()[0]
        size = database_of(home).stat().st_size
    return {
        "pages": pages,
        "asked": stats["pages"],
        "pages_s": stats["pages"] / stats["first_to_last_s"],
        "cpu_ms": cost.cpu_s / pages * 1e3,
        "wall_s": cost.wall_s,
        "rss_mib": peak_mib(),
        "database_mib": size / 2**20,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(documents(Path(sys.argv[1]))) + "\n")
