"""A Reddit that lives in a dictionary."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from pydantic import SecretStr

from agentic.core.http import Fetcher, Headers, HttpRequest, HttpResponse, MemoryCache, ProcessBudget
from agentic.core.types import JSONValue
from agentic.plugins.reddit.client import RedditClient, api_client
from agentic.plugins.reddit.judging import RedditVerdict
from agentic.plugins.reddit.settings import RedditSettings

API, SITE, ARCHIVE = "https://api.test", "https://site.test", "https://archive.test"
TOKEN = f"{SITE}/api/v1/access_token"
NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
LOGIN: dict[str, JSONValue] = {
    "client_id": "app",
    "client_secret": "${secrets.reddit}",
    "contact": "ada",
    "base_url": API,
    "api_url": SITE,
    "feed_url": SITE,
    "archive_url": ARCHIVE,
}


@dataclass(slots=True)
class ScriptedApi:
    """Answers each address, query left out, with what waits there, the last answer for ever."""

    answers: dict[str, list[HttpResponse]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    bodies: list[dict[str, str]] = field(default_factory=list)
    budget: ProcessBudget = field(default_factory=ProcessBudget)

    def put(self, url: str, content: object, status: int = 200, **headers: str) -> None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        answer = HttpResponse(
            url=url,
            status=status,
            headers=Headers({"content-type": "application/json", **fields}.items()),
            body=body,
        )
        self.answers.setdefault(url, []).append(answer)

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        parts = urlsplit(request.url)
        url = f"{parts.scheme}://{parts.netloc}{parts.path}"
        self.asked.append((url, dict(parse_qsl(parts.query))))
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.bodies.append(dict(parse_qsl((request.body or b"").decode())))
        waiting = self.answers[url]
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def urls(self) -> list[str]:
        return [url for url, _ in self.asked]

    def client(self, **config: JSONValue) -> RedditClient:
        """Make a client; keywords are an agent's config."""
        settings = RedditSettings.model_validate({**LOGIN, **config})

        @asynccontextmanager
        async def connect() -> AsyncIterator[Fetcher]:
            policy = settings.policy()
            yield Fetcher(policy, self, budget=self.budget, cache=MemoryCache(), verdict=RedditVerdict())

        async def secret(name: str) -> SecretStr:
            return SecretStr(f"{name}-value\n")

        return api_client(settings, connect, secret, lambda: NOW)


@pytest.fixture
def api() -> ScriptedApi:
    """An API that gives tokens."""
    made = ScriptedApi()
    made.put(TOKEN, {"access_token": "one", "token_type": "bearer", "expires_in": 86_400, "scope": "*"})
    made.put(TOKEN, {"access_token": "two", "token_type": "bearer", "expires_in": 86_400, "scope": "*"})
    return made


def listing(*data: Mapping[str, object], after: str | None = None, kind: str = "t3") -> dict[str, object]:
    children = [{"kind": kind, "data": one} for one in data]
    return {"kind": "Listing", "data": {"after": after, "children": children}}
