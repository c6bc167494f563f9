"""The frontier of a crawl by itself, as it grows: ``python -m tests.bench.frontiers frontier-1000000``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

from tests.bench.measuring import Figures, Stopwatch, main, peak_mib, scratch

from agentic.core.hooks import PluginRegistry
from agentic.core.pipeline.crawl.store import CrawlBatch, CrawledPage, FrontierEntry, FrontierLink, SliceId
from agentic.core.types import SaveCounts
from agentic.mappers import Database, add_project
from agentic.mappers.crawl.frontier import SqlCrawlStore
from agentic.migrations import upgrade

SIZES = (10_000, 100_000, 1_000_000)
SLICE = SliceId()
SEEDED = 5_000
"""Links put in at once while the frontier is filled."""

EXCHANGES, BATCH = 20, 50
"""What is measured: how often, and pages marked and taken each time."""

KNOWN, NEW = 900, 100
"""Links of a batch: 20 on a page, most of which lead where others led."""


def frontier(size: int) -> Figures:
    """Return what one exchange costs with so many pages in the frontier, without the rows of the pages."""
    with scratch() as made:
        file = Path(made).resolve() / "agentic.db"
        upgrade(f"sqlite:///{file}", PluginRegistry([]))
        database = Database(f"sqlite:///{file}", synchronous="full")
        with database.writing() as session:
            project_id = add_project(session, "bench").id
        store = SqlCrawlStore(database, project_id=project_id, run="bench", save=lambda *_: SaveCounts())
        figures = asyncio.run(_measured(store, size))
        database.dispose()
        return {**figures, "database_mib": file.stat().st_size / 2**20, "rss_mib": peak_mib()}


async def _measured(store: SqlCrawlStore, size: int) -> Figures:
    watch = Stopwatch()
    for begin in range(0, size, SEEDED):
        await store.seed([_link(number) for number in range(begin, min(begin + SEEDED, size))])
    filled = watch.read()
    watch = Stopwatch()
    await store.begin(SLICE)
    begun = watch.read()
    taken = (await store.exchange(SLICE, CrawlBatch(), BATCH)).entries
    batches = [_links(size, number) for number in range(EXCHANGES)]  # made before anybody looks at the clock
    watch = Stopwatch()
    for links in batches:
        batch = CrawlBatch(done=[_page(entry) for entry in taken], links=links)
        taken = (await store.exchange(SLICE, batch, BATCH)).entries
    cost = watch.read()
    assert len(taken) == BATCH
    return {
        "links": size,
        "seed_us": filled.wall_s / size * 1e6,
        "begin_ms": begun.wall_s * 1e3,
        "wall_ms": cost.wall_s / EXCHANGES * 1e3,
        "cpu_ms": cost.cpu_s / EXCHANGES * 1e3,
    }


def _links(size: int, number: int) -> Sequence[FrontierLink]:
    """Return the links of a batch; those known are from all over the frontier."""
    known = [_link((number * KNOWN + step) * 7_919 % size) for step in range(KNOWN)]
    return known + [_link(size + number * NEW + step) for step in range(NEW)]


def _link(number: int) -> FrontierLink:
    url = f"http://127.0.0.1:8000/item/{number}"
    return FrontierLink(url=url, url_key=sha256(url.encode()).hexdigest(), depth=1)


def _page(entry: FrontierEntry) -> CrawledPage:
    return CrawledPage(
        url=entry.url,
        url_key=entry.url_key,
        depth=entry.depth,
        final_url=entry.url,
        status=200,
        content_type="text/html",
        title=None,
        fields={},
        content_hash=entry.url_key,
        fetched_at=datetime.now(UTC),
    )


CASES: dict[str, Callable[[], Figures]] = {f"frontier-{size}": partial(frontier, size) for size in SIZES}

if __name__ == "__main__":
    main(CASES, dict)
