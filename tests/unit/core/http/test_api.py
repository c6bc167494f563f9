"""Asking an API for JSON of a known shape."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest
from pydantic import TypeAdapter

from agentic.core.http import (
    AccountBudget,
    ApiSettings,
    Fetcher,
    FetchError,
    Headers,
    HttpPolicy,
    HttpRequest,
    HttpResponse,
    JsonApi,
    ProcessBudget,
    UnexpectedAnswerError,
)
from agentic.core.http.failures import Verdict, failure_of

NUMBERS = TypeAdapter(list[int])


class Script:
    """Answers everything with one body, and notes the requests."""

    def __init__(self, body: bytes, verdict: Verdict = failure_of) -> None:
        self.body = body
        self.verdict = verdict
        self.sent: list[HttpRequest] = []

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.sent.append(request)
        return HttpResponse(url=request.url, status=200, headers=Headers(), body=self.body)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Fetcher]:
        policy = HttpPolicy(obey_robots=False)
        yield Fetcher(policy, self, budget=ProcessBudget(), verdict=self.verdict)


@pytest.mark.parametrize(
    ("path", "url"),
    [("a/b?c=1", "https://api.test/v1/a/b?c=1"), ("https://api.test/other", "https://api.test/other")],
)
async def test_a_path_stands_below_the_root_and_a_url_for_itself(path: str, url: str) -> None:
    script = Script(b"[1, 2]")
    api = JsonApi("Numbers", "https://api.test/v1/", script.connect, {"Accept": "application/json"})
    assert await api.get(path, NUMBERS) == [1, 2]
    assert script.sent == [HttpRequest(url=url, headers={"Accept": "application/json"})]


@pytest.mark.parametrize("body", [b'{"a": 1}', b'["one"]', b"null"])
async def test_an_answer_of_another_shape_names_service_address_and_fault_but_no_value(body: bytes) -> None:
    api = JsonApi("Numbers", "https://api.test", Script(body).connect)
    with pytest.raises(
        UnexpectedAnswerError, match=r"did not answer as Numbers does: .*check base_url"
    ) as caught:
        await api.get("x?key=secret", NUMBERS)
    assert (caught.value.failure_class, caught.value.url) == ("schema_invalid", "https://api.test/x")
    assert "one" not in str(caught.value)


async def test_what_is_no_json_is_a_failed_fetch() -> None:
    with pytest.raises(FetchError, match="decode"):
        await JsonApi("Numbers", "https://api.test", Script(b"<html>").connect).get("x", NUMBERS)


async def test_a_fetcher_takes_the_word_of_its_verdict_for_what_is_a_failure() -> None:
    def never_well(request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
        return (
            FetchError(response.url, "quota_exhausted", "said the body")
            if b"spent" in response.body
            else None
        )

    with pytest.raises(FetchError, match="quota_exhausted"):
        await JsonApi("Numbers", "https://api.test", Script(b'"spent"', never_well).connect).ask("x")


def test_settings_of_an_api_ask_no_robots_and_one_request_at_a_time() -> None:
    policy = ApiSettings(base_url="https://api.test", timeout_s=3, requests_per_second=2).policy()
    assert (policy.obey_robots, policy.max_connections_per_host) == (False, 1)
    assert (policy.timeout_s, policy.requests_per_second) == (3, 2)


async def test_an_account_neither_waits_for_another_nor_makes_it_wait() -> None:
    shared = ProcessBudget(clock=lambda: 100.0)
    one, same, other = (AccountBudget(shared, name) for name in ("a", "a", "b"))
    await one.block("api.test:443", 60)
    assert (await same.take("api.test:443", 0)).blocked_s == 60
    assert (await other.take("api.test:443", 0)).wait_s == 0
    assert (await shared.take("api.test:443", 0)).wait_s == 0
