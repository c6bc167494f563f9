"""The tasks as crawlers of Crawlee: ``python -m tests.bench.web.peers.crawlee CASE STORE NAME=ADDRESS...``.

With what its users install beside it: price-parser, dateparser, extruct and feedparser.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from crawlee.crawlers import HttpCrawler, HttpCrawlingContext, ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader
from crawlee.storage_clients import MemoryStorageClient
from parsel import Selector
from tests.bench.web.model import Field
from tests.bench.web.peers.shared import (
    Task,
    json_entries,
    jsonld_value,
    read_feed,
    read_moment,
    read_price,
)


async def crawl(task: Task) -> None:
    """Crawl a site from its start page and its sitemap, and read an item from each page."""
    options: dict[str, Any] = {"respect_robots_txt_file": True, "storage_client": MemoryStorageClient()}
    if task.case.max_pages:
        options["max_requests_per_crawl"] = task.case.max_pages
    if task.case.sitemap:
        sitemap = task.fill(f"{{here}}{task.case.sitemap}")
        loader = SitemapRequestLoader([sitemap], http_client=ImpitHttpClient())
        options["request_manager"] = await loader.to_tandem()
    crawler = ParselCrawler(**options)

    @crawler.router.default_handler
    async def read_page(context: ParselCrawlingContext) -> None:
        fields = task.case.fields.items()
        url = context.request.loaded_url or context.request.url
        task.store.put({"url": url, **{name: value_of(context.selector, field) for name, field in fields}})
        await context.enqueue_links()

    await crawler.run([task.fill(task.case.start)])


def value_of(selector: Selector, field: Field) -> Any:
    """Return the value of a field on a page."""
    if field.jsonld:
        value = jsonld_value(selector.get(), field.jsonld)
        return float(value) if value and field.kind == "number" else value
    text = selector.css(field.css).xpath("normalize-space()").get()
    if text is None or field.kind == "text":
        return text
    if field.kind == "price":
        return read_price(text)
    moment = read_moment(text)
    if moment is None:
        return None
    return moment.date().isoformat() if field.kind == "date" else moment.isoformat()


async def poll(task: Task) -> None:
    """Poll a feed."""
    crawler = HttpCrawler(respect_robots_txt_file=True, storage_client=MemoryStorageClient())

    @crawler.router.default_handler
    async def read(context: HttpCrawlingContext) -> None:
        media_type = context.http_response.headers.get("content-type") or ""
        body = await context.http_response.read()
        if "json" in media_type:
            entries = json_entries(body)
        else:
            entries = read_feed(body, media_type, context.request.url, context.log)
        for entry in entries:
            task.store.put(entry)

    await crawler.run([task.fill(f"{{here}}{task.case.feed}")])


def main() -> None:
    """Run the task once."""
    task = Task.of_arguments(sys.argv[1:])
    asyncio.run(poll(task) if task.case.feed else crawl(task))
    task.store.save()


if __name__ == "__main__":
    main()
