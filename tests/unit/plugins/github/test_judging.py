"""Limits and refusals: which is which, and how long to wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from agentic.core.http import FetchError, Headers, HttpRequest, HttpResponse, HttpSession
from agentic.core.masking import MASK, remember_secrets
from agentic.plugins.github.judging import MESSAGE_LIMIT, GithubVerdict, resource_of

BASE = "https://api.test"
NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


def refusal(
    status: int,
    message: object = "No",
    *,
    verdict: GithubVerdict | None = None,
    session: HttpSession | None = None,
    fields: Mapping[str, str] | None = None,
    url: str = "https://api.test/x?q=1",
) -> FetchError:
    content = message if isinstance(message, dict) else {"message": message}
    response = HttpResponse(
        url=url,
        status=status,
        headers=Headers({"content-type": "application/json", **(fields or {})}.items()),
        body=json.dumps(content).encode(),
    )
    found = (verdict or GithubVerdict(BASE))(HttpRequest(url=response.url, session=session), response, NOW)
    assert found is not None
    return found


@pytest.mark.parametrize("status", [403, 429])
def test_the_primary_limit_lasts_until_its_reset(status: int) -> None:
    reset = str(int(NOW.timestamp()) + 90)
    found = refusal(
        status, "API rate limit exceeded", fields={"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    )
    assert (found.failure_class, found.retry_after_s, found.detail) == ("rate_limited", 90, "host")


@pytest.mark.parametrize(
    ("resource", "detail"), [("search", "resource"), ("core", "host"), ("", "host"), ("graphql", "host")]
)
def test_the_primary_limit_is_that_of_the_resource_it_names(resource: str, detail: str) -> None:
    left = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp()) + 90)}
    fields = {**left, **({"x-ratelimit-resource": resource} if resource else {})}
    url = "https://api.test/search/issues?q=1"
    assert refusal(403, "API rate limit exceeded", url=url, fields=fields).detail == detail


def test_a_secondary_limit_is_that_of_everything() -> None:
    fields = {"x-ratelimit-remaining": "5", "x-ratelimit-resource": "search"}
    url = "https://api.test/search/issues?q=1"
    session = HttpSession(name="token")
    assert refusal(403, SECONDARY, url=url, session=session, fields=fields).detail == "account"


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("https://api.test/search/issues?q=1", "search"),
        ("https://api.test/repos/o/search/issues", "core"),
        ("https://elsewhere.test/search/issues", "core"),
    ],
)
def test_searches_are_a_resource_of_their_own(url: str, resource: str) -> None:
    assert resource_of("https://api.test/", url) == resource


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_lasts_as_long_as_it_says(status: int) -> None:
    found = refusal(status, SECONDARY, fields={"retry-after": "7", "x-ratelimit-remaining": "50"})
    assert (found.failure_class, found.retry_after_s) == ("rate_limited", 7)


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_that_does_not_say_lasts_a_minute_and_then_twice_as_long(status: int) -> None:
    verdict = GithubVerdict(BASE)
    far_off = str(int(NOW.timestamp()) + 3000)
    fields = {"x-ratelimit-remaining": "50", "x-ratelimit-reset": far_off}
    waits = [refusal(status, SECONDARY, verdict=verdict, fields=fields).retry_after_s for _ in range(8)]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]


def test_an_answer_in_between_lets_the_waits_begin_anew() -> None:
    verdict = GithubVerdict(BASE)
    refusal(403, SECONDARY, verdict=verdict)
    fine = HttpResponse(url="https://api.test/x", status=200, headers=Headers(), body=b"{}")
    assert verdict(HttpRequest(url=fine.url), fine, NOW) is None
    assert refusal(403, SECONDARY, verdict=verdict).retry_after_s == 60


def test_a_403_that_is_no_limit_says_what_it_is_for() -> None:
    session = HttpSession(name="token")
    found = refusal(403, "Resource not accessible by personal access token", session=session)
    assert (found.failure_class, found.retry_after_s) == ("http_403", None)
    assert "Resource not accessible by personal access token; give the agent a token" in str(found)


@pytest.mark.parametrize(
    ("status", "word", "advice"),
    [
        (404, "http_404", "private and not visible to this token"),
        (410, "gone", "disabled in the repository"),
        (422, "http_422", "correct the query"),
        (451, "http_451", "blocked for legal reasons"),
        (401, "auth_required", "a valid token"),
    ],
)
def test_refusals_are_the_projects_failure_classes_with_what_github_says(
    status: int, word: str, advice: str
) -> None:
    found = refusal(status, "Said so")
    assert (found.failure_class, found.status) == (word, status)
    assert f"GitHub answered {status}: Said so; " in str(found)
    assert advice in str(found)
    assert "?q=1" not in str(found)


def test_a_token_that_has_ended_is_told_from_one_that_is_missing() -> None:
    assert refusal(401, "Bad credentials", session=HttpSession(name="t")).failure_class == "auth_expired"


def test_a_refused_query_says_what_is_wrong_with_it() -> None:
    errors = [{"message": "The search is longer than 256 characters.", "field": "q"}, "odd"]
    found = refusal(422, {"message": "Validation Failed", "errors": errors})
    assert "Validation Failed The search is longer than 256 characters.; correct the query" in str(found)


@pytest.mark.parametrize("body", [b"<html>oops</html>", b"[]", b'{"message": 7}', b""])
def test_a_refusal_that_says_nothing_is_judged_as_any_sites_is(body: bytes) -> None:
    response = HttpResponse(url="https://api.test/x", status=502, headers=Headers(), body=body)
    found = GithubVerdict(BASE)(HttpRequest(url=response.url), response, NOW)
    assert found is not None
    assert (found.failure_class, "502 Bad Gateway" in str(found)) == ("http_502", True)


@pytest.mark.requirement("PL41")
def test_of_a_token_at_the_end_of_a_long_message_no_part_is_left() -> None:
    remember_secrets("ghp_hush7dzebra")
    said = str(refusal(403, "x" * (MESSAGE_LIMIT - 8) + "ghp_hush7dzebra"))
    assert "x" + MASK[:8] in said
    assert "ghp_" not in said
