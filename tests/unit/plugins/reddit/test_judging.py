"""Limits and refusals: which is which, what they name, and how long to wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from agentic.core.http import FetchError, Headers, HttpRequest, HttpResponse, HttpSession
from agentic.core.masking import MASK, remember_secrets
from agentic.plugins.reddit.judging import MESSAGE_LIMIT, RedditVerdict, place_of, rest_s

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
SESSION = HttpSession(name="reddit/app")
URL = "https://oauth.test/r/vault/new?limit=5"


def refusal(
    status: int,
    content: object = None,
    *,
    verdict: RedditVerdict | None = None,
    url: str = URL,
    session: HttpSession | None = SESSION,
    fields: Mapping[str, str] | None = None,
) -> FetchError:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    given = {"content-type": "application/json", **(fields or {})}
    response = HttpResponse(url=url, status=status, headers=Headers(given.items()), body=body)
    request = HttpRequest(url=url, headers={"accept": "application/json"}, session=session)
    found = (verdict or RedditVerdict())(request, response, NOW)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("status", "reason", "advice"),
    [
        (403, "private", "only its members may read it"),
        (403, "quarantined", "the account must opt in"),
        (404, "banned", "it is gone; remove it from the agent's config"),
        (403, "something_new", "access is forbidden"),
    ],
)
def test_what_is_closed_is_named_with_reddits_reason(status: int, reason: str, advice: str) -> None:
    # Nothing is left, too, but that is not why.
    fields = {"x-ratelimit-remaining": "0"}
    found = refusal(status, {"reason": reason, "message": "Forbidden", "error": status}, fields=fields)
    assert found.failure_class == f"http_{status}"
    assert f"Reddit answered {status} for r/vault: {reason}; {advice}" in str(found)
    assert "limit=5" not in str(found)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/r/a+b/new", "r/a+b"),
        ("/reddit/oauth/user/ada-1/submitted", "u/ada-1"),
        ("/comments/abc", "post abc"),
        ("/api/info", ""),
    ],
)
def test_an_address_says_what_it_is_about(path: str, place: str) -> None:
    assert place_of(f"https://oauth.test{path}?x=/r/other") == place


def test_a_limit_lasts_as_long_as_it_says() -> None:
    found = refusal(429, {"message": "Too Many Requests"}, fields={"retry-after": "7"})
    assert (found.failure_class, found.retry_after_s, found.detail) == ("rate_limited", 7, "account")


def test_a_limit_that_is_used_up_lasts_until_its_window_ends() -> None:
    fields = {"x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "311"}
    assert refusal(429, {}, fields=fields).retry_after_s == 311


def test_a_limit_that_does_not_say_lasts_a_minute_and_then_twice_as_long() -> None:
    verdict, fields = RedditVerdict(), {"x-ratelimit-remaining": "55.0", "x-ratelimit-reset": "600"}
    waits = [refusal(429, {}, verdict=verdict, fields=fields).retry_after_s for _ in range(8)]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    fine = HttpResponse(url=URL, status=200, headers=Headers(), body=b"{}")
    assert verdict(HttpRequest(url=URL), fine, NOW) is None
    assert refusal(429, {}, verdict=verdict).retry_after_s == 60


@pytest.mark.parametrize(
    ("fields", "wait_s"),
    [
        ({"x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "30"}, 30),
        ({"x-ratelimit-remaining": "0.9", "x-ratelimit-reset": "30"}, 30),
        ({"x-ratelimit-remaining": "0"}, 60),
        ({"x-ratelimit-remaining": "1.0", "x-ratelimit-reset": "30"}, 0),
        ({"x-ratelimit-remaining": "many"}, 0),
        ({}, 0),
    ],
)
def test_rest_is_due_when_not_one_request_is_left(fields: Mapping[str, str], wait_s: float) -> None:
    assert rest_s(Headers(fields.items()), NOW) == wait_s


def test_a_page_in_place_of_json_is_a_wall_and_says_which_ways_are_open() -> None:
    found = refusal(403, b"<html></html>", session=None, fields={"content-type": "text/html"})
    assert (found.failure_class, found.detail) == ("blocked", "html_for_json")
    assert "modes feed and archive need none" in str(found)


def test_a_refusal_that_says_nothing_is_judged_as_any_sites_is() -> None:
    assert refusal(502, b"oops").failure_class == "http_502"
    assert refusal(404, b"").failure_class == "http_404"


@pytest.mark.requirement("PL41")
@pytest.mark.parametrize("field", ["reason", "message"])
def test_of_a_token_at_the_end_of_a_long_message_no_part_is_left(field: str) -> None:
    remember_secrets("minted-7d-zebra")
    said = str(refusal(403, {field: "x" * (MESSAGE_LIMIT - 8) + "minted-7d-zebra"}))
    assert "x" + MASK[:8] in said
    assert "minted" not in said
