from __future__ import annotations

import json
import time

import pytest

from agentic.core.browser.cookies import keep_cookies
from agentic.core.http import CookieJar, InvalidCookieError
from agentic.core.http.sessions.cookies import MAX_CHARACTERS, MAX_COOKIES
from agentic.core.types import JSONValue


def jar_with(*set_cookies: str, url: str = "https://shop.example/list/page") -> CookieJar:
    jar = CookieJar()
    jar.store(url, set_cookies)
    return jar


@pytest.mark.parametrize(
    ("set_cookie", "url", "is_kept"),
    [
        ("__Secure-a=1; Path=/; Secure", "https://shop.example/", True),
        ("__Secure-a=1; Path=/; Secure; Domain=shop.example", "https://shop.example/", True),
        ("__Secure-a=1; Path=/", "https://shop.example/", False),
        ("__Secure-a=1; Path=/; Secure", "http://shop.example/", False),
        ("__Host-a=1; Path=/; Secure", "https://shop.example/", True),
        ("__Host-a=1; Secure", "https://shop.example/", False),
        ("__Host-a=1; Path=/list; Secure", "https://shop.example/list", False),
        ("__Host-a=1; Path=/; Path=/list; Secure", "https://shop.example/list", False),
        ("__Host-a=1; Path=/; Secure; Domain=shop.example", "https://shop.example/", False),
        ("__HOST-a=1; Path=/", "https://shop.example/", False),
        ("__Hosta=1; Path=/", "https://shop.example/", True),
    ],
)
def test_a_name_that_promises_where_a_cookie_came_from_is_kept_to(
    set_cookie: str, url: str, is_kept: bool
) -> None:
    assert len(jar_with(set_cookie, url=url)) == is_kept


def test_a_cookie_goes_back_to_where_it_came_from() -> None:
    jar = jar_with("sid=abc; Path=/", "lang=en; Path=/")
    assert jar.header_for("https://shop.example/") == "sid=abc; lang=en"
    assert jar.header_for("https://other.example/") is None


