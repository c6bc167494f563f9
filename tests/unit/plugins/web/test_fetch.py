"""What can be fetched how, and answers as pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, FetchError, Headers, HttpPolicy, HttpRequest, HttpResponse
from agentic.core.http.urls import with_params
from agentic.core.types import JSONValue
from agentic.fakes.hostile.oddities import challenge_page
from agentic.plugins.web.actors.fetch import FetchActor
from agentic.plugins.web.fetching.answers import page_of
from agentic.plugins.web.fetching.inputs import FetchInput
from agentic.plugins.web.fetching.scripted import browser_verdict, looks_scripted, needs_browser, verdict_key
from agentic.plugins.web.reading.html import parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = f"<p>{'word ' * 60}</p>"
SCRIPT = "<script>run()</script>"


def answer(body: bytes, content_type: str, url: str = "http://shop.example/a") -> HttpResponse:
    return HttpResponse(url=url, status=200, headers=Headers([("Content-Type", content_type)]), body=body)


class Recorded:
    """A transport that answers a page and keeps what it was asked."""

    def __init__(self, body: str, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.body = body
        self.status = status
        self.headers = headers
        self.asked: list[HttpRequest] = []

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.asked.append(request)
        headers = Headers([("content-type", "text/html"), *self.headers])
        return HttpResponse(url=request.url, status=self.status, headers=headers, body=self.body.encode())


async def fetch(transport: Recorded, **given: Any) -> Any:
    ctx = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), transport))
    return await FetchActor().run(ctx, FetchInput.model_validate({"url": "http://shop.example/a", **given}))


def test_a_page_has_its_text_in_the_charset_of_the_answer() -> None:
    page = page_of("http://shop.example/", answer("é".encode("latin-1"), "text/html; charset=latin-1"), NOW)
    assert (page.text, page.content_type, page.is_html) == ("é", "text/html", True)


def test_the_address_a_page_ends_at_is_canonical() -> None:
    page = page_of("http://shop.example/b", answer(b"", "text/html", "http://SHOP.example:80/a#x"), NOW)
    assert (page.url, page.final_url) == ("http://shop.example/b", "http://shop.example/a")


@pytest.mark.parametrize(
    ("body", "sent_as", "content_type"),
    [
        (b"\xef\xbb\xbf\n<!DOCTYPE html><h1>x</h1>", "application/octet-stream", "text/html"),
        (b"<html><h1>x</h1></html>", "text/plain; charset=utf-8", "text/html"),
        (b"PK\x03\x04 <html>", "application/octet-stream", "application/octet-stream"),
        (b"Write <html> first", "text/plain", "text/plain"),
        (b'\n{"items": []}', "application/octet-stream", "application/json"),
        (b'[{"id": 1}]', "application/octet-stream", "application/json"),
        (b"{\\rtf1 text}", "application/octet-stream", "application/octet-stream"),
        (b"[Desktop Entry]", "application/octet-stream", "application/octet-stream"),
    ],
)
def test_a_page_that_is_sent_as_text_or_unknown_bytes_is_a_page(
    body: bytes, sent_as: str, content_type: str
) -> None:
    page = page_of("http://shop.example/", answer(body, sent_as), NOW)
    assert (page.content_type, page.is_html) == (content_type, content_type == "text/html")


@pytest.mark.parametrize(("content_type", "is_read"), [("application/xhtml+xml", True), ("text/html", False)])
def test_an_element_that_xml_closes_at_once_hides_nothing(content_type: str, is_read: bool) -> None:
    body = b"<html><head><title/><script src='a.js' /></head><body><textarea\n/><h1>Lamp</h1></body></html>"
    page = page_of("http://shop.example/a", answer(body, content_type), NOW)
    assert (parse(page.text).select_one("h1") is not None) is is_read


def test_a_text_that_is_not_to_be_sniffed_stays_a_text() -> None:
    headers = Headers([("Content-Type", "text/plain"), ("X-Content-Type-Options", "nosniff")])
    shown = HttpResponse(url="http://shop.example/", status=200, headers=headers, body=b"<html>")
    assert page_of("http://shop.example/", shown, NOW).content_type == "text/plain"


def test_what_is_no_text_is_known_by_its_hash() -> None:
    one, other = (page_of("http://a.example/", answer(body, "image/png"), NOW) for body in (b"1", b"2"))
    assert one.text == other.text == ""
    assert one.content_hash != other.content_hash


@pytest.mark.requirement("SP14")
def test_the_word_of_the_first_sketch_asks_for_a_browser() -> None:
    asked = FetchInput.model_validate({"url": "http://a.example/", "use_playwright": True})
    assert (asked.way, FetchInput(url="http://a.example/", use_playwright=False).way) == ("browser", "http")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"mode": "telnet"}, "'http', 'browser' or 'auto'"),
        ({"mode": "auto", "use_playwright": False}, "contradict each other"),
        ({"mode": "browser", "method": "POST"}, "a browser supports GET only"),
        ({"steps": [{"type": "click", "selector": "a"}]}, "steps are for a browser"),
        ({"body": "a"}, "a method other than GET"),
        ({"method": "POST", "body": "a", "json": {}}, "one of body, json and form"),
        ({"method": "GET", "form": {"q": "a"}}, "one of body, json and form"),
        ({"mode": "browser", "form": {"q": "a"}}, "steps that fill in a form"),
        ({"wait_for": "a["}, "is not a CSS selector"),
    ],
)
def test_wishes_that_do_not_go_together_are_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        FetchInput.model_validate({"url": "http://a.example/", **given})


async def test_what_is_sent_is_what_was_given() -> None:
    transport = Recorded("")
    await fetch(
        transport, method="POST", json={"a": [1]}, params={"q": "é", "n": [1, 2]}, headers={"X-A": "b"}
    )
    asked = transport.asked[0]
    assert (asked.method, asked.body) == ("POST", b'{"a": [1]}')
    assert asked.url == "http://shop.example/a?q=%C3%A9&n=1&n=2"
    assert asked.headers == {"content-type": "application/json", "x-a": "b"}


async def test_a_body_is_sent_as_it_is() -> None:
    transport = Recorded("")
    await fetch(transport, method="PUT", body="a=é")
    assert transport.asked[0].body == "a=é".encode()


def test_params_join_the_query_that_is_there() -> None:
    assert with_params("http://a.example/?a=1#b", {"c": True}) == "http://a.example/?a=1&c=true#b"


async def test_what_has_to_be_on_a_page_and_is_not_is_a_failure() -> None:
    with pytest.raises(ActorError, match=r"'\.product' matches nothing on http://shop\.example/a") as caught:
        await fetch(Recorded(WORDS), wait_for=".product")
    assert (caught.value.failure_class, caught.value.status) == ("selector_missing", 200)


@pytest.mark.parametrize(
    ("markup", "is_lacking", "verdict"),
    [
        (WORDS, True, False),
        (SCRIPT + WORDS, False, False),
        (SCRIPT + WORDS, True, False),
        (SCRIPT, False, True),
        ("<div id=app></div>" + SCRIPT, False, True),
        (f"<div id=app></div>{WORDS}{SCRIPT}", True, True),
        (f"<div id=app></div>{WORDS}{SCRIPT}", False, False),
        (f"<body><noscript>Please enable JavaScript</noscript>{WORDS}{SCRIPT}", True, True),
        (f"<body><noscript><img src=a></noscript>{WORDS}{SCRIPT}", True, False),
        ("<p>short</p>", True, False),
        (f"<script>{'word ' * 100}</script>", False, True),
        ("", False, False),
    ],
)
def test_a_page_that_scripts_write_is_told_from_one_that_is_there(
    markup: str, is_lacking: bool, verdict: bool
) -> None:
    assert looks_scripted(markup, is_lacking=is_lacking) is verdict


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://a.example/product/17?page=2", "http://A.example/product/18#top", True),
        ("http://a.example/news/12-a-long-story", "http://a.example/news/some-other-story", True),
        ("http://a.example/x/1f0c9a7e1f0c9a7e", "http://a.example/x/aaaabbbbccccdddd", True),
        ("http://a.example/product/17", "http://a.example/category/17", False),
        ("http://a.example/1", "http://b.example/1", False),
    ],
)
def test_pages_of_one_pattern_have_one_verdict(one: str, other: str, is_same: bool) -> None:
    assert (verdict_key(one) == verdict_key(other)) is is_same


def test_a_verdict_holds_for_a_day() -> None:
    verdict = browser_verdict(NOW)
    assert needs_browser(verdict, NOW + timedelta(hours=23))
    assert not needs_browser(verdict, NOW + timedelta(hours=25))


async def test_a_page_that_scripts_write_needs_a_browser_and_says_so_where_there_is_none() -> None:
    with pytest.raises(ActorError, match="no browser is available") as caught:
        await fetch(Recorded(SCRIPT), mode="auto")
    assert caught.value.failure_class == "browser_crashed"


@pytest.mark.parametrize("kind", ["cloudflare", "captcha"])
async def test_where_there_is_no_browser_a_refusal_stays_what_it_is(kind: str) -> None:
    wall = challenge_page(kind)
    assert wall is not None
    with pytest.raises(FetchError) as caught:
        await fetch(Recorded(wall.body.decode(), headers=wall.headers), mode="auto")
    assert caught.value.failure_class == "blocked"


async def test_what_fails_otherwise_is_not_asked_with_a_browser() -> None:
    with pytest.raises(FetchError) as caught:
        await fetch(Recorded("", status=404), mode="auto")
    assert caught.value.failure_class == "http_404"


async def test_a_page_that_is_there_is_taken_as_it_is() -> None:
    assert (await fetch(Recorded(WORDS), mode="auto", wait_for="p")).page.fetched_by == "http"


async def test_a_page_that_lacks_something_and_has_no_scripts_is_a_failure() -> None:
    with pytest.raises(ActorError) as caught:
        await fetch(Recorded(WORDS), mode="auto", wait_for=".product")
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.parametrize("remembered", [None, "junk", {"browser_until": "2020-01-01T00:00:00+00:00"}])
def test_nothing_remembered_or_long_ago_is_no_verdict(remembered: JSONValue) -> None:
    assert not needs_browser(remembered, NOW)


async def test_a_form_is_sent_as_browsers_send_it() -> None:
    site = Recorded(WORDS)
    await fetch(site, form={"q": "a b&c", "page": 2, "tags": ["x", "\u00fc"], "exact": True})
    [request] = site.asked
    assert (request.method, request.body) == ("POST", b"q=a+b%26c&page=2&tags=x&tags=%C3%BC&exact=true")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert FetchActor.repeatable_after({"form": {"q": "a"}}) == frozenset({"rate_limited"})
    await fetch(site, form={}, method="PUT", headers={"Content-Type": "text/x"})
    assert (site.asked[1].method, site.asked[1].headers["content-type"]) == ("PUT", "text/x")
