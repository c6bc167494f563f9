"""Answers as pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from agentic.core.http import Headers, HttpResponse
from agentic.plugins.web.fetch import FetchInput, page_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def answer(body: bytes, content_type: str, url: str = "http://shop.example/a") -> HttpResponse:
    return HttpResponse(url=url, status=200, headers=Headers([("Content-Type", content_type)]), body=body)


def test_a_page_has_its_text_in_the_charset_of_the_answer() -> None:
    page = page_of("http://shop.example/", answer("é".encode("latin-1"), "text/html; charset=latin-1"), NOW)
    assert (page.text, page.content_type, page.is_html) == ("é", "text/html", True)


def test_the_address_a_page_ends_at_is_canonical() -> None:
    page = page_of("http://shop.example/b", answer(b"", "text/html", "http://SHOP.example:80/a#x"), NOW)
    assert (page.url, page.final_url) == ("http://shop.example/b", "http://shop.example/a")


def test_what_is_no_text_is_known_by_its_hash() -> None:
    one, other = (page_of("http://a.example/", answer(body, "image/png"), NOW) for body in (b"1", b"2"))
    assert one.text == other.text == ""
    assert one.content_hash != other.content_hash


def test_a_mode_nobody_offers_is_refused() -> None:
    with pytest.raises(ValidationError, match="'http'"):
        FetchInput.model_validate({"url": "http://a.example/", "mode": "browser"})
