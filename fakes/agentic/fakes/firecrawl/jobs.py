"""Crawls and batches: they go on a little with every question about their state."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit

from protego import Protego

from agentic.core.types import JSONValue
from agentic.fakes.firecrawl.account import Account
from agentic.fakes.firecrawl.errors import RefusalError
from agentic.fakes.firecrawl.requests import CrawlRequest, ScrapeOptions
from agentic.fakes.firecrawl.scraper import Scraper, may_fetch, whole_url

PAGES_PER_POLL = 50
KEPT_FOR = timedelta(hours=24)


@dataclass(slots=True, kw_only=True)
class Job:
    """What was started, how far it is, and what it found; ``crawl`` is None for a batch."""

    id: str
    url: str
    options: ScrapeOptions
    created: datetime
    crawl: CrawlRequest | None = None
    rules: Protego | None = None
    status: Literal["scraping", "completed", "cancelled"] = "scraping"
    polls: int = 0
    credits: int = 0
    waiting: deque[tuple[str, int]] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    documents: list[JSONValue] = field(default_factory=list)
    errors: list[JSONValue] = field(default_factory=list)
    robots_blocked: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Pages known so far."""
        return len(self.documents) + len(self.waiting)

    def is_kept(self, now: datetime) -> bool:
        """Whether its results are there still."""
        return now < self.created + KEPT_FOR

    @property
    def expires_at(self) -> str:
        """When its results go."""
        return (self.created + KEPT_FOR).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def add(self, links: Iterable[str], depth: int) -> None:
        """Let the job fetch those of ``links`` that are new and inside its bounds."""
        for link in links:
            url = link.partition("?")[0] if self.crawl and self.crawl.ignore_query_parameters else link
            if url in self.seen or not self._is_wanted(url, depth):
                continue
            self.seen.add(url)
            if self.rules and not may_fetch(self.rules, url):
                self.robots_blocked.append(url)
            else:
                self.waiting.append((url, depth))

    def settle(self, polls: int) -> None:
        """Complete the job if nothing waits, it was polled over ``polls`` times and was not cancelled."""
        if self.status == "scraping" and not self.waiting and self.polls > polls:
            self.status = "completed"

    def _is_wanted(self, url: str, depth: int) -> bool:
        if self.crawl is None:
            return True
        is_full = self.total + len(self.errors) >= self.crawl.limit
        most = self.crawl.max_discovery_depth
        return not is_full and (most is None or depth <= most) and is_inside(self.crawl, url)


def is_inside(crawl: CrawlRequest, url: str) -> bool:
    """Tell whether ``crawl`` is about ``url``: below its start, included, not excluded."""
    start, parts = urlsplit(whole_url(crawl.url)), urlsplit(url)
    if parts.netloc != start.netloc:
        return False
    if not crawl.crawl_entire_domain and not parts.path.startswith(start.path):
        return False
    subject = url if crawl.regex_on_full_url else parts.path
    if any(re.search(pattern, subject) for pattern in crawl.exclude_paths):
        return False
    # The start is always fetched, or there would be no links to choose from.
    is_start = url == whole_url(crawl.url)
    return is_start or not crawl.include_paths or any(re.search(p, subject) for p in crawl.include_paths)


async def start_crawl(job: Job, crawl: CrawlRequest, scraper: Scraper) -> None:
    """Give ``job`` its first pages: the start, and what sitemaps name.

    Raises:
        RefusalError: The start is no URL, or on a host that cannot be reached.
    """
    url = whole_url(crawl.url)
    if not crawl.ignore_robots_txt:
        job.rules = await scraper.robots(url)
    job.add([url], 0)
    if crawl.sitemap != "skip":
        job.add(await scraper.sitemap_urls(url), 1)


async def poll(job: Job, scraper: Scraper, account: Account) -> None:
    """Let ``job`` go on by up to 50 pages; it is completed when none waits and it was polled often enough."""
    if job.status != "scraping":
        return
    job.polls += 1
    for _ in range(PAGES_PER_POLL):
        if job.waiting:
            await _fetch(job, *job.waiting.popleft(), scraper, account.clock.moment())
    job.settle(account.polls)


async def _fetch(job: Job, url: str, depth: int, scraper: Scraper, now: datetime) -> None:
    try:
        document, links = await scraper.scrape(url, job.options)
    except RefusalError as refusal:
        number = f"{job.id}-{len(job.errors)}"
        moment = now.isoformat()
        error: dict[str, JSONValue] = {"id": number, "timestamp": moment, "url": url, "error": str(refusal)}
        job.errors.append({**error, **({"code": refusal.code} if refusal.code else {})})
        return
    job.documents.append(document)
    job.credits += job.options.credits_count
    if job.crawl is not None and job.crawl.sitemap != "only":
        job.add(links, depth + 1)
