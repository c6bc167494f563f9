"""What of a session goes into a browser, and what comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.browser import InvalidStorageError
from agentic.core.browser.cookies import keep_cookies
from agentic.core.browser.storage import storage_state
from agentic.core.http import CookieJar, HttpSession
from agentic.core.types import JSONValue


def cookie(name: str, value: str = "1", **fields: JSONValue) -> dict[str, JSONValue]:
    """Return a cookie as Playwright writes it."""
    plain: dict[str, JSONValue] = {"domain": "a.example", "path": "/", "expires": -1, "httpOnly": False}
    return {"name": name, "value": value, **plain, "secure": False, "sameSite": "Lax", **fields}


FAR = 4_000_000_000


def test_a_browser_is_told_nothing_without_a_session() -> None:
    assert storage_state(None) == {"cookies": [], "origins": []}


def test_a_browser_is_told_cookies_and_local_storage() -> None:
    origins: JSONValue = [
        {"origin": "http://a.example", "localStorage": [{"name": "token", "value": "hidden"}]}
    ]
    session = HttpSession(name="shop", cookies=CookieJar.from_data([cookie("a")]), storage=origins)
    state = storage_state(session)
    assert state["origins"] == origins
    assert state["cookies"] == [cookie("a")]


def test_storage_of_another_shape_is_refused_without_its_values() -> None:
    session = HttpSession(name="shop", storage=[{"origin": "http://a", "localStorage": "hidden"}])
    with pytest.raises(
        InvalidStorageError, match=r"session 'shop' cannot be read: 0\.localStorage"
    ) as caught:
        storage_state(session)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "new",
    [
        cookie("a"),
        cookie("a", domain=".a.example", expires=float(FAR)),
        cookie("a", path="/shop", httpOnly=True, sameSite="Strict"),
        cookie("a", secure=True, sameSite="None"),
        cookie("a", domain="127.0.0.1"),
        cookie("a", domain="localhost"),
        cookie("a", "with=signs and spaces"),
    ],
    ids=str,
)
def test_a_cookie_that_a_browser_got_is_kept_as_it_is(new: dict[str, JSONValue]) -> None:
    jar = CookieJar()
    keep_cookies(jar, [], [new])
    assert jar.to_data() == [new]


def test_only_what_the_browser_has_changed_is_changed() -> None:
    jar = CookieJar.from_data([cookie("same"), cookie("gone"), cookie("changed"), cookie("others", "new")])
    before = [cookie("same"), cookie("gone"), cookie("changed"), cookie("others", "old")]
    keep_cookies(jar, before, [cookie("same"), cookie("changed", "2"), cookie("others", "old")])
    assert jar.header_for("http://a.example/") == "same=1; changed=2; others=new"


@given(st.lists(st.sampled_from("abc"), unique=True), st.lists(st.sampled_from("abc"), unique=True))
def test_the_jar_has_in_the_end_what_the_browser_has(first: list[str], last: list[str]) -> None:
    before: list[JSONValue] = [cookie(name) for name in first]
    jar = CookieJar.from_data(before)
    keep_cookies(jar, before, [cookie(name) for name in last])
    assert {str(item["name"]) for item in jar.to_data() if isinstance(item, dict)} == set(last)
