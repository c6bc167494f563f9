"""Cookies that sites set without a login: kept during a run, each for its own site."""

from __future__ import annotations

import pytest

from agentic.core.http.sessions import site_cookies
from agentic.core.http.sessions.site_cookies import SiteCookies


def kept(*answers: tuple[str, str]) -> SiteCookies:
    cookies = SiteCookies()
    for url, line in answers:
        cookies.store(url, [line])
    return cookies


@pytest.mark.parametrize(
    ("line", "url", "sent"),
    [
        ("a=1", "http://shop.example.co.uk/x", "a=1"),
        ("a=1", "https://shop.example.co.uk:8443/", "a=1"),
        ("a=1", "http://www.shop.example.co.uk/", None),
        ("a=1; Domain=example.co.uk", "http://other.example.co.uk/", "a=1"),
        ("a=1; Domain=co.uk", "http://other.co.uk/", None),
        ("a=1; Domain=other.co.uk", "http://other.co.uk/", None),
        ("a=1; Path=/in", "http://shop.example.co.uk/in/x", "a=1"),
        ("a=1; Path=/in", "http://shop.example.co.uk/inside", None),
        ("a=1; Secure", "https://shop.example.co.uk/", "a=1"),
        ("a=1; Secure", "http://shop.example.co.uk/", None),
        ("a=1; Max-Age=0", "http://shop.example.co.uk/", None),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://shop.example.co.uk/", None),
        ("a=1; Max-Age=60; HttpOnly; SameSite=Strict", "http://shop.example.co.uk/", "a=1"),
        ("a=1", "http://elsewhere.example/", None),
    ],
)
def test_a_cookie_goes_where_its_site_may_have_it(line: str, url: str, sent: str | None) -> None:
    assert kept(("https://shop.example.co.uk/", line)).header_for(url) == sent


def test_hosts_without_a_domain_have_cookies_of_their_own() -> None:
    cookies = kept(("http://127.0.0.1:1/", "a=1"), ("http://localhost/", "b=2"), ("http://[::1]/", "c=3"))
    sent = [
        cookies.header_for(url) for url in ("http://127.0.0.1/", "http://localhost/", "http://127.0.0.2/")
    ]
    assert sent == ["a=1", "b=2", None]


def test_a_site_with_many_cookies_takes_no_place_from_others() -> None:
    cookies = SiteCookies()
    for number in range(1_100):
        cookies.store("http://greedy.example/", [f"c{number}=1"])
    cookies.store("http://modest.example/", ["a=1"])
    assert cookies.header_for("http://modest.example/") == "a=1"


def test_the_cookies_of_the_latest_sites_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_cookies, "MAX_SITES", 2)
    cookies = kept(("http://a.example/", "a=1"), ("http://b.example/", "a=1"))
    assert cookies.header_for("http://a.example/") == "a=1"
    cookies.store("http://c.example/", ["a=1"])
    found = [cookies.header_for(f"http://{name}.example/") for name in "abc"]
    assert found == ["a=1", None, "a=1"]


def test_values_are_not_shown() -> None:
    assert "hunter2" not in repr(kept(("http://a.example/", "a=hunter2")))
