from __future__ import annotations

import pytest
from pydantic import SecretStr

from agentic.core.http import CookieJar, HttpRequest, HttpSession


def session(*hosts: str, set_cookie: str = "") -> HttpSession:
    jar = CookieJar()
    jar.store("https://shop.example/", [set_cookie] if set_cookie else [])
    return HttpSession(
        name="shop",
        hosts=frozenset(hosts),
        headers={"Authorization": SecretStr("Bearer hunter2")},
        cookies=jar,
        storage={"token": "hunter2"},
    )


@pytest.mark.parametrize(
    ("hosts", "url", "is_sent"),
    [
        (["shop.example"], "https://shop.example/a", True),
        (["Shop.Example."], "https://shop.example:8443/a", True),
        (["shop.example:443"], "https://shop.example/a", True),
        (["shop.example:443"], "https://shop.example:8443/a", False),
        (["shop.example"], "https://api.shop.example/", False),
        (["127.0.0.1:8000"], "http://127.0.0.1:8000/", True),
        (["[::1]:80"], "http://[::1]/", True),
        ([], "https://shop.example/", False),
    ],
)
def test_headers_go_only_to_the_hosts_named(hosts: list[str], url: str, is_sent: bool) -> None:
    expected = {"authorization": "Bearer hunter2"} if is_sent else {}
    assert session(*hosts).headers_for(url) == expected


def test_headers_do_not_follow_a_secure_fetch_to_an_open_connection() -> None:
    found = session("shop.example")
    assert found.headers_for("http://shop.example/", is_secure=True) == {}
    assert found.headers_for("http://shop.example/") != {}


def test_cookies_go_where_their_own_rules_allow() -> None:
    found = session(set_cookie="sid=1; Path=/; Domain=shop.example")
    assert found.headers_for("https://api.shop.example/") == {"cookie": "sid=1"}


@pytest.mark.requirement("PL41")
def test_neither_session_nor_request_shows_a_value() -> None:
    found = session("shop.example", set_cookie="sid=hunter2; Path=/")
    request = HttpRequest(
        url="https://shop.example/", headers={"X-Key": "hunter2"}, body=b"hunter2", session=found
    )
    assert "hunter2" not in repr(request)
    assert "name='shop'" in repr(request)
