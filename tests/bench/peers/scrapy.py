"""Scrapy over the catalogue: ``python -m tests.bench.peers.scrapy crawl``, in an environment that has it.

``python -m tests.bench.peers.scrapy work FIRST DATABASE STATE`` crawls once, with its ``JOBDIR`` in a folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.crawling import AT_A_TIME, SqliteSink, crawled, whole_rows
from tests.bench.measuring import Figures, main, scratch


def crawl(first: str, database: Path, state: Path | None = None) -> None:
    """Crawl the catalogue, with the state of the crawl in a folder if one is given."""
    scrapy = import_module("scrapy")
    sink = SqliteSink(database)

    class Upserts:
        def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
            sink.put(
                (item["url"], item["title"], item["author"], item["score"], item["posted"], item["summary"])
            )
            return item

    def parse(spider: Any, response: Any) -> Iterator[object]:
        yield _fields(response)
        if "/list/" in response.url:
            for link in response.css("a.item-link::attr(href), a.next::attr(href)").getall():
                yield response.follow(link, callback=spider.parse)

    spider = type("Spider", (scrapy.Spider,), {"name": "bench", "start_urls": [first], "parse": parse})
    process = import_module("scrapy.crawler").AsyncCrawlerProcess(
        {
            "LOG_LEVEL": "ERROR",
            "STATS_DUMP": False,
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "CONCURRENT_REQUESTS": AT_A_TIME,
            "CONCURRENT_REQUESTS_PER_DOMAIN": AT_A_TIME,
            "ITEM_PIPELINES": {Upserts: 100},
            **({"JOBDIR": str(state)} if state else {}),
        }
    )
    process.crawl(spider)
    process.start()
    sink.close()


def _fields(response: Any) -> dict[str, Any]:
    def get(query: str) -> Any:
        return response.css(query).get()

    return {
        "url": response.url,
        "title": get("h1.title::text"),
        "author": get("a.author::text"),
        "score": int(get("span.score::attr(data-score)")),
        "posted": get("time.posted::attr(datetime)"),
        "summary": get("p.summary::text"),
    }


def measure() -> Figures:
    """Return what a page of the catalogue costs; what is imported at first is not counted."""
    import_module("scrapy.crawler")
    with scratch() as folder:
        database = Path(folder) / "pages.db"
        return crawled(lambda first: crawl(first, database), lambda: whole_rows(database))


if __name__ == "__main__":
    if sys.argv[1] == "work":
        crawl(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main({"crawl": measure}, lambda: {"Scrapy": version("scrapy")})
