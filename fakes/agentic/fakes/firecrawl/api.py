"""The Firecrawl v2 API, mounted below ``/firecrawl/v2`` and below ``/v2``.

POST /scrape  /map  /search             what they find, at once
POST /crawl  /batch/scrape              a job: its id and URL; an ``x-idempotency-key`` is good once
GET  /crawl/{id}  /batch/scrape/{id}    its state and documents; ``next`` leads to more of them
DELETE the same                         cancels; 409 for a crawl that is completed
GET  the same and /errors               what failed, and what robots.txt forbids
GET  /crawl/active                      crawls that are scraping
GET  /team/credit-usage                 credits left

The second mount is for the synchronous client of firecrawl-py, which drops the path of its ``api_url``. Pages
come from the other fakes, inside this process: faults do not happen to them and they are not counted; use
``/hostile/status/403`` for a site that refuses. Other hosts do not resolve, but for those of
:data:`agentic.fakes.firecrawl.errors.RESERVED`, which the API itself refuses. No key is needed; one
that is sent has to be ``fc-test``. ``POST /__control/firecrawl`` sets credits and pace. Webhooks stay silent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from agentic.core.types import JSONValue
from agentic.fakes.firecrawl.account import Account
from agentic.fakes.firecrawl.errors import RefusalError
from agentic.fakes.firecrawl.fetching import Fetching
from agentic.fakes.firecrawl.jobs import Job, poll, start_crawl
from agentic.fakes.firecrawl.requests import (
    BatchRequest,
    CrawlRequest,
    MapRequest,
    ScrapeRequest,
    SearchRequest,
)
from agentic.fakes.firecrawl.scraper import Scraper, whole_url

API_KEY = "fc-test"
IDEMPOTENCY_KEY = "x-idempotency-key"

Answer = dict[str, JSONValue]


class Firecrawl:
    """The API over the pages of ``app``, paid from ``account``."""

    def __init__(self, app: ASGIApp, account: Account) -> None:
        self._app = app
        self._account = account
        self._jobs: dict[str, Job] = {}

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        routes: list[BaseRoute] = [
            Route("/scrape", _guarded(self.scrape), methods=["POST"]),
            Route("/map", _guarded(self.map), methods=["POST"]),
            Route("/search", _guarded(self.search), methods=["POST"]),
            Route("/crawl", _guarded(self.crawl), methods=["POST"]),
            Route("/batch/scrape", _guarded(self.batch), methods=["POST"]),
            Route("/crawl/active", _guarded(self.active)),
            Route("/team/credit-usage", _guarded(self.credit_usage)),
        ]
        for prefix in ("/crawl/{id}", "/batch/scrape/{id}"):
            routes += [
                Route(prefix, _guarded(self.status)),
                Route(prefix, _guarded(self.cancel), methods=["DELETE"]),
                Route(f"{prefix}/errors", _guarded(self.errors)),
            ]
        return routes

    async def scrape(self, request: Request) -> Answer:
        """Answer ``POST /scrape``."""
        asked = ScrapeRequest.model_validate_json(await request.body())
        self._check_credits(asked.credits_count)
        document, _ = await self._scraper(request).scrape(asked.url, asked)
        return {"success": True, "data": document}

    async def map(self, request: Request) -> Answer:
        """Answer ``POST /map``."""
        asked = MapRequest.model_validate_json(await request.body())
        self._check_credits(1)
        return {"success": True, "links": await self._scraper(request).map(asked)}

    async def search(self, request: Request) -> Answer:
        """Answer ``POST /search``."""
        asked = SearchRequest.model_validate_json(await request.body())
        self._check_credits(1)
        return {"success": True, "data": await self._scraper(request).search(asked)}

    async def crawl(self, request: Request) -> Answer:
        """Answer ``POST /crawl``."""
        asked = CrawlRequest.model_validate_json(await request.body())
        self._check_credits(1)
        now = self._account.clock.moment()
        job = Job(id=self._new_id(), url=asked.url, options=asked.scrape_options, created=now, crawl=asked)
        await start_crawl(job, asked, self._scraper(request))
        return self._started(job, request)

    async def batch(self, request: Request) -> Answer:
        """Answer ``POST /batch/scrape``."""
        asked = BatchRequest.model_validate_json(await request.body())
        self._check_credits(len(asked.urls))
        good, bad = _sorted_out(asked)
        job = Job(id=self._new_id(), url=asked.urls[0], options=asked, created=self._account.clock.moment())
        job.add(good, 0)
        return {**self._started(job, request), **({"invalidURLs": [*bad]} if bad else {})}

    async def status(self, request: Request) -> Answer:
        """Answer ``GET /crawl/{id}``; asking from the start, or for more than there is, moves the job on."""
        job, skip = self._job(request), request.query_params.get("skip", "0")
        if not (skip.isascii() and skip.isdigit()):
            raise RefusalError(400, "Invalid pagination: skip must be a non-negative integer")
        start = int(skip)
        if not 0 < start < len(job.documents):
            await poll(job, self._scraper(request), self._account)
        end = start + self._account.documents_per_page
        shown = job.documents[start:end]
        is_more = job.status == "scraping" or start + len(shown) < len(job.documents)
        following = f"{request.url.replace(query=f'skip={start + len(shown)}')}"
        return {
            "success": True,
            "status": job.status,
            "completed": len(job.documents),
            "total": job.total,
            "creditsUsed": job.credits,
            "expiresAt": job.expires_at,
            "data": shown,
            **({"next": following} if is_more else {}),
        }

    async def cancel(self, request: Request) -> Answer:
        """Answer ``DELETE /crawl/{id}``."""
        job = self._job(request)
        if job.status == "completed":
            raise RefusalError(409, "Crawl is already completed")
        job.status = "cancelled"
        job.waiting.clear()
        return {"status": "cancelled"}

    async def errors(self, request: Request) -> Answer:
        """Answer ``GET /crawl/{id}/errors``."""
        job = self._job(request)
        return {"errors": job.errors, "robotsBlocked": [*job.robots_blocked]}

    async def active(self, request: Request) -> Answer:  # noqa: ARG002 - all endpoints are called alike
        """Answer ``GET /crawl/active``."""
        scraping = [job for job in self._jobs.values() if job.crawl and job.status == "scraping"]
        return {
            "success": True,
            "crawls": [{"id": job.id, "teamId": "fakes", "url": job.url} for job in scraping],
        }

    async def credit_usage(self, request: Request) -> Answer:  # noqa: ARG002 - all endpoints are called alike
        """Answer ``GET /team/credit-usage``."""
        left, plan = self._account.remaining, self._account.plan_credits
        return {"success": True, "data": {"remainingCredits": left, "planCredits": plan}}

    def _scraper(self, request: Request) -> Scraper:
        return Scraper(Fetching(self._app, request.url.netloc), self._account)

    def _check_credits(self, needed: int) -> None:
        if self._account.remaining < needed:
            raise RefusalError(402, "Insufficient credits to perform this request.")

    def _new_id(self) -> str:
        return str(uuid5(NAMESPACE_URL, f"job {len(self._jobs) + 1}"))

    def _started(self, job: Job, request: Request) -> Answer:
        """Take ``job`` in, unless its idempotency key was used before or is no UUID, as the real one does."""
        key = request.headers.get(IDEMPOTENCY_KEY)
        if key is not None and not (_is_uuid(key) and self._account.claim(key)):
            raise RefusalError(409, "Idempotency key already used")
        self._jobs[job.id] = job
        return {"success": True, "id": job.id, "url": f"{str(request.url).rstrip('/')}/{job.id}"}

    def _job(self, request: Request) -> Job:
        job = self._jobs.get(request.path_params["id"])
        is_batch = "/batch/" in request.url.path
        is_there = job is not None and job.is_kept(self._account.clock.moment())
        if job is None or not is_there or (job.crawl is None) != is_batch:
            raise RefusalError(404, "Job not found")
        return job


def _guarded(endpoint: Callable[[Request], Awaitable[Answer]]) -> Callable[[Request], Awaitable[Response]]:
    """Return ``endpoint`` behind the key check, its refusals turned into answers."""

    async def guarded(request: Request) -> Response:
        if request.headers.get("authorization", f"Bearer {API_KEY}") != f"Bearer {API_KEY}":
            return JSONResponse({"success": False, "error": "Unauthorized: Invalid token"}, 401)
        try:
            return JSONResponse(await endpoint(request))
        except RefusalError as refusal:
            return JSONResponse(refusal.answer, refusal.status, headers=refusal.headers)
        except ValidationError as exc:
            details = exc.errors(include_url=False, include_context=False, include_input=False)
            answer = {"success": False, "code": "BAD_REQUEST", "error": "Bad Request", "details": details}
            return JSONResponse(answer, 400)

    return guarded


def _sorted_out(asked: BatchRequest) -> tuple[list[str], list[str]]:
    """Return the URLs to fetch and, where these may be ignored, those that are none."""
    good: list[str] = []
    bad: list[str] = []
    for url in asked.urls:
        try:
            good.append(whole_url(url))
        except RefusalError:
            if not asked.ignore_invalid_urls:
                raise
            bad.append(url)
    return good, bad


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
