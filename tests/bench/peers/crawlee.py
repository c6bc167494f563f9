"""Crawlee's ParselCrawler over the catalogue: ``python -m tests.bench.peers.crawlee crawl-memory``.

The frontier is in memory, in files or in SQLite. It is kept in a folder by
``python -m tests.bench.peers.crawlee work-sql FIRST DATABASE STATE``, which crawls once.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tests.bench.crawling import AT_A_TIME, Row, SqliteSink, crawled, whole_rows
from tests.bench.measuring import Figures, main, scratch

STORAGES = {
    "memory": "MemoryStorageClient",
    "files": "FileSystemStorageClient",
    "sql": "SqlStorageClient",
}


async def crawl(storage: str, first: str, database: Path, state: Path) -> None:
    """Crawl the catalogue with the frontier in a storage, which is kept in a folder."""
    crawlee = import_module("crawlee")
    logging.getLogger("crawlee").setLevel(logging.ERROR)
    sink = SqliteSink(database)
    crawler = _crawler(storage, state)

    async def handle(context: Any) -> None:
        url = context.request.url
        sink.put(_row(url, context.selector))
        if "/list/" in url:
            links = context.selector.css("a.item-link::attr(href), a.next::attr(href)").getall()
            await context.add_requests([crawlee.Request.from_url(urljoin(url, link)) for link in links])

    crawler.router.default_handler(handle)
    await crawler.run([first])
    sink.close()


def _crawler(storage: str, state: Path) -> Any:
    crawlee = import_module("crawlee")
    configuration = import_module("crawlee.configuration").Configuration
    clients = import_module("crawlee.storage_clients")
    return import_module("crawlee.crawlers").ParselCrawler(
        configuration=configuration(storage_dir=str(state), purge_on_start=False, log_level="ERROR"),
        storage_client=getattr(clients, STORAGES[storage])(),
        concurrency_settings=crawlee.ConcurrencySettings(
            min_concurrency=AT_A_TIME, max_concurrency=AT_A_TIME, desired_concurrency=AT_A_TIME
        ),
        configure_logging=False,
    )


def _row(url: str, selector: Any) -> Row:
    def get(query: str) -> Any:
        return selector.css(query).get()

    return (
        url,
        get("h1.title::text"),
        get("a.author::text"),
        int(get("span.score::attr(data-score)")),
        get("time.posted::attr(datetime)"),
        get("p.summary::text"),
    )


def measure(storage: str) -> Figures:
    """Return what a page of the catalogue costs; what is imported at first is not counted."""
    import_module("crawlee.crawlers")
    with scratch() as made:
        folder = Path(made).resolve()
        database = folder / "pages.db"
        return crawled(
            lambda first: asyncio.run(crawl(storage, first, database, folder / "state")),
            lambda: whole_rows(database),
        )


CASES: dict[str, Callable[[], Figures]] = {
    f"crawl-{storage}": partial(measure, storage) for storage in STORAGES
}

if __name__ == "__main__":
    task, _, kept_in = sys.argv[1].partition("-")
    if task == "work":
        asyncio.run(crawl(kept_in, sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
    else:
        main(CASES, lambda: {name: version(name.lower()) for name in ("Crawlee", "impit", "parsel")})
