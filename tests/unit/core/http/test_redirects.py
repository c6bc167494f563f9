from __future__ import annotations

import pytest

from agentic.core.http import Headers, HttpRequest, HttpResponse, InvalidUrlError
from agentic.core.http.redirects import next_request


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
