"""Passwords and tokens in URLs, taken out and put back."""

from __future__ import annotations

import pytest

from agentic.core.http.sessions.url_credentials import UrlCredentials, without_user_info
from agentic.core.masking import guessed_secrets, telling_params
from agentic.core.types import JSONValue

URL = "https://bob:hunter2@shop.example/list?page=1&api_key=K3Y-of-bob"
KEPT = "https://shop.example/list?page=1&api_key=***"


@pytest.fixture
def known() -> UrlCredentials:
    return UrlCredentials.found_in({"steps": [{"config": {"url": URL}}]})


def test_what_is_kept_holds_no_secret_and_is_asked_for_with_it(known: UrlCredentials) -> None:
    assert known.stripped(URL) == KEPT
    assert known.applied(KEPT) == URL
    assert known.stripped(KEPT) == KEPT
    assert known.applied(URL) == URL
    assert "hunter2" not in repr(known)


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("https://shop.example/", "https://bob:hunter2@shop.example/"),
        ("https://shop.example:443/x", "https://bob:hunter2@shop.example:443/x"),
        ("https://SHOP.example/x?api_key=%2A%2A%2A", "https://bob:hunter2@SHOP.example/x?api_key=K3Y-of-bob"),
        (
            "https://shop.example/x?a&b=&api_key=***#f",
            "https://bob:hunter2@shop.example/x?a&b=&api_key=K3Y-of-bob#f",
        ),
        ("https://shop.example/x?other=***", "https://bob:hunter2@shop.example/x?other=***"),
        ("https://alice@shop.example/", "https://alice@shop.example/"),
    ],
)
def test_each_page_of_an_origin_is_asked_for_with_its_credentials(
    known: UrlCredentials, kept: str, asked: str
) -> None:
    assert known.applied(kept) == asked


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/?api_key=***",
        "https://shop.example:8443/?api_key=***",
        "https://other.example/?api_key=***",
        "https://shop.example.evil.example/?api_key=***",
        "https://shop.example@evil.example/?api_key=***",
        "ftp://shop.example/?api_key=***",
        "no url",
        "https://[",
        "",
    ],
)
def test_no_other_origin_gets_them(known: UrlCredentials, url: str) -> None:
    assert known.applied(url) == url


def test_what_a_page_says_itself_is_kept(known: UrlCredentials) -> None:
    url = "https://shop.example/reset?token=of-the-page&api_key=another"
    assert known.stripped(url) == url


@pytest.mark.parametrize(
    "url", ["https://${secrets.USER}@shop.example/", "https://shop.example/?api_key=${secrets.K}"]
)
def test_references_hold_nothing(url: str) -> None:
    assert not UrlCredentials.found_in(url)


def test_those_of_several_urls_are_all_known() -> None:
    both = UrlCredentials.found_in("https://a:b@x.example/").joined(
        UrlCredentials.found_in("https://x.example/?token=tok-123", "https://y.example/?token=tok-456")
    )
    assert both.applied("https://x.example/?token=***") == "https://a:b@x.example/?token=tok-123"
    assert both.applied("https://y.example/?token=***") == "https://y.example/?token=tok-456"


def test_the_input_of_an_actor_gets_urls_to_ask_for_and_pages_stay_as_they_are(known: UrlCredentials) -> None:
    config: dict[str, JSONValue] = {"url": KEPT, "urls": [KEPT, 1], "page": {"url": KEPT}, "n": 3}
    applied = known.applied_config(config)
    assert applied == {"url": URL, "urls": [URL, 1], "page": {"url": KEPT}, "n": 3}
    assert known.stripped_data({"inputs": [URL, {"a": URL}]}) == {"inputs": [KEPT, {"a": KEPT}]}


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://a:b@c.example/d@e?f=@", "http://c.example/d@e?f=@"),
        ("http://a@c.example", "http://c.example"),
        ("http://c.example/@x", "http://c.example/@x"),
        ("mailto:a@b.example", "mailto:a@b.example"),
    ],
)
def test_a_user_name_is_taken_out_of_any_url(url: str, kept: str) -> None:
    assert without_user_info(url) == kept


def test_parameters_are_secrets_by_their_names() -> None:
    text = (
        "see https://x.example/?page=2&api_key=secret-1&access_token=secret%202&token=short&next_token_url=no-secret"
        "&key=AIza0123456789abcdef&key=shoes&token=${secrets.T}#token=fragment-1 and"
    )
    found = [value for _, value in telling_params(text)]
    assert found == ["secret-1", "secret%202", "AIza0123456789abcdef"]
    assert {"secret-1", "secret%202", "secret 2"} <= {*guessed_secrets({"url": text})}
