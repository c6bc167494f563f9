"""Login forms as browsers send them."""

from __future__ import annotations

import pytest

from agentic.plugins.web.login.forms import Form, find_form, request_of
from agentic.plugins.web.reading.html import parse

URL = "https://jobs.example/account/login"
WANTED = frozenset({"user", "password"})
LOGIN = '<input name="user"><input type="password" name="password">'


def form_in(html: str, selector: str | None = None, url: str = URL) -> Form:
    found = find_form(parse(html), url, WANTED, selector)
    assert found is not None
    return found


def test_the_form_with_all_the_fields_is_found_among_others() -> None:
    html = f'<form action="/search"><input name="q"></form><form action="in">{LOGIN}</form>'
    assert form_in(html).action == "https://jobs.example/account/in"


def test_a_selector_may_name_the_form_or_something_in_it() -> None:
    html = f'<form action="a">{LOGIN}</form><form id="f" action="b"><p class="x">{LOGIN}</p></form>'
    assert form_in(html, "#f").action == form_in(html, ".x").action == "https://jobs.example/account/b"
    assert find_form(parse(html), URL, WANTED, "#missing") is None
    assert find_form(parse("<p class=x>"), URL, WANTED, ".x") is None


@pytest.mark.parametrize("html", ["", "<form><input name=user></form>", LOGIN])
def test_without_such_a_form_there_is_none(html: str) -> None:
    assert find_form(parse(html), URL, WANTED, None) is None


@pytest.mark.parametrize(
    ("attributes", "action"),
    [
        ("", URL),
        ('action=""', URL),
        ('action="?next=%2F"', f"{URL}?next=%2F"),
        ('action="//sso.example/in"', "https://sso.example/in"),
    ],
)
def test_an_action_is_relative_to_the_page(attributes: str, action: str) -> None:
    assert form_in(f"<form {attributes}>{LOGIN}</form>").action == action


def test_a_base_counts_for_an_action_that_is_there() -> None:
    base = '<base href="/other/">'
    assert form_in(f'{base}<form action="in">{LOGIN}</form>').action == "https://jobs.example/other/in"
    assert form_in(f"{base}<form>{LOGIN}</form>").action == URL


def test_what_a_browser_would_send_is_sent() -> None:
    html = f"""<form id="f" method="POST">
      <input type="hidden" name="csrf" value="t&amp;1">{LOGIN}
      <input type="checkbox" name="stay" checked><input type="checkbox" name="spam" value="yes">
      <input type="radio" name="lang" value="en"><input type="radio" name="lang" value="de" checked>
      <select name="site"><option value="1">One<option selected>Two  words</select>
      <select name="first"><option value="a"><option value="b"></select>
      <select name="many" multiple><option value="a"></select>
      <textarea name="note">as it is</textarea>
      <input name="off" disabled value="x"><fieldset disabled><input name="off2" value="x"></fieldset>
      <input type="reset" name="r" value="x"><input type="file" name="upload">
      <button type="button" name="b" value="x">B</button>
      <button name="go" value="in">Log in</button><button name="go" value="register">New</button>
    </form><input name="outside" form="f" value="o"><input name="stranger" value="x">"""
    pairs = form_in(html).filled({"user": "ada", "password": "p"})
    assert pairs == [
        ("csrf", "t&1"),
        ("user", "ada"),
        ("password", "p"),
        ("stay", "on"),
        ("lang", "de"),
        ("site", "Two words"),
        ("first", "a"),
        ("note", "as it is"),
        ("outside", "o"),
        ("go", "in"),
    ]


def test_a_field_the_form_does_not_have_is_sent_too() -> None:
    assert ("device", "d") in form_in(f"<form>{LOGIN}</form>").filled({"device": "d"})


def test_an_image_that_is_clicked_sends_where() -> None:
    form = form_in(f'<form>{LOGIN}<input type="image" name="in"></form>')
    assert form.filled({})[-2:] == [("in.x", "0"), ("in.y", "0")]


def test_a_post_is_urlencoded_and_says_where_it_comes_from() -> None:
    form = form_in(f'<form method="post" action="in">{LOGIN}</form>')
    request = request_of(form, form.filled({"user": "ä b", "password": "&="}), URL)
    assert (request.method, request.body) == ("POST", b"user=%C3%A4+b&password=%26%3D")
    assert request.headers == {
        "content-type": "application/x-www-form-urlencoded",
        "origin": "https://jobs.example",
        "referer": URL,
    }


def test_another_site_is_told_no_path_and_no_query() -> None:
    form = form_in(f'<form action="https://sso.example/in">{LOGIN}</form>')
    request = request_of(form, [], f"{URL}?token=hunter2")
    assert request.headers == {"referer": "https://jobs.example/"}


def test_a_get_has_the_fields_in_its_query_in_place_of_the_action_s() -> None:
    form = form_in(f'<form action="in?old=1#top">{LOGIN}</form>')
    request = request_of(form, form.filled({"user": "a", "password": "p"}), URL)
    assert (request.method, request.url) == ("GET", "https://jobs.example/account/in?user=a&password=p")
    assert request.body is None


def test_multipart_has_a_part_for_each_field() -> None:
    form = form_in(f'<form method="post" enctype="multipart/form-data">{LOGIN}</form>')
    request = request_of(form, [('us"er\n', "a\nb"), ("password", "p")], URL, boundary=lambda: "MARK")
    assert request.headers["content-type"] == "multipart/form-data; boundary=MARK"
    assert request.body == (
        b'--MARK\r\nContent-Disposition: form-data; name="us%22er%0A"\r\n\r\na\r\nb\r\n'
        b'--MARK\r\nContent-Disposition: form-data; name="password"\r\n\r\np\r\n--MARK--\r\n'
    )


def test_plain_text_is_sent_as_such() -> None:
    form = form_in(f'<form method="post" enctype="text/plain">{LOGIN}</form>')
    request = request_of(form, [("user", "a"), ("password", "p")], URL)
    assert (request.headers["content-type"], request.body) == ("text/plain", b"user=a\r\npassword=p\r\n")


def test_half_a_surrogate_pair_does_not_stop_a_login() -> None:
    form = form_in(f'<form method="post">{LOGIN}</form>')
    assert request_of(form, [("user", "\ud800")], URL).body == b"user=%3F"


def test_a_form_shows_no_value() -> None:
    form = form_in(f'<form><input type="hidden" name="csrf" value="hunter2">{LOGIN}</form>')
    assert "hunter2" not in repr(form)
