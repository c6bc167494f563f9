"""Sitemaps as they are served: whole, packed, broken and malicious."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.reading.markup import MAX_CHARACTERS, MarkupError, elements
from agentic.plugins.web.reading import sitemaps
from agentic.plugins.web.reading.sitemaps import Listed, read_sitemap

SPACES = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLS = f"""<?xml version="1.0" encoding="UTF-8"?><urlset {SPACES}>
<url><loc> http://a.example/1 </loc><lastmod>2026-10-31</lastmod>
 <image:image><image:loc>http://a.example/1.png</image:loc></image:image></url>
<url><loc>http://a.example/2?a=1&amp;b=2</loc><news:news><news:title>Two</news:title>
 <news:publication_date>2026-11-01</news:publication_date></news:news></url>
<url><lastmod>2026-10-31</lastmod></url></urlset>"""
LISTED = [
    Listed(address="http://a.example/1", lastmod="2026-10-31"),
    Listed(address="http://a.example/2?a=1&b=2", published="2026-11-01", title="Two"),
]


def pieces(count: int) -> Iterator[bytes]:
    yield b"<urlset>"
    for number in range(count):
        yield b"<url><loc>http://a.example/%d</loc></url>" % number
    yield b"</urlset>"


@pytest.mark.parametrize(
    "body", [URLS.encode(), gzip.compress(URLS.encode()), b"\xef\xbb\xbf" + URLS.encode()]
)
def test_pages_are_read_with_what_is_said_of_them(body: bytes) -> None:
    assert list(read_sitemap(body)) == LISTED


def test_a_sitemap_in_utf_16_is_read() -> None:
    assert list(read_sitemap(URLS.replace("UTF-8", "UTF-16").encode("utf-16"))) == LISTED


def test_an_index_lists_sitemaps() -> None:
    body = b"<sitemapindex><sitemap><loc>http://a.example/s.xml</loc></sitemap></sitemapindex>"
    assert list(read_sitemap(body)) == [Listed(address="http://a.example/s.xml", is_sitemap=True)]


def test_prefixes_of_the_elements_do_not_matter() -> None:
    body = b"<sm:urlset><sm:url><sm:loc>http://a.example/1</sm:loc></sm:url></sm:urlset>"
    assert [one.address for one in read_sitemap(body)] == ["http://a.example/1"]


def test_a_text_has_a_page_on_each_line() -> None:
    body = "\ufeffhttp://a.example/1\r\n\r\n# more\nhttps://a.example/é".encode()
    assert [one.address for one in read_sitemap(body)] == ["http://a.example/1", "https://a.example/é"]


@given(st.binary(max_size=200))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    with suppress(MarkupError):
        list(read_sitemap(body))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!doctype html><html><body>Not found</body></html>", "it is not XML"),
        (b"<rss><channel/></rss>", "its root is <rss>"),
        (b"Not found", "neither XML nor a list of URLs: 'Not found'"),
        (gzip.compress(URLS.encode())[:-20], "it is not XML"),
        (b"\x1f\x8b\x08\x00 no gzip at all", "its gzip is broken"),
        (
            gzip.compress(b"") * 100_000,
            "its gzip is broken: it consists of thousands of nearly empty gzip members",
        ),
        (
            b'<!DOCTYPE a [<!ENTITY b "c">]><urlset><url><loc>&b;</loc></url></urlset>',
            "declares the entity 'b'",
        ),
        (b"<urlset>" + b"<url>" * 200, "more than 100 levels deep"),
    ],
)
def test_what_is_no_sitemap_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MarkupError, match=reason):
        list(read_sitemap(body))


def test_what_stands_before_a_fault_is_read() -> None:
    reading = read_sitemap(b"<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/&")
    assert next(reading).address == "http://a.example/1"
    with pytest.raises(MarkupError):
        next(reading)


def test_a_bomb_is_not_unpacked_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps, "MAX_UNPACKED_BYTES", 1_000_000)
    bomb = gzip.compress(b"<urlset>" + b" " * 10_000_000)
    assert len(bomb) < 20_000
    with pytest.raises(MarkupError, match="larger than 1000000 bytes unpacked"):
        list(read_sitemap(bomb))


def test_elements_are_not_kept_once_they_have_ended() -> None:
    reading = elements(pieces(1_000_000))
    first = [next(reading) for _ in range(3)]
    assert [element.path[-1] for element in first] == ["loc", "url", "loc"]


def test_a_text_is_cut() -> None:
    ended = next(elements([b"<a>" + b"x" * (2 * MAX_CHARACTERS), b"</a>"]))
    assert len(ended.text) == MAX_CHARACTERS
