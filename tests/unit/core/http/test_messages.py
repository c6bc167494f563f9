from __future__ import annotations

import pytest

from agentic.core.http import FetchError, Headers, HttpResponse


def page(body: bytes, content_type: str | None = "text/html") -> HttpResponse:
    fields = [("Content-Type", content_type)] if content_type else []
    return HttpResponse(url="http://h/", status=200, headers=Headers(fields), body=body)


def test_headers_are_found_in_any_case() -> None:
    headers = Headers([("X-One", "1"), ("x-one", "2")])
    assert headers["X-ONE"] == "1, 2"
    assert headers.get("x-two") is None
    assert [*headers] == ["x-one"]


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("é".encode(), "text/html; charset=utf-8", "é"),
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
        (b"\x93quoted\x94", "text/html; charset=iso-8859-1", "“quoted”"),
        ('<meta charset="shift_jis">日本'.encode("shift_jis"), "text/html", '<meta charset="shift_jis">日本'),
        ("é".encode("utf-8-sig"), "text/html; charset=latin-1", "é"),
        ("日本".encode(), None, "日本"),
        (b"caf\xe9", None, "café"),
        (b"", None, ""),
        (b"a\xffb", "text/html; charset=utf-8", "a\ufffdb"),
        ("é".encode(), "text/html; charset=nonsense", "é"),
    ],
)
def test_text_honours_what_is_said_about_the_charset(
    body: bytes, content_type: str | None, text: str
) -> None:
    assert page(body, content_type).text == text


def test_the_content_type_is_bare_and_lower_case() -> None:
    assert page(b"", "Text/HTML; charset=utf-8").content_type == "text/html"
    assert page(b"", None).content_type == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("text/html, text/html; charset=utf-8", "text/html"),
        ("text/plain, text/html", "text/html"),
        ("text/html, */*", "text/html"),
        ('text/html; charset="a,b"', "text/html"),
        ("html", ""),
        ("; charset=utf-8", ""),
        ("*/*", ""),
        ("json; charset=utf-8", "json"),
    ],
)
def test_a_content_type_that_is_odd_is_read_as_browsers_do(written: str, read: str) -> None:
    assert page(b"", written).content_type == read


def test_the_charset_in_the_page_counts_also_if_the_content_type_was_sent_twice() -> None:
    body = '<meta charset="windows-1251">мир'.encode("cp1251")
    assert "мир" in page(body, "text/html, text/html").text


def test_json_is_parsed() -> None:
    assert page(b'{"a": [1, null, "\xc3\xa9"]}').json() == {"a": [1, None, "é"]}


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"a": 1', b"\xff\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_is_a_decode_failure(body: bytes) -> None:
    with pytest.raises(FetchError, match="is not JSON") as caught:
        page(body).json()
    assert caught.value.failure_class == "decode"


@pytest.mark.parametrize("label", ["idna", "base64", "unicode_escape", "rot13", "undefined", "punycode"])
def test_a_charset_that_is_only_a_codec_of_python_is_not_believed(label: str) -> None:
    headers = Headers([("Content-Type", f"text/html; charset={label}")])
    response = HttpResponse(url="http://h/", status=200, headers=headers, body="café\\x41".encode())
    assert "caf" in response.text
