from __future__ import annotations

import contextlib
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic.core.http import FetchError, InvalidUrlError, canonical_url, url_key
from agentic.core.http.urls import PLAIN, origin_of, without_credentials

hosts = st.from_regex(r"[A-Za-z0-9]{1,8}(\.[A-Za-z]{2,4})?|\[::1\]|127\.0\.0\.1", fullmatch=True)
ports = st.sampled_from(["", ":", ":80", ":443", ":8080"])
rests = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def urls(draw: st.DrawFn) -> str:
    scheme = draw(st.sampled_from(["http", "https", "HTTP"]))
    user = draw(st.sampled_from(["", "me@", "Me:Secret@"]))
    mark = draw(st.sampled_from(["/", "?", "#", "/a?", ""]))
    return f"{scheme}://{user}{draw(hosts)}{draw(ports)}{mark}{draw(rests) if mark else ''}"


@given(urls())
@example("http://x/a/%2e%2e/b?x=%zz&utm_source=&;&&=")
@example("http://x/?utm_source=a")
def test_the_canonical_url_of_a_canonical_url_is_itself(url: str) -> None:
    once = canonical_url(url)
    assert canonical_url(once) == once


LABELS = st.text("abcxyz0189", min_size=1, max_size=12)
SEGMENTS = st.tuples(st.sampled_from("aZ0_~-"), st.text("aZ09._~-", max_size=8)).map("".join)


@st.composite
def plain_urls(draw: st.DrawFn) -> str:
    """Return a URL in which nothing has to be changed; drawn part by part, as most texts are none."""
    host = draw(st.sampled_from(".-")).join(draw(st.lists(LABELS, min_size=1, max_size=4)))
    port = draw(st.none() | st.integers(1, 59_999).filter(lambda number: number not in (80, 443)))
    path = "".join(f"/{segment}" for segment in draw(st.lists(SEGMENTS, max_size=4)))
    end = draw(st.sampled_from(["", "/"])) if path else "/"
    return f"{draw(st.sampled_from(['http', 'https']))}://{host}{f':{port}' if port else ''}{path}{end}"


@given(plain_urls())
def test_what_is_taken_for_canonical_at_a_glance_comes_out_of_a_close_look_unchanged(url: str) -> None:
    assert PLAIN.fullmatch(url)
    assert canonical_url(f"{url}#looked-at-closely") == canonical_url(url) == url
    assert without_credentials(f"{url}#looked-at-closely") == without_credentials(url) == url
    assert origin_of(f"{url}#looked-at-closely") == origin_of(url)


@given(urls())
def test_a_canonical_url_has_no_fragment_and_no_default_port(url: str) -> None:
    parts = urlsplit(canonical_url(url))
    assert parts.fragment == ""
    assert (parts.scheme, parts.port) not in [("http", 80), ("https", 443)]


@given(st.text(max_size=40))
def test_any_text_is_either_made_canonical_or_refused_as_invalid(text: str) -> None:
    with contextlib.suppress(InvalidUrlError):
        assert canonical_url(text).startswith(("http://", "https://"))


@pytest.mark.parametrize(
    "url",
    [
        "http://Example.org/a",
        "http://example.org:80/a",
        "http://example.org/a#part",
        "http://example.org/b/../a",
        "http://example.org/%61",
        "http://example.org/a?utm_source=x&utm_medium=y&fbclid=z",
        "HTTP://example.org/a?gclid=1#x",
        " http://example.org/a\n",
    ],
)
def test_spellings_of_one_page_have_one_key(url: str) -> None:
    assert canonical_url(url) == "http://example.org/a"
    assert url_key(url) == url_key("http://example.org/a")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a",
        "http://example.org/A",
        "http://example.org/a/",
        "http://example.org:8080/a",
        "http://example.org/a?page=2",
        "http://example.org/a?ref=x",
    ],
)
def test_different_pages_have_different_keys(url: str) -> None:
    assert url_key(url) != url_key("http://example.org/a")


def test_query_parameters_are_put_in_order() -> None:
    assert canonical_url("http://example.org/?b=2&a=1&b=1") == "http://example.org/?a=1&b=1&b=2"


def test_a_key_is_32_hexadecimal_digits() -> None:
    assert len(url_key("http://example.org/")) == 32
    assert int(url_key("http://example.org/"), 16)


@pytest.mark.parametrize(
    "url",
    ["", "example.org/a", "//example.org/", "ftp://example.org/", "mailto:a@b.c", "javascript:void(0)", "http://",
     "http://[bad/", "http://x:99999/", "http://x:port/", "http://exa mple.org/"],
)  # fmt: skip
def test_what_cannot_be_fetched_has_no_canonical_url(url: str) -> None:
    with pytest.raises(InvalidUrlError, match="give an absolute"):
        canonical_url(url)


@pytest.mark.requirement("PL41")
def test_the_error_for_a_bad_url_does_not_repeat_its_password() -> None:
    with pytest.raises(FetchError) as caught:
        canonical_url("http://me:hunter2@example.org:99999/?token=hunter2")
    assert "hunter2" not in f"{caught.value} {caught.value.__dict__}"
