"""What is tried again, what is given up, and what a run says of which nothing could be read."""

from __future__ import annotations

import pytest

from agentic.core.http import FetchError
from agentic.executors import NothingReadError, SourceRefusedError, may_pass, refusal_of


def failure(word: str, *, status: int | None = None, retry_after_s: float | None = None) -> FetchError:
    return FetchError("https://api.example/x", word, "no", status=status, retry_after_s=retry_after_s)


@pytest.mark.parametrize("word", ["timeout", "dns", "connect", "rate_limited", "http_502", "decode"])
def test_what_may_pass_is_no_refusal(word: str) -> None:
    assert refusal_of(failure(word)) is None


@pytest.mark.parametrize("word", ["http_404", "gone", "auth_expired", "private_address", "too_large"])
def test_what_another_try_will_not_mend_is_one(word: str) -> None:
    refused = failure(word, status=404)
    refusal = refusal_of(refused)
    assert refusal is not None
    assert (refusal.refusal, refusal.failure_class, refusal.status) == (refused, word, 404)
    assert str(refusal) == str(refused)
    assert not may_pass(refusal)


def test_a_wait_is_a_refusal_when_it_is_longer_than_the_agent_allows() -> None:
    limited = failure("rate_limited", retry_after_s=90)
    assert refusal_of(limited, 90) is None
    refusal = refusal_of(limited, 89)
    assert refusal is not None
    assert str(refusal).endswith("; that is 90 s, more than max_wait_s")
    assert refusal.retry_after_s == 90


def test_a_refusal_may_say_what_to_do() -> None:
    assert str(SourceRefusedError(failure("http_400"), "; correct the query")).endswith(
        "no; correct the query"
    )


@pytest.mark.parametrize(
    ("count", "noun", "sentence"),
    [
        (1, "users", "it could not be read: gone"),
        (2, "users", "none of 2 users could be read; the first one: gone"),
        (2, "", "none of 2 could be read; the first one: gone"),
    ],
)
def test_a_run_of_which_nothing_was_read_names_the_first_reason(count: int, noun: str, sentence: str) -> None:
    error = NothingReadError(count, "gone", noun)
    assert (str(error), error.count, error.noun) == (sentence, count, noun)
