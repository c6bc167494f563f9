"""Answers of servers of models become errors, without secrets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.llm import ModelError, OverloadedError, QuotaExhaustedError, RateLimitedError
from agentic.core.llm.adapting import failure_of, parse_failure, read_failure
from agentic.core.llm.adapting.failures import MAX_FAILURE_BYTES

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(
    status=st.sampled_from([0, 301, 400, 401, 404, 418, 429, 500, 502, 503, 529, 599]),
    body=st.text(max_size=60)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "message", "code", "type", "details", "detail"]), inner
            )
        ),
    ).map(json.dumps),
)
def test_any_body_of_any_status_is_an_error_of_models(status: int, body: str) -> None:
    error = failure_of("acme:m", parse_failure(status, {"Retry-After": "x"}, body), now=NOW)
    assert isinstance(error, ModelError)
    assert str(error).startswith("acme:m ")
    assert len(str(error)) < 900


@pytest.mark.parametrize("value", ["9" * 30, "-5", "soon", "1e3", "", "٣"])
def test_a_wait_that_makes_no_sense_is_none_or_a_day(value: str) -> None:
    for name in ("Retry-After", "retry-after-ms"):
        error = failure_of("acme:m", parse_failure(429, {name: value}, "{}"), now=NOW)
        assert error.retry_after_s in (None, 86_400.0)


def test_a_date_in_the_past_means_now() -> None:
    headers = {"Retry-After": "Mon, 01 Dec 2025 00:00:00 GMT"}
    assert failure_of("acme:m", parse_failure(503, headers, ""), now=NOW).retry_after_s == 0


def test_google_names_the_delay_and_the_quota_in_the_body() -> None:
    def body(quota: str) -> str:
        details = [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ]
        error = {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details": details}
        return json.dumps([{"error": error}])

    minute = failure_of("google:m", parse_failure(429, {}, body("RequestsPerMinutePerProject")), now=NOW)
    assert (type(minute), minute.retry_after_s) == (RateLimitedError, 34.5)
    day = failure_of("google:m", parse_failure(429, {}, body("RequestsPerDayPerProject")), now=NOW)
    assert (type(day), day.retry_after_s) == (QuotaExhaustedError, None)


def test_secrets_and_long_pages_do_not_come_through() -> None:
    answer = parse_failure(500, {}, "<html>" + "key-1234567 " * 500)
    error = failure_of("acme:m", answer, secrets=("key-1234567",), now=NOW)
    assert isinstance(error, OverloadedError)
    assert "key-1234567" not in str(error)
    assert len(error.reason) < 600


def test_a_very_long_body_is_a_failure_of_the_model() -> None:
    answer = parse_failure(500, {}, "x" * 5_000_000)
    assert isinstance(failure_of("some:model", answer), OverloadedError)


async def test_the_body_of_a_failure_is_read_up_to_a_limit() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 64 * 1024

    assert len(await read_failure(endless())) == MAX_FAILURE_BYTES
    assert sent == MAX_FAILURE_BYTES // (64 * 1024)
