"""The actor that crawls a site with Firecrawl."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import ActorContext, ActorError, Again, describe_failure
from agentic.core.http import FetchError
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.crawl_jobs import Found, Job, State, begin, collect, end, look, pause_s
from agentic.plugins.firecrawl.actors.extracted import item_of
from agentic.plugins.firecrawl.actors.job_calls import call_off, current_job
from agentic.plugins.firecrawl.actors.options import ListingInput
from agentic.plugins.firecrawl.actors.paid import PaidActor
from agentic.plugins.firecrawl.actors.rules import CrawlRules
from agentic.plugins.firecrawl.client import Firecrawl, open_firecrawl
from agentic.plugins.firecrawl.documents import Document, judge, metadata_of, page_of, record_of, summary_of

ONCE = "firecrawl_crawl"
MOST_PAGES = 1_000  # all are in one result, which is in the run's state
PASSING = frozenset({"connect", "dns", "rate_limited", "timeout"})

Item = dict[str, JSONValue]


class FirecrawlCrawlInput(CrawlRules, ListingInput):
    """Where to begin, which links to follow, and what to make of each page."""

    url: str
    max_pages: int = Field(
        default=100, ge=1, le=MOST_PAGES, description="Maximum number of pages, and so of credits."
    )
    keep_looking: bool = Field(
        default=False,
        description="Repeat status checks after temporary failures until deadline_s.",
    )

    def settings(self, timeout_s: float) -> dict[str, object]:
        """Return the keywords of the client's ``start_crawl``."""
        wanted = {
            "limit": self.max_pages,
            "max_discovery_depth": self.max_depth,
            "include_paths": list(self.include_paths) or None,
            "exclude_paths": list(self.exclude_paths) or None,
            "sitemap": self.sitemap,
            "crawl_entire_domain": self.entire_domain,
            "allow_subdomains": self.allow_subdomains,
            "allow_external_links": self.allow_external_links,
            "ignore_query_parameters": self.ignore_query_parameters,
            "delay": self.delay_s,
            "max_concurrency": self.max_parallel,
            "scrape_options": self.options(timeout_s, self.formats),
        }
        return {name: value for name, value in wanted.items() if value is not None}


class FailedPage(BaseModel):
    """A page of a crawl that failed, with the class it would have failed with by itself."""

    model_config = ConfigDict(frozen=True)

    url: str
    failure_class: str
    message: str
    status: int | None = None


class FirecrawlCrawlOutput(BaseModel):
    """The pages of a crawl, and those that failed.

    Each item has ``url``, ``status``, ``title`` and what was made of the page, with a schema also the fields
    of it; or is a record, if records were asked for. ``failures`` counts ``failed`` by class; ``counts`` has
    ``pages``, ``failed``, ``robots_blocked`` and ``credits``.
    """

    model_config = ConfigDict(frozen=True)

    items: tuple[Item, ...]
    failed: tuple[FailedPage, ...]
    failures: dict[str, int]
    robots_blocked: tuple[str, ...]
    counts: dict[str, int]
    crawl_id: str