@pytest.mark.parametrize(
    ("set_cookie", "url", "is_sent"),
    [
        ("a=1", "https://shop.example/list/other", True),
        ("a=1", "https://shop.example/cart", False),
        ("a=1; Path=/", "https://shop.example/cart", True),
        ("a=1; Path=/cart", "https://shop.example/cart/2", True),
        ("a=1; Path=/cart", "https://shop.example/cartoons", False),
        ("a=1; Path=/", "https://api.shop.example/", False),
        ("a=1; Path=/; Domain=shop.example", "https://api.shop.example/", True),
        ("a=1; Path=/; Domain=shop.example", "https://webshop.example/", False),
        ("a=1; Path=/; Domain=other.example", "https://other.example/", False),
        ("a=1; Path=/; Domain=example", "https://other.example/", False),
        ("a=1; Path=/; Secure", "https://shop.example/", True),
        ("a=1; Path=/; Secure", "http://shop.example/", False),
        ("a=1; Path=/; HttpOnly; SameSite=Strict", "http://shop.example/", True),
        ("a=1; Path=/", "https://shop.example:8443/", True),
        ("a=1; Path=/; Max-Age=60", "https://shop.example/", True),
        ("a=1; Path=/; Max-Age=0", "https://shop.example/", False),
        ("a=1; Path=/; Expires=Thu, 01 Jan 2015 00:00:00 GMT", "https://shop.example/", False),
        ("a=1; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "https://shop.example/", True),
    ],
)
def test_a_cookie_goes_only_where_domain_path_security_and_age_allow(
    set_cookie: str, url: str, is_sent: bool
) -> None:
    assert jar_with(set_cookie).header_for(url) == ("a=1" if is_sent else None)


PUBLIC = [
    ("shop.co.uk", "co.uk"),
    ("shop.co.uk", ".co.uk"),
    ("shop.co.uk", "CO.UK"),
    ("shop.co.uk", "uk"),
    ("mine.github.io", "github.io"),
    ("mine.github.io", "io"),
    ("a.b.compute.amazonaws.com", "compute.amazonaws.com"),
    ("x.example.ck", "example.ck"),  # by the wildcard `*.ck`
    ("shop.xn--55qx5d.cn", "xn--55qx5d.cn"),
    ("inner.unknown-tld", "unknown-tld"),
    ("shop.co.uk.", "co.uk."),
]


@pytest.mark.parametrize(("host", "domain"), PUBLIC)
def test_nobody_sets_a_cookie_for_all_of_a_public_suffix(host: str, domain: str) -> None:
    jar = jar_with(f"a=1; Path=/; Domain={domain}", f"b=1; Domain={domain}; Path=/", url=f"https://{host}/")
    assert len(jar) == 0
    plain = domain.strip(".").lower()
    for url in (f"https://other.{plain}/", f"https://{plain}/", f"https://{host}/"):
        assert jar.header_for(url) is None


@pytest.mark.parametrize(
    ("host", "domain"),
    [("shop.co.uk", "shop.co.uk"), ("a.mine.github.io", "mine.github.io"), ("b.www.ck", "www.ck")],
)
def test_a_domain_below_a_public_suffix_is_somebodys_own(host: str, domain: str) -> None:
    jar = jar_with(f"a=1; Path=/; Domain={domain}", url=f"https://{host}/")
    assert jar.header_for(f"https://other.{domain}/") == "a=1"


@pytest.mark.parametrize("host", ["github.io", "co.uk", "localhost"])
def test_a_host_that_is_a_public_suffix_has_cookies_for_itself_alone(host: str) -> None:
    jar = jar_with(f"a=1; Path=/; Domain={host}", url=f"https://{host}/")
    assert jar.header_for(f"https://{host}/b") == "a=1"
    assert jar.header_for(f"https://other.{host}/") is None


@pytest.mark.parametrize("field", ["Domain=", "Domain", "Domain=;Domain=shop.example"])
def test_an_empty_domain_counts_for_nothing(field: str) -> None:
    assert jar_with(f"a=1; Path=/; {field}").header_for("https://shop.example/") == "a=1"


@pytest.mark.parametrize(
    ("host", "domain"), [("x.co.uk", ".co.uk"), ("x.github.io", ".GitHub.io"), ("x.com", ".com")]
)
def test_a_stored_cookie_for_all_of_a_public_suffix_is_left_out(host: str, domain: str) -> None:
    data: list[object] = [
        {"name": "a", "value": "1", "domain": domain, "path": "/"},
        {"name": "b", "value": "2", "domain": host, "path": "/"},
    ]
    jar = CookieJar.from_data(data)  # type: ignore[arg-type] # JSON
    assert jar.header_for(f"https://{host}/") == "b=2"


def test_a_browsers_cookies_come_back_by_the_same_rules() -> None:
    jar = CookieJar()
    cookie: dict[str, JSONValue] = {
        "name": "a",
        "value": "1",
        "path": "/",
        "expires": -1,
        "secure": False,
        "httpOnly": False,
    }
    keep_cookies(jar, [], [{**cookie, "domain": ".github.io"}, {**cookie, "domain": ".mine.github.io"}])
    assert jar.header_for("https://other.github.io/") is None
    assert jar.header_for("https://sub.mine.github.io/") == "a=1"


@pytest.mark.parametrize("end", ["Max-Age=0", "Expires=Thu, 01 Jan 2015 00:00:00 GMT", "Max-Age=60"])
def test_a_site_deletes_and_changes_no_cookie_of_another(end: str) -> None:
    jar = jar_with("sid=abc; Path=/; Domain=shop.example")
    for domain in ("shop.example", ".shop.example"):
        jar.store("https://evil.example/", [f"sid=evil; Path=/; Domain={domain}; {end}"])
    assert jar.header_for("https://shop.example/") == "sid=abc"


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "printer"])
def test_hosts_without_a_dot_and_addresses_have_cookies_too(host: str) -> None:
    jar = jar_with("a=1; Path=/", url=f"http://{host}/")
    again = CookieJar.from_data(jar.to_data())
    assert again.header_for(f"http://{host}/b") == "a=1"
    assert again.header_for("http://elsewhere/") is None


def test_a_password_in_the_url_changes_nothing() -> None:
    jar = jar_with("a=1; Path=/", url="https://me:secret@shop.example/")
    assert jar.header_for("https://shop.example/") == "a=1"


