from __future__ import annotations

import pytest

from agentic.core.http import Headers, HttpRequest, HttpResponse, InvalidUrlError
from agentic.core.http.redirects import next_request
from agentic.core.masking import remember_secrets


def redirect(status: int, location: str) -> HttpResponse:
    return HttpResponse(
        url="http://h/a/b", status=status, headers=Headers([("Location", location)]), body=b""
    )


def follow(status: int, location: str, method: str = "GET") -> HttpRequest | None:
    request = HttpRequest(
        url="http://h/a/b", method=method, body=b"x", headers={"Content-Type": "text/plain"}
    )
    return next_request(request, redirect(status, location))


@pytest.mark.parametrize(
    ("location", "url"),
    [("c", "http://h/a/c"), ("/c", "http://h/c"), ("//o/c", "http://o/c"), ("https://o/", "https://o/")],
)
def test_a_redirect_is_resolved_against_the_page_it_came_from(location: str, url: str) -> None:
    following = follow(302, location)
    assert following is not None
    assert following.url == url


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/c, /c", "http://h/c"),
        ("/c, /c, /c", "http://h/c"),
        ("/c, /d", "http://h/c,%20/d"),
        ("/c, c", "http://h/c,%20c"),
    ],
)
def test_a_location_that_was_sent_twice_counts_once(location: str, url: str) -> None:
    following = follow(302, location)
    assert following is not None
    assert following.url == url


@pytest.mark.parametrize(
    ("status", "location"), [(200, "/c"), (304, "/c"), (300, "/c"), (302, ""), (301, "  ")]
)
def test_an_answer_that_leads_nowhere_is_the_last(status: int, location: str) -> None:
    assert follow(status, location) is None


@pytest.mark.parametrize(
    ("method", "status", "expected"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("HEAD", 303, "HEAD"),
        ("PUT", 302, "PUT"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
    ],
)
def test_methods_change_as_browsers_change_them(method: str, status: int, expected: str) -> None:
    following = follow(status, "/c", method)
    assert following is not None
    assert following.method == expected
    assert (following.body is None) == (expected == "GET")
    assert ("Content-Type" in following.headers) == (expected != "GET")


@pytest.mark.parametrize(
    ("location", "kept"),
    [
        ("/c", True),
        ("http://h:80/c", True),
        ("http://h:81/c", False),
        ("https://h/c", False),
        ("http://o/", False),
    ],
)
def test_credentials_stay_with_their_origin(location: str, kept: bool) -> None:
    request = HttpRequest(url="http://h/", headers={"authorization": "a", "Cookie": "b", "X-Other": "c"})
    following = next_request(request, redirect(302, location))
    assert following is not None
    assert set(following.headers) == ({"authorization", "Cookie", "X-Other"} if kept else {"X-Other"})


SECRET_FIELDS = {
    "X-Api-Key": "canary",
    "X-Auth-Token": "canary",
    "PRIVATE-TOKEN": "canary",
    "webhook-signature": "v1,canary",
    "Ocp-Apim-Subscription-Key": "canary",
    "X-Session-Id": "canary",
    "X-CSRF": "canary",
    "Proxy-Authorization": "canary",
    "X-Forwarded-Login": "canary",
    "X-Any": "Bearer canary",
    "X-Basic": "basic Y2FuYXJ5",
    "X-Signed": "eyJhbGciOiJIUzI1NiJ9.e30.canary",
    "X-Callback": "https://me:canary-password@h/",
}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["http://o/", "https://h/a/b", "http://h:81/a/b", "//h2.example/"])
def test_nothing_secret_goes_to_another_origin(status: int, location: str) -> None:
    harmless = {"Accept": "text/html", "X-Other": "c", "Accept-Language": "en"}
    request = HttpRequest(
        url="http://h/a/b",
        method="POST",
        headers={**SECRET_FIELDS, **harmless, "Content-Type": "text/plain"},
        body=b"canary",
    )
    following = next_request(request, redirect(status, location))
    assert following is not None
    assert dict(following.headers) == harmless
    assert following.body is None


def test_a_field_with_a_secret_in_it_stays_whatever_it_is_called() -> None:
    remember_secrets("fr7-canary-8")
    fields = {"X-One": "fr7-canary-8", "Accept-Language": "en; fr7-canary-8", "User-Agent": "bot"}
    following = next_request(HttpRequest(url="http://h/", headers=fields), redirect(302, "http://o/"))
    assert following is not None
    assert dict(following.headers) == {"User-Agent": "bot"}


def test_what_stayed_behind_does_not_come_back_with_a_redirect_to_the_first_origin() -> None:
    there = next_request(HttpRequest(url="http://h/", headers=SECRET_FIELDS), redirect(302, "http://o/"))
    assert there is not None
    back = next_request(there, redirect(302, "http://h/"))
    assert back is not None
    assert not back.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_request_that_stays_at_its_origin_follows_no_redirect_to_another(status: int) -> None:
    request = HttpRequest(url="http://h/a", method="POST", body=b"x", stays_at_origin=True)
    with pytest.raises(InvalidUrlError, match="redirects to http://o:80, another origin") as caught:
        next_request(request, redirect(status, "http://me:canary@o/?canary"))
    assert "canary" not in str(caught.value)
    assert next_request(request, redirect(status, "/b")) is not None


@pytest.mark.parametrize("location", ["file:///etc/passwd", "mailto:a@b.c", "http://x:99999/"])
def test_a_redirect_to_something_that_is_no_page_is_an_error(location: str) -> None:
    with pytest.raises(InvalidUrlError):
        follow(302, location)


def test_a_redirect_to_a_malformed_host_is_refused_without_its_password() -> None:
    fields = Headers([("Location", "http://me:hunter2@[::1/")])
    response = HttpResponse(url="http://h/", status=302, headers=fields, body=b"")
    with pytest.raises(InvalidUrlError, match="malformed") as caught:
        next_request(HttpRequest(url="http://h/"), response)
    assert "hunter2" not in str(caught.value)
