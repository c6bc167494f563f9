"""A Hacker News that lives in a dictionary."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from agentic.core.http import Fetcher, FetchError, HttpRequest, HttpResponse
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.settings import HackerNewsSettings


@dataclass(slots=True)
class ScriptedApi:
    """Answers each path with its JSON, or raises what stands there; notes what was asked.

    ``failures`` come first, one for each time that a path is asked for.
    """

    answers: dict[str, object] = field(default_factory=dict)
    failures: dict[str, list[FetchError]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        path = urlsplit(request.url).path.removeprefix("/v0/")
        self.asked.append(path)
        if left := self.failures.get(path):
            raise left.pop(0)
        answer = self.answers.get(path)
        if isinstance(answer, FetchError):
            raise answer
        return HttpResponse(
            url=request.url,
            status=200,
            headers={"content-type": "application/json"},
            body=json.dumps(answer).encode(),
        )

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Fetcher]:
        yield Fetcher(HackerNewsSettings().policy(), self)


def failure(word: str, retry_after_s: float | None = None) -> FetchError:
    """Make a failure of that class."""
    return FetchError("https://hn.test/v0/x", word, "no", retry_after_s=retry_after_s)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.001)


@pytest.fixture
def api() -> ScriptedApi:
    return ScriptedApi()


@pytest.fixture
def client(api: ScriptedApi) -> HackerNewsClient:
    return HackerNewsClient("https://hn.test/v0/", api.connect)


@pytest.fixture
def story() -> Callable[..., dict[str, object]]:
    """Make a story as the API gives it; keywords change or add fields."""

    def make(item_id: int, **fields: object) -> dict[str, object]:
        return {
            "by": "pg",
            "descendants": 2,
            "id": item_id,
            "kids": [item_id + 1000],
            "score": 10,
            "time": 1_700_000_000,
            "title": f"Story {item_id}",
            "type": "story",
            "url": f"https://example.org/{item_id}",
            **fields,
        }

    return make
