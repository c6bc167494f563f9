"""This project's rows of crawls: ``python -m tests.bench.crawls crawl``.

A page gives more here than with the peers: a row of what is on it and its place in the frontier, in one
database that a killed crawl goes on from; all cases but ``crawl`` store a row of the page itself, too, which
is the default.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.crawling import PAGES, crawled
from tests.bench.environments import run_figures
from tests.bench.measuring import Figures, main, scratch

from agentic.core.logging import configure_logging
from agentic.core.settings import Settings, load_settings
from agentic.core.types import JSONValue
from agentic.executors.agents.catalog import AgentFacts, put_agent
from agentic.executors.agents.local import run_locally
from agentic.executors.commands.shared.database import ensured_project, opened, ready_database
from agentic.mappers import ExecutionStatus, create_execution
from agentic.mappers.database.engine import Synchronous

SIZES = (1_000, 10_000, 100_000)
FEW, MANY, _ = SIZES
FEWEST, MORE = 200, 2_000
LATE = 20_000
"""Pages beyond which the site cannot keep them all."""

FIELDS: Mapping[str, JSONValue] = {
    "title": "h1.title",
    "author": "a.author",
    "score": {"selector": "span.score", "attr": "data-score", "type": "integer"},
    "posted": {"selector": "time.posted", "attr": "datetime"},
    "summary": "p.summary",
}
_WHOLE = "SELECT count(*) FROM items WHERE " + " AND ".join(
    f"json_extract(data, '$.{name}') <> ''" for name in FIELDS
)
_PAGES = "SELECT count(*) FROM web_pages JOIN items ON web_pages.url = items.key"


def catalogue_pipeline(first: str, *, keeps_pages: bool = True) -> dict[str, JSONValue]:
    """Return the pipeline that reads the whole catalogue, from its first list."""
    links: dict[str, JSONValue] = {"item_selector": "a.item-link", "next_selector": "a.next"}
    detail: dict[str, JSONValue] = {"match": ["*"], "config": {"schema": dict(FIELDS)}}
    step: dict[str, JSONValue] = {"links": {"actor": "extract_list", "config": links}, "detail": detail}
    return crawl_pipeline(first, {**step, "store": {"pages": keeps_pages}})


def crawl_pipeline(start: str, step: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return a pipeline that crawls a server on this machine without an end to pages and depth."""
    return {
        "name": "bench",
        "http": {"allow_private_hosts": [urlsplit(start).netloc]},
        "steps": [{"type": "crawl", "start": start, "max_pages": 10**7, "max_depth": 10**6, **step}],
    }


def run_here(pipeline: dict[str, JSONValue], home: Path, synchronous: Synchronous = "normal") -> None:
    """Run a pipeline as ``agentic run`` does, in this process, with its database below ``home``.

    Raises:
        RuntimeError: It did not succeed.
    """
    settings = prepared(home, synchronous)
    with opened(ready_database(settings)) as database:
        with database.writing() as session:
            facts = AgentFacts(name="bench", platform="web", config={"pipeline": pipeline})
            agent = put_agent(session, ensured_project(session, None, settings), facts, replace=True)
            execution = create_execution(session, agent)
        outcome = run_locally(execution, database=database, settings=settings)
    if outcome.status is not ExecutionStatus.SUCCEEDED:
        raise RuntimeError(f"the execution ended as {outcome.status}: {outcome}")


def prepared(home: Path, synchronous: Synchronous) -> Settings:
    """Return settings for this process; the database below ``home`` is made if there is none."""
    os.environ |= {"AGENTIC_HOME": str(home), "AGENTIC_SQLITE_SYNCHRONOUS": synchronous}
    settings = load_settings()
    configure_logging()
    ready_database(settings).dispose()
    return settings


def make_database(home: Path) -> None:
    """Make the tables in a process of its own, as users do; its memory is not this one's.

    Raises:
        subprocess.CalledProcessError: That failed, and has said why.
    """
    command = [sys.executable, "-m", "agentic.core.cli", "db", "upgrade"]
    environment = {**os.environ, "AGENTIC_HOME": str(home)}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def database_of(home: Path) -> Path:
    """Return where a run below ``home`` keeps its rows."""
    return home / "agentic.db"


def whole_items(database: Path, *, keeps_pages: bool) -> int:
    """Return how many items were stored with every field.

    Raises:
        RuntimeError: Not all of them have a row of their page, or one has that should not.
    """
    with closing(sqlite3.connect(database)) as opened_file:
        count: int = opened_file.execute(_WHOLE).fetchone()[0]
        rows: int = opened_file.execute(_PAGES).fetchone()[0]
    if rows != (count if keeps_pages else 0):
        raise RuntimeError(f"{rows} rows of pages for {count} items")
    return count


def crawl(synchronous: Synchronous = "normal", pages: int = PAGES, *, keeps_pages: bool = True) -> Figures:
    """Return what a page of the catalogue costs, the memory it takes, and the size of the database."""
    with scratch() as made:
        home = Path(made).resolve()
        make_database(home)
        prepared(home, synchronous)
        figures = crawled(
            lambda first: run_here(catalogue_pipeline(first, keeps_pages=keeps_pages), home, synchronous),
            lambda: whole_items(database_of(home), keeps_pages=keeps_pages),
            pages=pages,
            is_made_late=pages > LATE,
        )
        return {**figures, "pages": pages, "database_mib": database_of(home).stat().st_size / 2**20}


def page() -> Figures:
    """Return what one page more costs: the difference of two crawls in one process, after a first one.

    So neither modules that are loaded at their first use nor the start and the end of a run are in it.
    """
    crawl(pages=1, keeps_pages=False)
    few, many = (crawl(pages=pages, keeps_pages=False)["cpu_ms"] * pages for pages in (FEWEST, FEWEST + MORE))
    return {"cpu_ms": (many - few) / MORE}


def growth() -> Figures:
    """Return how much more memory many pages take than few, each crawl in a process of its own."""
    few, many = (
        run_figures(Path(sys.executable), "tests.bench.crawls", [f"crawl-{pages}"]) for pages in (FEW, MANY)
    )
    return {"rss_mib": many["rss_mib"] - few["rss_mib"]}


def versions() -> dict[str, str]:
    """Return what is measured."""
    return {"Python": platform.python_version(), "agentic-pipelines": version("agentic-pipelines")}


CASES: dict[str, Callable[[], Figures]] = {
    "crawl": partial(crawl, keeps_pages=False),
    "crawl-pages": crawl,
    "crawl-full": partial(crawl, "full"),
    "crawl-page": page,
    "crawl-growth": growth,
    **{f"crawl-{pages}": partial(crawl, pages=pages) for pages in SIZES},
}

if __name__ == "__main__":
    main(CASES, versions)
