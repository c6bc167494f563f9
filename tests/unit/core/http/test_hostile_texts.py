"""Texts that servers send, against every rule that reads them. They end in time, or pytest ends them.

A rule that backtracks would take minutes for each: its work grows with the square of the length.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import agentic.core.http
from agentic.core.http import CookieJar, FetchError, Headers, HttpRequest, HttpResponse, InvalidUrlError
from agentic.core.http.challenges import RULES, challenge_in
from agentic.core.http.failures import reset_s, retry_after_s
from agentic.core.http.politeness.robots import forbids_following
from agentic.core.http.redirects import next_request
from agentic.core.http.urls import MAX_URL_CHARACTERS, canonical_url, origin_of
from agentic.core.reading.addresses import absolute

PACKAGE = "agentic.core.http."
SIZE = 100_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = ["", " ", "a", "0", ".", ":", "/a", "<script", "<div class='", "charset"]
# These are looked for anywhere in a text; all others fit at its beginning or not at all.
SEARCHED = {
    "challenges:TITLE",
    "challenges:UNSEEN",
    "challenges:WIDGET",
    "charsets:_ATTRIBUTE",
    "charsets:_CONTROLS",
    "charsets:_HEADER",
    "charsets:_IN_CONTENT",
    "charsets:_META",
    "charsets:_SURROGATES",
    "politeness.robots:_INVISIBLE",
    "politeness.robots:_TAGS",
    "redirects:_SECRET_NAME",
    "transports.curl_transport:NO_CHUNKS",
    "transports.mending:_END",
    "transports.mending:_FAULT",
}
MARKUP = [
    "<script",
    "<script> ",
    "<script>_cf_chl_opt ",
    '<div class="',
    "<title>",
    '<iframe src="/',
    "</script",
]


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in pkgutil.walk_packages(agentic.core.http.__path__, PACKAGE):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield f"{module.name.removeprefix(PACKAGE)}:{name}", value
    yield from ((f"challenges:RULES.{at}", rule) for at, (rule, _) in enumerate(RULES))


def long(first: str, second: str) -> str:
    return first * (SIZE // 2 // len(first or " ")) + second * (SIZE // 2 // len(second or " "))


PATTERNS = dict(patterns())


def test_all_patterns_of_the_client_are_here() -> None:
    assert len(PATTERNS) > 15


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.timeout(60)
def test_a_pattern_reads_a_long_text(name: str) -> None:
    pattern = PATTERNS[name]
    module, _, attribute = name.partition(":")
    is_searched = name in SEARCHED or attribute.startswith("RULES")
    source = Path(importlib.import_module(f"{PACKAGE}{module}").__file__ or "").read_text()
    assert is_searched or f"{attribute}.search(" not in source
    for first, second in product(PARTS, PARTS):
        text = long(first, second)
        for read in (pattern.search,) if is_searched else (pattern.match, pattern.fullmatch):
            read(text if isinstance(pattern.pattern, str) else text.encode())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("second", MARKUP)
@pytest.mark.parametrize("first", MARKUP)
def test_a_page_is_searched_for_challenges(first: str, second: str) -> None:
    head = 'captcha<title>captcha</title><div class="g-recaptcha">'
    body = (head + first * (12_000 // len(first)) + second * (12_000 // len(second))).encode()
    headers = Headers([("content-type", "text/html")])
    challenge_in(HttpResponse(url="http://h/", status=403, headers=headers, body=body))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("first", PARTS)
def test_long_headers_are_read(first: str) -> None:
    for second in PARTS:
        value = long(first, second)
        forbids_following(value, "shopbot/1.0")
        retry_after_s({"retry-after": value}, NOW)
        reset_s({"x-ratelimit-reset": value}, NOW)
        CookieJar().store("http://shop.example/", [f"a=1; expires={value[:8_000]}"])


@pytest.mark.parametrize(
    "value",
    [
        "Mon, 1 Jan 99999999999 00:00:00 GMT",
        "Mon, 1 Jan 2020 00:00:00 +99999999",
        "Mon, 1 Jan 0001 00:00:00 +2359",
        "Fri, 31 Dec 9999 23:59:59 -2359",
        "9" * 5_000,
        "-1",
        "\u0661",
    ],
)
def test_a_moment_that_is_none_is_no_failure(value: str) -> None:
    assert (retry_after_s({"retry-after": value}, NOW) or 0) <= 86_400
    assert (reset_s({"x-ratelimit-reset": value}, NOW) or 0) <= 86_400
    assert (reset_s({"x-ratelimit-reset": "9999-12-31T23:59:59-23:59"}, NOW) or 0) <= 86_400


@pytest.mark.parametrize(
    "end", ["Max-Age=" + "9" * 400, "Max-Age=" + "9" * 8_000, "Expires=1 1 " + "1" * 8_000]
)
def test_a_cookie_with_an_endless_time_is_a_cookie_of_the_session(end: str) -> None:
    jar = CookieJar()
    jar.store("https://shop.example/", [f"a=1; Path=/; {end}"])
    [cookie] = jar.to_data()
    assert isinstance(cookie, dict)
    assert cookie["expires"] == -1


@pytest.mark.timeout(60)
@pytest.mark.parametrize("host", ["\u00e9" * SIZE, "a." * SIZE, "[" + ":" * SIZE, "%41" * SIZE])
def test_a_url_that_no_server_takes_is_refused_in_a_short_message(host: str) -> None:
    for call in (canonical_url, origin_of):
        with pytest.raises(InvalidUrlError, match="the limit is 16384") as caught:
            call(f"http://{host}/")
        assert len(str(caught.value)) < 3_000
    assert absolute("http://h/", f"http://{host}/") is None


def test_a_redirect_to_a_url_that_no_server_takes_is_refused() -> None:
    fields = Headers([("location", "/" + "a" * MAX_URL_CHARACTERS)])
    answer = HttpResponse(url="http://h/", status=302, headers=fields, body=b"")
    with pytest.raises(FetchError, match="the limit is 16384") as caught:
        next_request(HttpRequest(url="http://h/"), answer)
    assert caught.value.failure_class == "invalid_url"
