"""A crawl at the service: begin it, poll it, end it, fetch its pages.

This does not use the client's own waiting and paging: it would occupy a worker for hours, and if a page of
results fails, it returns the results so far as if they were complete.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast
from urllib.parse import quote

from agentic.core.actors import ActorError
from agentic.core.http import canonical_url
from agentic.core.masking import mask_known
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.client import Firecrawl
from agentic.plugins.firecrawl.documents import Document, plain
from agentic.plugins.firecrawl.failures import CODES

FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 15.0
SHARE = 0.25  # of the crawl's time so far; such a delay is hardly noticed

CONFLICT = 409
KEY_HEADER = "x-idempotency-key"

Status = Literal["scraping", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Job:
    """A crawl: its id, and the Unix time of its start."""

    id: str
    begun_at: float

    @classmethod
    def read(cls, kept: JSONValue) -> Job:
        """Read the result of :func:`begin`."""
        told = cast(Mapping[str, Any], kept)
        return cls(str(told["id"]), float(told["begun_at"]))

    def kept(self) -> JSONValue:
        """Return the form that :meth:`read` reads."""
        return {"id": self.id, "begun_at": self.begun_at}

    @property
    def path(self) -> str:
        """Its path at the service."""
        return f"/v2/crawl/{quote(self.id, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The progress of a crawl, and some of its pages.

    Attributes:
        status: As reported by the service.
        completed: Finished pages.
        total: Pages known so far.
        credits: Spent credits.
        documents: The first pages, or the pages ``following`` an earlier state.
        following: Address of more; a running crawl always has one.
    """

    status: Status
    completed: int
    total: int
    credits: int
    documents: tuple[Document, ...]
    following: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageError:
    """A page that the service could not fetch."""

    url: str
    failure_class: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The results of a crawl."""

    documents: tuple[Document, ...]
    errors: tuple[PageError, ...]
    robots_blocked: tuple[str, ...]
    credits: int


def pause_s(elapsed_s: float, deadline_s: float) -> float:
    """Return the seconds until the next poll of a crawl: they grow with its duration.

    Args:
        elapsed_s: Since its start.
        deadline_s: When to end it, also since its start.
    """
    grown_s = min(max(SHARE * elapsed_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
    return max(min(grown_s, deadline_s - elapsed_s), 0.0)


async def begin(service: Firecrawl, url: str, options: Mapping[str, object], key: str | None) -> JSONValue:
    """Begin a crawl and return the data to remember.

    Args:
        service: Crawls.
        url: Where to begin.
        options: Keywords of the client's ``start_crawl``.
        key: A UUID, so that the service recognises a second request for the same crawl; it then begins none,
            and the first one is searched for among the running crawls.

    Raises:
        ActorError: The answer did not come, it is a refusal, or the first crawl cannot be found.
    """
    try:
        begun = await service.ask(f"start the crawl of {safe_url(url)}", partial(_start, url, options, key))
    except ActorError as exc:
        if exc.status != CONFLICT:
            raise
        return _remembered(await _begun_before(service, url))
    return _remembered(str(begun.id))


def _start(url: str, options: Mapping[str, object], key: str | None, client: Any) -> Any:  # noqa: ANN401 - the library is not typed
    if key is not None:  # the client cannot send it for a crawl
        client.async_http_client._client.headers[KEY_HEADER] = key
    return client.start_crawl(url, **options)


def _remembered(job_id: str) -> JSONValue:
    return Job(job_id, time.time()).kept()


async def _begun_before(service: Firecrawl, url: str) -> str:
    """Return the id of a crawl that has begun, but the answer was lost.

    Raises:
        ActorError: It has ended, or there are several for that address.
    """
    active = await service.ask("list running crawls", lambda client: client.get_active_crawls())
    found = [str(crawl.id) for crawl in active.crawls if canonical_url(crawl.url) == canonical_url(url)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} crawls of that address are running there" if found else "it is no longer running"
    message = (
        f"a crawl of {safe_url(url)} was started before, but its id was lost: {what}; look for it among "
        "the activities of the service, or run the pipeline again, which starts another"
    )
    raise ActorError(message, failure_class="error", status=CONFLICT)


async def look(service: Firecrawl, job: Job) -> State:
    """Return the state of a crawl.

    Raises:
        ActorError: The service no longer has it (``gone``), or does not answer.
    """
    try:
        return await _state(service, job.path)
    except ActorError as exc:
        if exc.status != 404:
            raise
        message = f"Firecrawl no longer has the crawl {job.id}: it keeps results for a day; crawl again"
        raise ActorError(message, failure_class="gone", status=404) from exc


async def end(service: Firecrawl, job: Job) -> bool:
    """End a crawl; return False if it had completed before."""
    return bool(await service.ask(f"cancel the crawl {job.id}", lambda client: client.cancel_crawl(job.id)))


async def collect(service: Firecrawl, job: Job, state: State, max_pages: int) -> Found:
    """Return the results of a completed crawl.

    Args:
        service: Has the crawl.
        job: The crawl.
        state: Its first pages.
        max_pages: Maximum number of pages.
    """
    documents, following = [*state.documents], state.following
    while following is not None and len(documents) < max_pages:
        more = await _state(service, following)
        if not more.documents:
            break
        documents += more.documents
        following = more.following
    told = await service.ask(
        f"list the errors of the crawl {job.id}", lambda client: client.get_crawl_errors(job.id)
    )
    return Found(
        documents=tuple(documents[:max_pages]),
        errors=tuple(_error(error) for error in told.errors),
        robots_blocked=tuple(told.robots_blocked),
        credits=state.credits,
    )


async def _state(service: Firecrawl, address: str) -> State:
    """Return the state at an address; the client always requests it at the service, for any host in it."""
    found = await service.ask("report the status of the crawl", partial(_page, address=address))
    return State(
        status=found.status,
        completed=found.completed,
        total=found.total,
        credits=found.credits_used,
        documents=tuple(map(plain, found.data)),
        following=found.next,
    )


async def _page(client: Any, address: str) -> Any:  # noqa: ANN401 - the library is not typed
    return await client.get_crawl_status_page(address)


def _error(error: Any) -> PageError:  # noqa: ANN401 - the library is not typed
    word = CODES.get(str(error.code), "error")
    return PageError(url=error.url, failure_class=word, message=mask_known(str(error.error))[:200])
