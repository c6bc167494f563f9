"""The tasks as spiders of Scrapy: ``python -m tests.bench.web.peers.scrapy CASE STORE NAME=ADDRESS...``.

With what its users install beside it: ItemLoader, price-parser, dateparser, extruct and feedparser.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from itemloaders.processors import Identity, MapCompose, TakeFirst
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import SitemapSpider
from tests.bench.web.model import Case, FieldKind
from tests.bench.web.peers.shared import (
    Task,
    json_entries,
    jsonld_value,
    read_feed,
    read_moment,
    read_price,
)
from w3lib.html import remove_tags, replace_entities

SETTINGS = {"ROBOTSTXT_OBEY": True, "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False}
"""As ``scrapy startproject`` writes them, without its delay of a second between two requests."""


def day_of(text: str) -> str | None:
    found = read_moment(text)
    return found.date().isoformat() if found else None


def moment_of(text: str) -> str | None:
    found = read_moment(text)
    return found.isoformat() if found else None


READERS: dict[FieldKind, Any] = {
    "text": Identity(),
    "number": MapCompose(float),
    "price": MapCompose(read_price),
    "date": MapCompose(day_of),
    "datetime": MapCompose(moment_of),
}


class PageLoader(ItemLoader):
    """Takes the first value of each field, without tags, entities and blanks around it."""

    default_item_class = dict
    default_output_processor = TakeFirst()


class SiteSpider(SitemapSpider):
    """Crawls a site from its start page and its sitemap, and reads an item from each page."""

    name = "site"

    def __init__(self, task: Task, *args: Any, **kwargs: Any) -> None:
        self.task = task
        self.case: Case = task.case
        self.start_url = task.fill(self.case.start)
        self.allowed_domains = [str(urlsplit(self.start_url).hostname)]
        self.sitemap_urls = [task.fill(f"{{here}}{self.case.sitemap}")] if self.case.sitemap else []
        self.links = LinkExtractor()
        super().__init__(*args, **kwargs)

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request
        yield scrapy.Request(self.start_url, dont_filter=True)  # as Scrapy does for `start_urls`

    def parse(self, response: Response) -> Iterator[Any]:
        yield self.read(response)
        yield from response.follow_all(self.links.extract_links(response))

    def read(self, response: Response) -> dict[str, Any]:
        loader = PageLoader(response=response)
        loader.add_value("url", response.url)
        for name, field in self.case.fields.items():
            if field.jsonld:
                loader.add_value(name, jsonld_value(response.text, field.jsonld), READERS[field.kind])
            else:
                clean = MapCompose(remove_tags, replace_entities, str.strip)
                loader.add_css(name, field.css, clean, READERS[field.kind])
        return dict(loader.load_item())


class FeedSpider(scrapy.Spider):
    """Polls a feed."""

    name = "feed"

    def __init__(self, task: Task, *args: Any, **kwargs: Any) -> None:
        self.task = task
        self.start_urls = [task.fill(f"{{here}}{task.case.feed}")]
        super().__init__(*args, **kwargs)

    def parse(self, response: Response) -> Iterator[Any]:
        media_type = response.headers.get("Content-Type", b"").decode()
        if "json" in media_type:
            yield from json_entries(response.body)
        else:
            yield from read_feed(response.body, media_type, response.url, self.logger)


class Keep:
    """Puts items into the store of the spider's task."""

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> Keep:
        return cls(crawler)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        self.crawler.spider.task.store.put(item)
        return item


def main() -> None:
    """Run the task once."""
    task = Task.of_arguments(sys.argv[1:])
    process = AsyncCrawlerProcess(
        {
            **SETTINGS,
            "ITEM_PIPELINES": {Keep: 300},
            **({"CLOSESPIDER_ITEMCOUNT": task.case.max_pages} if task.case.max_pages else {}),
        }
    )
    process.crawl(FeedSpider if task.case.feed else SiteSpider, task=task)
    process.start()
    task.store.save()


if __name__ == "__main__":
    main()
