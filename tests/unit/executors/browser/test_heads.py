"""Requests that reach the proxy, taken apart and put together again."""

from __future__ import annotations

import pytest

from agentic.executors.browser.heads import parsed, rewritten


def head(*lines: str) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("CONNECT a.example:443 HTTP/1.1", ("a.example", 443)),
        ("CONNECT [::1]:8443 HTTP/1.1", ("::1", 8443)),
        ("GET http://A.example/x?y=1 HTTP/1.1", ("a.example", 80)),
        ("GET http://a.example:8080 HTTP/1.1", ("a.example", 8080)),
        ("GET http://user:secret@a.example/ HTTP/1.1", ("a.example", 80)),
    ],
)
def test_a_request_says_where_it_goes(line: str, place: tuple[str, int]) -> None:
    found = parsed(head(line))
    assert (found.host, found.port) == place
    assert found.is_tunnel == line.startswith("CONNECT")


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "CONNECT a.example HTTP/1.1",
        "GET https://a.example/ HTTP/1.1",
        "GET http:///x H",
    ],
)
def test_what_is_no_request_to_a_proxy_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no place to connect to"):
        parsed(head(line))


def test_the_host_sees_nothing_of_the_proxy() -> None:
    asked = head(
        "POST http://a.example/x?y=1 HTTP/1.1",
        "Host: a.example",
        "Proxy-Authorization: Basic secret",
        "Proxy-Connection: keep-alive",
        "Connection: keep-alive",
        "Content-Length: 3",
    )
    assert rewritten(parsed(asked)) == head(
        "POST /x?y=1 HTTP/1.1", "Host: a.example", "Content-Length: 3", "Connection: close"
    )
    assert parsed(asked).body_bytes == 3


def test_a_body_without_a_length_is_refused() -> None:
    asked = parsed(head("POST http://a.example/ HTTP/1.1", "Transfer-Encoding: chunked"))
    with pytest.raises(ValueError, match="without a length"):
        _ = asked.body_bytes
