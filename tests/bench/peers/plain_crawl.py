"""A crawl without an engine: ``python -m tests.bench.peers.plain_crawl crawl``.

A set of known addresses, a queue, and tasks with aiohttp and turbohtml: what a framework adds to this, it
adds for what it gives beyond it. Nothing here survives the end of the process but the rows.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
from tests.bench.crawling import AT_A_TIME, Row, SqliteSink, crawled, whole_rows
from tests.bench.measuring import Figures, main, scratch
from turbohtml import Document, Element, parse


class Crawler:
    """Fetches every page once, many at a time."""

    def __init__(self, session: aiohttp.ClientSession, sink: SqliteSink) -> None:
        self._session = session
        self._sink = sink
        self._known: set[str] = set()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    async def crawl(self, first: str) -> None:
        """Follow links from the first page until none is left."""
        self._add(first)
        tasks = [asyncio.create_task(self._work()) for _ in range(AT_A_TIME)]
        over = asyncio.create_task(self._waiting.join())
        done, _ = await asyncio.wait([over, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for task in done:
            task.result()  # raises what has ended a task

    def _add(self, url: str) -> None:
        if url not in self._known:
            self._known.add(url)
            self._waiting.put_nowait(url)

    async def _work(self) -> None:
        while True:
            url = await self._waiting.get()
            async with self._session.get(url) as answer:
                answer.raise_for_status()
                row, links = read(url, await answer.text())
            self._sink.put(row)
            for link in links:
                self._add(urljoin(url, link))
            self._waiting.task_done()


def read(url: str, markup: str) -> tuple[Row, list[str]]:
    """Return the fields of a page and, of a list, where it leads."""
    tree = parse(markup)
    row = (
        url,
        _first(tree, "h1.title").text,
        _first(tree, "a.author").text,
        int(_first(tree, "span.score").attr("data-score") or ""),
        _first(tree, "time.posted").attr("datetime") or "",
        _first(tree, "p.summary").text,
    )
    links = tree.select("a.item-link, a.next") if "/list/" in url else []
    return row, [node.attr("href") or "" for node in links]


def _first(tree: Document, selector: str) -> Element:
    found = tree.select_one(selector)
    assert found is not None
    return found


def crawl() -> Figures:
    """Return what a page of the catalogue costs."""

    async def run(first: str) -> None:
        connector = aiohttp.TCPConnector(limit=AT_A_TIME)
        async with aiohttp.ClientSession(connector=connector) as session:
            await Crawler(session, sink).crawl(first)

    with scratch() as folder:
        database = Path(folder) / "pages.db"
        sink = SqliteSink(database)
        figures = crawled(lambda first: asyncio.run(run(first)), lambda: whole_rows(database))
        sink.close()
    return figures


if __name__ == "__main__":
    main({"crawl": crawl}, lambda: {name: version(name) for name in ("aiohttp", "turbohtml")})
