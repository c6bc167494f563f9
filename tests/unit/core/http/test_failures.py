from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from agentic.core.http import FetchError, Headers, HttpRequest, HttpResponse, HttpSession
from agentic.core.http.errors import reason_in
from agentic.core.http.failures import failure_of, retry_after_s

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
PAGE = HttpRequest(url="http://h/p")
KNOWN = HttpRequest(url="http://h/p", session=HttpSession(name="me"))
API = HttpRequest(url="http://h/p", headers={"Accept": "application/json"})


def answer(status: int, **headers: str) -> HttpResponse:
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return HttpResponse(url="http://h/p", status=status, headers=Headers(fields), body=b"")


def failure_class(request: HttpRequest, response: HttpResponse) -> str:
    failure = failure_of(request, response, NOW)
    assert failure is not None
    return failure.failure_class


@pytest.mark.parametrize("status", [100, 101, 199])
def test_an_interim_answer_is_no_page(status: int) -> None:
    assert failure_class(PAGE, answer(status)) == f"http_{status}"


@pytest.mark.parametrize("status", [200, 204, 304, 399])
def test_an_answer_below_400_is_no_failure(status: int) -> None:
    assert failure_of(PAGE, answer(status), NOW) is None


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer(404), "http_404"),
        (answer(500), "http_500"),
        (answer(503), "http_503"),
        (answer(599), "http_599"),
        (answer(429), "rate_limited"),
        (answer(503, retry_after="2"), "rate_limited"),
        (answer(403, x_ratelimit_remaining="0"), "rate_limited"),
        (answer(403, x_ratelimit_remaining="7"), "http_403"),
        (answer(403, cf_mitigated="challenge"), "blocked"),
        (answer(403, content_type="text/html"), "http_403"),
        (answer(401), "auth_required"),
        (answer(402), "http_402"),
        (answer(410), "gone"),
    ],
)
def test_an_answer_from_400_on_has_a_failure_class(response: HttpResponse, expected: str) -> None:
    assert failure_class(PAGE, response) == expected


def test_a_plain_refusal_names_what_may_help() -> None:
    failure = failure_of(PAGE, answer(403), NOW)
    assert failure is not None
    assert str(failure).endswith("the page may need a login or a browser, or the site refuses crawlers")


def test_html_in_place_of_json_with_a_403_means_blocked() -> None:
    assert failure_class(API, answer(403, content_type="text/html; charset=utf-8")) == "blocked"
    assert failure_class(API, answer(403, content_type="application/json")) == "http_403"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_to_a_login_means_that_it_has_ended(status: int) -> None:
    failure = failure_of(KNOWN, answer(status), NOW)
    assert failure is not None
    assert (failure.failure_class, failure.status) == ("auth_expired", status)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer(403, x_ratelimit_remaining="0"), "rate_limited"),
        (answer(403, cf_mitigated="challenge"), "blocked"),
        (answer(404), "http_404"),
    ],
)
def test_a_login_changes_nothing_about_limits_and_walls(response: HttpResponse, expected: str) -> None:
    assert failure_class(KNOWN, response) == expected


@pytest.mark.parametrize(
    ("request_", "response", "detail"),
    [
        (PAGE, answer(429), "host"),
        (KNOWN, answer(429), "account"),
        (HttpRequest(url="http://h/", headers={"Authorization": "x"}), answer(429), "account"),
        (PAGE, answer(200, cf_mitigated="challenge"), "challenge"),
        (API, answer(403, content_type="text/html"), "html_for_json"),
        (PAGE, answer(500), ""),
    ],
)
def test_a_failure_says_whom_it_concerns_or_what_blocks(
    request_: HttpRequest, response: HttpResponse, detail: str
) -> None:
    failure = failure_of(request_, response, NOW)
    assert failure is not None
    assert failure.detail == detail
    assert not detail or detail in str(failure)


def test_a_challenge_with_status_200_is_no_page() -> None:
    html = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    wall = HttpResponse(
        url="http://h/", status=200, headers=Headers([("Content-Type", "text/html")]), body=html
    )
    failure = failure_of(PAGE, wall, NOW)
    assert failure is not None
    assert (failure.failure_class, failure.detail, failure.status) == ("blocked", "challenge", 200)


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("90", 90.0),
        ("58.3", 58.3),
        (str(int(NOW.timestamp()) + 120), 120.0),
        (str(int(NOW.timestamp()) - 120), 0.0),
        ("2026-01-01T12:05:00.000Z", 300.0),
        ("9" * 12, 86_400.0),
        ("soon", None),
        ("-1", None),
        ("", None),
    ],
)
def test_without_retry_after_the_end_of_the_limit_says_when(reset: str, seconds: float | None) -> None:
    failure = failure_of(PAGE, answer(429, x_ratelimit_reset=reset), NOW)
    assert failure is not None
    assert failure.retry_after_s == seconds


def test_retry_after_counts_before_the_end_of_the_limit() -> None:
    failure = failure_of(PAGE, answer(429, retry_after="5", x_ratelimit_reset="90"), NOW)
    assert failure is not None
    assert failure.retry_after_s == 5


def test_the_end_of_a_limit_not_reached_says_nothing() -> None:
    failure = failure_of(PAGE, answer(500, x_ratelimit_reset="90"), NOW)
    assert failure is not None
    assert failure.retry_after_s is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("Thu, 01 Jan 2026 13:02:00 +0100", 120.0),
        ("9" * 500, 86_400.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 86_400.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float) -> None:
    assert retry_after_s(Headers([("Retry-After", value)]), NOW) == seconds


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5", "٣", "Thu, 99 Jan 2026"])
def test_a_retry_after_that_says_nothing_is_none(value: str) -> None:
    assert retry_after_s(Headers([("Retry-After", value)]), NOW) is None


def test_a_fetch_error_keeps_its_facts_between_processes() -> None:
    error = FetchError("http://h/", "rate_limited", "slow", status=429, retry_after_s=3.0, detail="host")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.__dict__) == (str(error), error.__dict__)


@pytest.mark.requirement("PL41")
def test_a_fetch_error_shows_no_password_and_no_query() -> None:
    error = FetchError("https://me:hunter2@h/p?token=hunter2", "http_500", "the server answered 500")
    assert "hunter2" not in f"{error} {error.__dict__}"
    assert error.url == "https://h/p"


@pytest.mark.parametrize("path", ["a", "a?page=2", "a" * 3_000])
@pytest.mark.parametrize("detail", ["", "captcha"])
def test_a_reason_is_told_without_the_url_and_class_that_stand_beside_it(path: str, detail: str) -> None:
    url = f"https://shop.example/{path}"
    error = FetchError(url, "blocked", "it wants (so it says): a sign", detail=detail)
    assert reason_in(str(error), url) == "it wants (so it says): a sign"


@pytest.mark.parametrize(
    "message", ["", "field 'price': nothing fits", "https://other.example/ was not fetched (dns): no address"]
)
def test_other_messages_are_told_as_they_are(message: str) -> None:
    assert reason_in(message, "https://shop.example/a") == message