def test_a_later_value_takes_the_place_of_an_earlier_one() -> None:
    jar = jar_with("a=1; Path=/", "b=1; Path=/")
    jar.store("https://shop.example/", ["a=2; Path=/", "b=; Path=/; Max-Age=0"])
    assert jar.header_for("https://shop.example/") == "a=2"


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["a=1; Path=/", "a=; Path=/; Max-Age=0"], None),
        (["a=; Path=/; Max-Age=0", "a=2; Path=/"], "a=2"),
        (["a=1; Path=/", "a=x; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=3; Path=/"], "a=3"),
    ],
)
def test_the_fields_of_an_answer_count_in_their_order(lines: list[str], kept: str | None) -> None:
    assert jar_with(*lines).header_for("https://shop.example/") == kept


@pytest.mark.parametrize(
    "attributes",
    ['Max-Age="3600"', "Max-Age=soon", "Max-Age=1.5", "Max-Age=", "Path=list", 'Path="/"', "Path=?x", "Path"],
)
def test_an_attribute_that_browsers_ignore_costs_no_cookie(attributes: str) -> None:
    jar = jar_with(f"a=1; {attributes}", url="https://shop.example/login")
    assert jar.header_for("https://shop.example/list/page") == "a=1"


@pytest.mark.parametrize(
    "line", ["", "=", ";;;", "a=1; Path=/\r\nX-Evil: 1", "a=\x00", "a=\udc80", "a=" + "x" * MAX_CHARACTERS]
)
def test_a_field_that_cannot_be_sent_back_is_left_out(line: str) -> None:
    assert jar_with(line).header_for("https://shop.example/list/page") is None


def test_a_site_that_sets_cookies_without_end_is_stopped() -> None:
    jar = CookieJar()
    for batch in range(20):
        jar.store("https://shop.example/", [f"c{batch}-{number}=1; Path=/" for number in range(100)])
    assert len(jar) <= MAX_COOKIES + 100


def test_cookies_survive_being_stored_as_json() -> None:
    jar = jar_with(
        'sid="a b"; Path=/; HttpOnly; Secure; SameSite=None',
        "all=1; Path=/; Domain=shop.example; Max-Age=3600",
    )
    data = json.loads(json.dumps(jar.to_data()))
    assert data[0] | {"expires": -1} == data[0]
    again = CookieJar.from_data(data)
    assert again.to_data() == jar.to_data()
    for url in ("https://shop.example/", "https://api.shop.example/", "http://shop.example/"):
        assert again.header_for(url) == jar.header_for(url)


def test_a_browsers_storage_state_can_be_read() -> None:
    data: list[object] = [
        {
            "name": "sid",
            "value": "abc",
            "domain": ".shop.example",
            "path": "/",
            "expires": time.time() + 60.5,
            "httpOnly": True,
            "secure": True,
            "sameSite": "Lax",
            "partitionKey": "https://shop.example",
        },
        {"name": "old", "value": "1", "domain": "shop.example", "path": "/", "expires": 1},
    ]
    jar = CookieJar.from_data(data)  # type: ignore[arg-type] # JSON, as `json.loads` gives it
    assert jar.header_for("https://api.shop.example/x") == "sid=abc"
    assert [dict(c)["name"] for c in jar.to_data() if isinstance(c, dict)] == ["sid"]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"cookies": []}, "all: Input should be a valid list"),
        ([{"name": "a", "value": "hunter2"}], r"0\.domain: Field required"),
        ([{"name": "a", "value": "hunter2\r\nX: 1", "domain": "h"}], r"0\.value"),
        ([{"name": "a b", "value": "hunter2", "domain": "h"}], r"0\.name"),
    ],
)
def test_what_is_no_cookie_is_refused_without_being_shown(data: object, fault: str) -> None:
    with pytest.raises(InvalidCookieError, match=fault) as caught:
        CookieJar.from_data(data)  # type: ignore[arg-type] # on purpose
    assert "hunter2" not in str(caught.value)


@pytest.mark.requirement("PL41")
def test_a_jar_shows_no_value() -> None:
    assert repr(jar_with("sid=hunter2; Path=/")) == "CookieJar(1 cookies)"
