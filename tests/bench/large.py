"""Crawls that grow, and a frontier that does: ``python -m tests.bench.large``.

It takes some ten minutes, and prints what the documentation shows under "Large crawls".
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.crawls import SIZES
from tests.bench.environments import run_figures
from tests.bench.frontiers import SIZES as LINKS
from tests.bench.measuring import Figures
from tests.bench.table import shown

DOCUMENTS = Path("/usr/share/doc/postgresql-doc-15/html")
"""Where Debian's package postgresql-doc-15 puts its pages."""

CRAWLED: Mapping[str, str] = {
    "pages": "pages",
    "wall_s": "seconds",
    "pages_s": "pages/s",
    "cpu_ms": "CPU ms a page",
    "rss_mib": "peak RSS, MiB",
    "database_mib": "database, MiB",
}
FRONTIER: Mapping[str, str] = {
    "links": "URLs",
    "seed_us": "us to add one",
    "begin_ms": "ms to begin a slice",
    "wall_ms": "ms an exchange",
    "cpu_ms": "CPU ms an exchange",
    "rss_mib": "peak RSS, MiB",
    "database_mib": "database, MiB",
}
"""Figure -> its column."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one after the other, each in a process of its own, and show the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.large", description=__doc__)
    parser.add_argument("--docs", type=Path, default=DOCUMENTS, help="folder of pages, with an index.html")
    parser.add_argument(
        "--most", type=int, default=max(LINKS), help="pages and URLs; leaves out what has more"
    )
    given = parser.parse_args(arguments)
    crawls = [("catalogue", _ask("crawls", f"crawl-{size}")) for size in SIZES if size <= given.most]
    if given.docs.is_dir():
        crawls.append(("files", _ask("documents", str(given.docs))))
    frontiers = [("frontier", _ask("frontiers", f"frontier-{size}")) for size in LINKS if size <= given.most]
    for columns, rows in ((CRAWLED, crawls), (FRONTIER, frontiers)):
        sys.stdout.write("\n".join([*_table(columns, rows), "", ""]))


def _ask(module: str, case: str) -> Figures:
    sys.stderr.write(f"{module} {case}\n")
    return run_figures(Path(sys.executable), f"tests.bench.{module}", [case])


def _table(columns: Mapping[str, str], rows: Iterable[tuple[str, Figures]]) -> Iterator[str]:
    yield f"| | {' | '.join(columns.values())} |"
    yield f"|---|{'---:|' * len(columns)}"
    for name, figures in rows:
        yield f"| {name} | {' | '.join(f'{shown(figures[figure])}' for figure in columns)} |"


if __name__ == "__main__":
    main()
