"""A GitHub that lives in a dictionary."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agentic.core.http import Fetcher, Headers, HttpRequest, HttpResponse, MemoryCache, ProcessBudget
from agentic.plugins.github.client import GithubClient
from agentic.plugins.github.judging import GithubVerdict
from agentic.plugins.github.settings import GithubSettings

BASE = "https://github.test"


@dataclass(slots=True)
class ScriptedApi:
    """Answers each path, query included, with what stands there; notes what was asked, and with what."""

    answers: dict[str, HttpResponse] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def put(self, path: str, content: object, status: int = 200, **headers: str) -> None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = HttpResponse(
            url=f"{BASE}/{path}",
            status=status,
            headers=Headers({"content-type": "application/json", **fields}.items()),
            body=json.dumps(content).encode(),
        )

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        path = request.url.removeprefix(f"{BASE}/")
        self.asked.append(path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return self.answers[path]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Fetcher]:
        policy = GithubSettings(repos=("o/n",)).policy()
        budget = ProcessBudget()
        yield Fetcher(policy, self, budget=budget, cache=MemoryCache(), verdict=GithubVerdict(BASE))


@pytest.fixture
def api() -> ScriptedApi:
    return ScriptedApi()


@pytest.fixture
def client(api: ScriptedApi) -> GithubClient:
    return GithubClient(BASE, api.connect)


@pytest.fixture
def repo() -> Callable[..., dict[str, object]]:
    """Make a repository as the API gives it; keywords change or add fields."""

    def make(full_name: str = "o/n", **fields: object) -> dict[str, object]:
        return {"id": 7, "full_name": full_name, "stargazers_count": 3, **fields}

    return make