class FirecrawlCrawlActor(PaidActor[FirecrawlCrawlInput, FirecrawlCrawlOutput]):
    """Crawls a site with Firecrawl: started once, then polled by any worker.

    The crawl's id is written down as soon as it is known, so that a run whose process was killed goes on to
    look at the crawl it has begun. A run that is broken off cancels it.
    """

    name = "firecrawl_crawl"
    version = "1"
    Input = FirecrawlCrawlInput
    Output = FirecrawlCrawlOutput
    failure_classes = frozenset(
        {"auth_required", "cancelled", "decode", "error", "gone", "quota_exhausted", "timeout"}
    )
    capabilities = frozenset({"credentials:firecrawl", "network"})
    may_wait = True

    async def run(self, ctx: ActorContext, given: FirecrawlCrawlInput, /) -> FirecrawlCrawlOutput | Again:
        """Return the pages once the crawl has completed."""
        timeout_s = given.timeout_s or ctx.http.policy.timeout_s
        service = await open_firecrawl(ctx, given, timeout_s)
        job = await current_job(
            ctx, ONCE, lambda key: begin(service, given.url, given.settings(timeout_s), key)
        )
        try:
            return await self._look(ctx, service, given, job)
        except ActorError as exc:
            elapsed_s = time.time() - job.begun_at
            if not (given.keep_looking and _may_pass(exc) and elapsed_s < given.deadline_s):
                raise
            after_s = max(pause_s(elapsed_s, given.deadline_s), exc.retry_after_s or 0.0)
            return Again(after_s=after_s, note=f"the status of crawl {job.id} could not be read: {exc}")

    async def on_cancel(self, ctx: ActorContext, given: FirecrawlCrawlInput, /) -> None:
        """Cancel the crawl."""
        await call_off(ctx, ONCE, given)

    async def _look(
        self, ctx: ActorContext, service: Firecrawl, given: FirecrawlCrawlInput, job: Job
    ) -> FirecrawlCrawlOutput | Again:
        state = await look(service, job)
        if state.status == "scraping":
            elapsed_s = time.time() - job.begun_at
            if elapsed_s < given.deadline_s:
                note = f"{state.completed} of {state.total} pages of the crawl {job.id}"
                return Again(after_s=pause_s(elapsed_s, given.deadline_s), note=note)
            state = await _stop(service, job, state, given)
        if state.status != "completed":
            raise _ended(job, state)
        return await _output(ctx, given, job, await collect(service, job, state, given.max_pages))


def _may_pass(exc: ActorError) -> bool:
    """Whether a failed poll is worth a retry: the crawl itself exists and continues."""
    return exc.failure_class in PASSING or exc.failure_class.startswith("http_5")


async def _stop(service: Firecrawl, job: Job, state: State, given: FirecrawlCrawlInput) -> State:
    """Cancel a crawl that takes too long; return its state if it has completed meanwhile.

    Raises:
        ActorError: It was cancelled (``timeout``).
    """
    if not await end(service, job):
        return await look(service, job)
    message = (
        f"the crawl {job.id} of {safe_url(given.url)} was cancelled after {given.deadline_s:g} s with "
        f"{state.completed} of {state.total} pages; raise deadline_s, or lower max_pages"
    )
    raise ActorError(message, failure_class="timeout")


def _ended(job: Job, state: State) -> ActorError:
    """Return why a crawl has no results."""
    word = "cancelled" if state.status == "cancelled" else "error"
    message = (
        f"the crawl {job.id} ended as {state.status!r} with {state.completed} pages; run the pipeline again"
    )
    return ActorError(message, failure_class=word)


async def _output(
    ctx: ActorContext, given: FirecrawlCrawlInput, job: Job, found: Found
) -> FirecrawlCrawlOutput:
    items: list[Item] = []
    failed = [
        FailedPage(url=one.url, failure_class=one.failure_class, message=one.message) for one in found.errors
    ]
    for document in found.documents:
        try:
            items.append(await _item(ctx, given, document))
        except (ActorError, FetchError) as exc:
            failed.append(_failed(document, exc))
    counts = {
        "pages": len(items),
        "failed": len(failed),
        "robots_blocked": len(found.robots_blocked),
        "credits": found.credits,
    }
    return FirecrawlCrawlOutput(
        items=tuple(items),
        failed=tuple(failed),
        failures=dict(Counter(page.failure_class for page in failed).most_common()),
        robots_blocked=found.robots_blocked,
        counts=counts,
        crawl_id=job.id,
    )


async def _item(ctx: ActorContext, given: FirecrawlCrawlInput, document: Document) -> Item:
    """Return the item of a page, unless it is a refusal."""
    page = page_of(_address(document), document, datetime.now(UTC))
    await judge(ctx, page)
    extracted = item_of(document.get("json"), given.json_schema, page.final_url) if given.wants_item else {}
    if given.as_records:
        return record_of(document, page.final_url, page.status, extracted)
    return {**summary_of(document), **extracted, "url": page.final_url, "status": page.status}


def _failed(document: Document, exc: Exception) -> FailedPage:
    failure = describe_failure(exc)
    return FailedPage(
        url=_address(document),
        failure_class=failure.failure_class,
        message=failure.message,
        status=failure.status,
    )


def _address(document: Document) -> str:
    metadata = metadata_of(document)
    return str(metadata.get("source_url") or metadata.get("url") or "")
