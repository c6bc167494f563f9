"""Feeds that live in a dictionary."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agentic.core.http import Fetcher, Headers, HttpRequest, HttpResponse, ProcessBudget
from agentic.plugins.feed.client import FeedClient
from agentic.plugins.feed.settings import FeedSettings

RSS = """<rss version="2.0"><channel><title>{title}</title><link>http://blog.test/</link>
<item><title>One</title><guid>1</guid><link>http://blog.test/1</link></item>
<item><title>Two</title><guid>2</guid><link>http://blog.test/2</link></item></channel></rss>"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ScriptedSites:
    """Answers each URL with what stands there, else with a feed; notes what was asked."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.asked.append(request)
        title = request.url.rpartition("/")[2]
        answer = self.answers.get(request.url, Answer(RSS.format(title=title).encode()))
        headers = Headers([("content-type", "application/rss+xml"), *answer.headers.items()])
        return HttpResponse(url=request.url, status=answer.status, headers=headers, body=answer.body)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Fetcher]:
        policy = FeedSettings(opml="-", obey_robots=False).policy()
        yield Fetcher(policy, self, budget=ProcessBudget())

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.asked]


@pytest.fixture
def sites() -> ScriptedSites:
    return ScriptedSites()


@pytest.fixture
def client(sites: ScriptedSites) -> FeedClient:
    return FeedClient(sites.connect)
