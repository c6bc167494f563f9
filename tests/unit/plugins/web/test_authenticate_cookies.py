"""Cookies of a login made elsewhere."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from agentic.core.actors import ActorError
from agentic.core.http import CookieJar
from agentic.core.types import JSONValue
from agentic.plugins.web.login.cookies import end_of, import_cookies, import_storage_state, read_text

URL = "https://www.jobs.example/search"
LATER = 4_102_444_800  # 2100
NETSCAPE = (
    "# Netscape HTTP Cookie File\n\n"
    f".jobs.example\tTRUE\t/\tTRUE\t{LATER}\tsid\thunter2\n"
    "#HttpOnly_www.jobs.example\tFALSE\t/\tFALSE\t0\tli\tat\n"
    "other.example\tFALSE\t/\tFALSE\t0\tx\ty\n"
)


def cookie(**fields: JSONValue) -> dict[str, JSONValue]:
    return {"name": "sid", "value": "hunter2", "domain": "www.jobs.example", "path": "/", **fields}


def test_a_netscape_file_gives_each_host_its_cookies() -> None:
    jar = import_cookies(NETSCAPE).cookies
    assert set((jar.header_for(URL) or "").split("; ")) == {"sid=hunter2", "li=at"}
    assert jar.header_for("https://jobs.example/") == "sid=hunter2"
    assert jar.header_for("http://www.jobs.example/") == "li=at"


def test_a_list_as_of_playwright_is_read() -> None:
    assert import_cookies([cookie(expires=LATER, sameSite="Lax")]).cookies.header_for(URL) == "sid=hunter2"


@pytest.mark.parametrize(
    "cookies",
    [
        "hunter2",
        "a\tb\tc",
        "a\tTRUE\t/\tTRUE\tsoon\tsid\thunter2",
        [{"name": "sid", "value": "hunter2"}],
        {"sid": "hunter2"},
        [cookie(value="hunter2; x")],
        5,
        None,
    ],
)
def test_what_are_no_cookies_is_refused_without_a_value(cookies: JSONValue) -> None:
    with pytest.raises(ActorError) as caught:
        import_cookies(cookies)
    assert caught.value.failure_class == "schema_invalid"
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("cookies", [[cookie(expires=1)], [], "# only a comment"])
def test_cookies_that_have_all_expired_are_a_login_that_has_ended(cookies: JSONValue) -> None:
    with pytest.raises(ActorError, match="log in again") as caught:
        import_cookies(cookies)
    assert caught.value.failure_class == "auth_expired"


def test_a_storage_state_gives_cookies_and_local_storage() -> None:
    storage: JSONValue = [
        {"origin": "https://www.jobs.example", "localStorage": [{"name": "t", "value": "1"}]}
    ]
    found = import_storage_state({"cookies": [cookie()], "origins": storage})
    assert (found.cookies.header_for(URL), found.storage) == ("sid=hunter2", storage)


def test_a_storage_state_may_have_no_cookies_at_all() -> None:
    found = import_storage_state({"cookies": [], "origins": [{"origin": URL, "localStorage": []}]})
    assert (len(found.cookies), found.storage) == (0, [{"origin": URL, "localStorage": []}])


@pytest.mark.parametrize(
    "state",
    ["hunter2", ["hunter2"], {"origins": [{"hunter2": 1}]}, {"origins": [{"origin": 1}]}, {"cookies": {}}],
)
def test_what_is_no_storage_state_is_refused_without_a_value(state: JSONValue) -> None:
    with pytest.raises(ActorError) as caught:
        import_storage_state(state)
    assert caught.value.failure_class == "schema_invalid"
    assert "'hunter2'" not in str(caught.value)


def test_a_secret_that_is_json_is_read_as_that_and_other_text_stays() -> None:
    assert read_text(json.dumps([cookie()])) == [cookie()]
    assert read_text(NETSCAPE) == NETSCAPE
    with pytest.raises(ValueError, match="begins like JSON"):
        read_text("{hunter2")


def test_a_login_ends_with_its_last_cookie_if_none_lasts_as_long_as_the_session() -> None:
    lasting = [cookie(expires=LATER - 10), cookie(name="b", expires=LATER)]
    assert end_of(CookieJar.from_data([*lasting])) == datetime.fromtimestamp(LATER, UTC)
    assert end_of(CookieJar.from_data([*lasting, cookie(name="c")])) is None
    assert end_of(CookieJar()) is None
    assert end_of(CookieJar.from_data([cookie(expires=1e15)])) is None
