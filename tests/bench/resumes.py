"""Crawls that are killed and started again by the same command: ``python -m tests.bench.resumes scrapy``.

The whole process group gets SIGKILL, so nobody can put anything in order before.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.bench.crawls import catalogue_pipeline, database_of, versions
from tests.bench.environments import python_of, run_module
from tests.bench.measuring import Figures, main, scratch
from tests.bench.site import Site

from agentic.core.settings import load_settings
from agentic.executors.commands.shared.database import ready_database

PAGES = 600
LATENCY_MS = 30
CUT_OFF_S = 60.0
"""The last run may take so long; without a kill the whole crawl takes two seconds."""

START_S = 120.0
"""A run that is to be killed has to get that far in this time."""

RESUMING = ("scrapy", "crawlee")
WRITTEN_AGAIN = "bench_written_again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawler:
    """A crawler as its user starts it.

    Attributes:
        command: Starts it, the first time and after each kill.
        database: Where it puts its rows.
        rows: Query for the number of pages that are stored.
        again: Query for the number of writes to rows that were there before.
        env: Variables it needs.
    """

    command: Sequence[str]
    database: Path
    rows: str = "SELECT count(*) FROM pages"
    again: str = "SELECT coalesce(sum(writes - 1), 0) FROM pages"
    env: dict[str, str] = field(default_factory=dict)

    def start(self) -> subprocess.Popen[bytes]:
        """Start it in a process group of its own."""
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            self.command, env=os.environ | self.env, stdout=quiet, stderr=quiet, start_new_session=True
        )

    def row_count(self) -> int:
        """Return how many pages are stored by now."""
        return self._asked(self.rows)

    def written_again(self) -> int:
        """Return how many writes met a row that was there."""
        return self._asked(self.again)

    def _asked(self, query: str) -> int:
        try:
            with closing(sqlite3.connect(f"{self.database.as_uri()}?mode=rw", uri=True)) as database:
                count: int = database.execute(query).fetchone()[0]
        except sqlite3.OperationalError:  # it has not made its table yet
            return 0
        return count


def ours(first: str, folder: Path) -> Crawler:
    """Return the command line, with its database in a folder."""
    file = folder / "bench.json"
    file.write_text(json.dumps(catalogue_pipeline(first)), encoding="utf-8")
    database = database_of(folder)
    ready_database(load_settings(home=folder)).dispose()
    _watch_updates(database, "items", "web_pages")
    return Crawler(
        command=[sys.executable, "-m", "agentic.core.cli", "run", str(file), "--resume", "--quiet"],
        database=database,
        rows="SELECT count(*) FROM items JOIN web_pages ON web_pages.url = items.key",
        again=f"SELECT count(*) FROM {WRITTEN_AGAIN}",
        env={"AGENTIC_HOME": str(folder)},
    )


def _watch_updates(file: Path, *tables: str) -> None:
    """Note each update of a row in a table beside: our rows do not say how often they were written."""
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"CREATE TABLE {WRITTEN_AGAIN} (name TEXT)")
        for table in tables:
            database.execute(
                f"CREATE TRIGGER bench_{table} AFTER UPDATE ON {table} BEGIN "
                f"INSERT INTO {WRITTEN_AGAIN} VALUES ('{table}'); END"
            )
        database.commit()


def peer(name: str, task: str, first: str, folder: Path) -> Crawler:
    """Return a peer's crawler, which puts rows into the sink they share."""
    database, state = folder / "pages.db", folder / "state"
    module = f"tests.bench.peers.{name}"
    arguments = [task, first, str(database), str(state)]
    return Crawler(command=[str(python_of(name)), "-m", module, *arguments], database=database)


def killed(make: Callable[[str, Path], Crawler], *shares: float) -> Figures:
    """Return what a crawl comes to that is killed when it has these shares of its pages, one after the other.

    Returns:
        ``lost``: pages without a row at the end; ``again``: writes of rows that were there; ``repeated``:
        pages fetched that had been fetched; ``exit_code`` and ``seconds`` of the last run, and ``rows_s``
        until it had stored the last page, all three infinite if that never was.
    """
    with Site("--pages", str(PAGES), "--latency-ms", str(LATENCY_MS)) as site, scratch() as made:
        crawler = make(site.first, Path(made).resolve())
        for share in shares:
            _run_until(crawler, round(share * PAGES))
        figures = _run_to_the_end(crawler)
        return {
            **figures,
            "lost": PAGES - crawler.row_count(),
            "again": crawler.written_again(),
            "repeated": site.stats()["repeated"],
        }


def _run_until(crawler: Crawler, rows: int) -> None:
    """Start a crawler, and kill it when it has so many rows.

    Raises:
        RuntimeError: It ended before, or came nowhere.
    """
    process = crawler.start()
    deadline = time.monotonic() + START_S
    while crawler.row_count() < rows:
        if process.poll() is not None or time.monotonic() > deadline:
            _kill(process)
            raise RuntimeError(
                f"{' '.join(crawler.command)} was to be killed at {rows} rows; with {crawler.row_count()} "
                f"it had ended with {process.returncode}"
            )
        time.sleep(0.01)
    _kill(process)


def _run_to_the_end(crawler: Crawler) -> Figures:
    began = time.monotonic()
    process = crawler.start()
    whole_s = math.inf
    while process.poll() is None and time.monotonic() - began < CUT_OFF_S:
        if whole_s == math.inf and crawler.row_count() == PAGES:
            whole_s = time.monotonic() - began
        time.sleep(0.02)
    exit_code = process.poll()
    seconds = time.monotonic() - began
    _kill(process)
    if whole_s == math.inf and crawler.row_count() == PAGES:
        whole_s = seconds
    if exit_code is None:
        return {"exit_code": math.inf, "seconds": math.inf, "rows_s": whole_s}
    return {"exit_code": exit_code, "seconds": seconds, "rows_s": whole_s}


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _all_versions() -> dict[str, str]:
    told = [run_module(python_of(one), f"tests.bench.peers.{one}", ["versions"]) for one in RESUMING]
    return {name: number for text in told for name, number in json.loads(text).items()} | versions()


CASES: dict[str, Callable[[], Figures]] = {
    "resume": partial(killed, ours, 0.4),
    "resume-thrice": partial(killed, ours, 0.25, 0.5, 0.75),
    "scrapy": partial(killed, partial(peer, "scrapy", "work"), 0.4),
    "crawlee-files": partial(killed, partial(peer, "crawlee", "work-files"), 0.4),
    "crawlee-sql": partial(killed, partial(peer, "crawlee", "work-sql"), 0.4),
}

if __name__ == "__main__":
    main(CASES, _all_versions)
