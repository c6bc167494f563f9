"""Addresses on pages, as browsers request them (https://url.spec.whatwg.org/)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic.core.http import InvalidUrlError, url_key
from agentic.core.http.resolving import _resolved, request_url, resolve

BASE = "http://b.example/p/q?r=1"


@pytest.mark.parametrize(
    ("address", "requested"),
    [
        # Queries stay as they are: in their order, without an added "=", with their own escapes.
        ("/svc?wsdl", "http://b.example/svc?wsdl"),
        ("/index.php?/topic/57/&do=x", "http://b.example/index.php?/topic/57/&do=x"),
        ("/old?b=2;a=1", "http://b.example/old?b=2;a=1"),
        ("/s?q=a+b&q=a%20b&c=%2B", "http://b.example/s?q=a+b&q=a%20b&c=%2B"),
        ("/s?&&a=&=b&", "http://b.example/s?&&a=&=b&"),
        ("/s?z=1&a=2&utm_source=x", "http://b.example/s?z=1&a=2&utm_source=x"),
        ("/s?", "http://b.example/s?"),
        ("?", "http://b.example/p/q?"),
        ("?page=2", "http://b.example/p/q?page=2"),
        ("/s?a=b?c=d", "http://b.example/s?a=b?c=d"),
        ("/s?f[]=1&r={x}|y^`\\", "http://b.example/s?f[]=1&r={x}|y^`\\"),
        ("/s?a=1 2\"<>'", "http://b.example/s?a=1%202%22%3C%3E%27"),
        ("/s?100%&%zz&%e4%E4", "http://b.example/s?100%&%zz&%e4%E4"),
        # So do paths.
        ("/a%2fb/%2F", "http://b.example/a%2fb/%2F"),
        ("/%7Euser/%41", "http://b.example/%7Euser/%41"),
        ("/100%/%zz", "http://b.example/100%/%zz"),
        ("/a b\"<>^`{}|[];=@:'", "http://b.example/a%20b%22%3C%3E%5E%60%7B%7D|[];=@:'"),
        ("/a//b///", "http://b.example/a//b///"),
        ("/Straße/å", "http://b.example/Stra%C3%9Fe/%C3%A5"),
        # Dots, backslashes, and the blanks that editors leave.
        ("../x/./y/../z/.", "http://b.example/x/z/"),
        ("../../../x", "http://b.example/x"),
        ("/a/%2e%2E/b/%2e", "http://b.example/b/"),
        ("..\\x\\y?a\\b", "http://b.example/x/y?a\\b"),
        ("\\\\h.example\\x", "http://h.example/x"),
        (" /x\n", "http://b.example/x"),
        ("/long/\n\t  path?a=\r\n1", "http://b.example/long/%20%20path?a=1"),
        ("h\tttp://h.example/", "http://h.example/"),
        # Fragments are never sent.
        ("", "http://b.example/p/q?r=1"),
        ("#part", "http://b.example/p/q?r=1"),
        ("#!/app", "http://b.example/p/q?r=1"),
        ("/x#a?b", "http://b.example/x"),
        ("/x?#", "http://b.example/x?"),
        # Hosts, ports, schemes.
        ("//h.example", "http://h.example/"),
        ("///h.example/x", "http://h.example/x"),
        ("HTTPS:\\\\H.Example:443", "https://h.example/"),
        ("http:x", "http://b.example/p/x"),
        ("http:/x", "http://b.example/x"),
        ("https:x", "https://x/"),
        ("http://h.example:080/", "http://h.example/"),
        ("http://h.example:/", "http://h.example/"),
        ("http://h.example:8080?a", "http://h.example:8080/?a"),
        ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://☃.example/", "http://xn--n3h.example/"),
        ("http://u:p@ss@h.example/", "http://u:p%40ss@h.example/"),
        ("http://%6cocal.example/%", "http://local.example/%"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://h.example/x:y@z", "http://h.example/x:y@z"),
    ],
)
def test_an_address_is_requested_as_browsers_do(address: str, requested: str) -> None:
    assert resolve(BASE, address) == requested
    assert request_url(requested) == requested


@pytest.mark.parametrize(
    ("encoding", "query", "requested"),
    [
        ("windows-1251", "q=мир", "q=%EC%E8%F0"),
        ("cp1252", "q=Käse&n=1", "q=K%E4se&n=1"),
        ("iso8859-2", "q=žluť", "q=%BElu%BB"),
        ("koi8-r", "q=мир", "q=%CD%C9%D2"),
        ("shift_jis", "q=ソ表", "q=%83\\%95\\"),
        ("euc_jp", "q=日本", "q=%C6%FC%CB%DC"),
        ("iso2022_jp", "q=日本", "q=%1B$BF|K\\%1B(B"),
        ("gb18030", "q=中", "q=%D6%D0"),
        ("big5", "q=中", "q=%A4%A4"),
        ("cp949", "q=한", "q=%C7%D1"),
        ("euc-kr", "q=뷁", "q=%94%EE"),
        ("gbk", "q=中", "q=%D6%D0"),
        ("iso-8859-8-i", "q=ש", "q=%F9"),
        ("windows-874", "q=ก", "q=%A1"),
        ("x-user-defined", "q=м", "q=%D0%BC"),
        ("windows-1251", "q=日мир", "q=%26%2326085%3B%EC%E8%F0"),  # not in the encoding: as a reference
        ("windows-1251", "q=%D0%BC", "q=%D0%BC"),
        ("utf-8", "q=мир", "q=%D0%BC%D0%B8%D1%80"),
        ("utf-16-le", "q=м", "q=%D0%BC"),
        ("no such encoding", "q=м", "q=%D0%BC"),
    ],
)
def test_a_query_is_written_in_the_encoding_of_its_page_and_its_path_in_utf_8(
    encoding: str, query: str, requested: str
) -> None:
    assert resolve(BASE, f"/ä?{query}#м", encoding) == f"http://b.example/%C3%A4?{requested}"
    assert resolve(BASE, f"?{query}", encoding) == f"http://b.example/p/q?{requested}"


@pytest.mark.parametrize(
    "address",
    ["mailto:a@b.c", "javascript:void(0)", "data:text/html,x", "tel:1", "ftp://h.example/", "about:blank",
     "//", "http://", "http:///", "//h.example:port/", "//h.example:99999/", "http://exa mple.org/", "//[::1",
     "//h%00.example/", "//a:b:c/", "//<script>/"],
)  # fmt: skip
def test_what_is_not_a_page_is_refused(address: str) -> None:
    with pytest.raises(InvalidUrlError):
        resolve(BASE, address)


@pytest.mark.parametrize("address", ["/" + "x" * 16_380, "/a" * 9_000, "/" + "ä" * 5_000])
def test_an_address_that_becomes_too_long_is_refused(address: str) -> None:
    with pytest.raises(InvalidUrlError, match="the limit is"):
        resolve(BASE, address)


ADDRESSES = st.text("/.aA0-_~%?&=#+:;,@\\é \t[]|{}'\"<>2e", max_size=14)


@given(st.one_of(ADDRESSES, st.text(max_size=20)))
@example("/a?b")
@example("/%2e%2e/a")
def test_an_address_that_was_resolved_stays_as_it_is(address: str) -> None:
    with contextlib.suppress(InvalidUrlError):
        found = resolve(BASE, address)
        assert found.isascii()
        assert found == request_url(found) == resolve("http://other.example/", found)
        assert found == str(_resolved(BASE, address, "utf-8"))
        assert len(url_key(found)) == 32


def test_an_error_does_not_repeat_a_password() -> None:
    with pytest.raises(InvalidUrlError) as caught:
        resolve(BASE, "http://me:hunter2@h.example:port/?token=hunter2")
    assert "hunter2" not in f"{caught.value} {caught.value.__dict__}"
