"""Login forms found by their structure, and those that must not get a password."""

from __future__ import annotations

import pytest
from turbohtml import Document, parse

from agentic.core.pipeline.repairs.login_forms import (
    FoundLogin,
    OldLogin,
    find_login,
    login_links,
    still_works,
)

URL = "https://tools.example/login"
OLD = OldLogin(URL, ("session_key", "session_password"))
SEARCH = '<form action="/search"><input name="q"></form>'


def page(form: str) -> Document:
    return parse(f"<html><body>{SEARCH}{form}</body></html>")


def form(fields: str, action: str = "/account/session", method: str = "post", more: str = "") -> str:
    return f'<form action="{action}" method="{method}" {more}>{fields}<button>Go</button></form>'


USER = '<input name="member[mail]" type="email">'
PASSWORD = '<input type="password" name="member[code_word]">'
TOKEN = '<input type="hidden" name="csrf" value="very-secret-token">'


def found(markup: str, old: OldLogin = OLD, url: str = URL) -> FoundLogin:
    one = find_login([(page(markup), url), (page(markup), url)], old)
    assert isinstance(one, FoundLogin), one
    return one


def refused(markup: str, old: OldLogin = OLD, url: str = URL, again: str = "") -> str:
    one = find_login([(page(markup), url), (page(again or markup), url)], old)
    assert isinstance(one, str), one
    return one


def test_renamed_fields_are_found_and_no_value_of_the_form_is_kept() -> None:
    login = found(form(TOKEN + USER + PASSWORD))
    assert login.renamed == {"session_key": "member[mail]", "session_password": "member[code_word]"}
    assert login.form.action == "https://tools.example/account/session"
    assert login.form.hidden == ("csrf",)
    assert "very-secret-token" not in repr(login)


def test_form_with_its_old_fields_still_works() -> None:
    fields = '<input name="session_key"><input type="password" name="session_password">'
    assert still_works(page(form(fields)), OLD)
    assert not still_works(page(form(USER + PASSWORD)), OLD)
    assert not still_works(page(form(fields)), OldLogin(URL, OLD.names, "form.login"))


def test_field_that_kept_its_name_stays() -> None:
    login = found(form('<input name="session_key">' + PASSWORD))
    assert login.renamed == {"session_password": "member[code_word]"}


def test_secret_of_a_field_says_which_one_is_the_password() -> None:
    old = OldLogin(URL, ("f1", "f2"), None, {"f1": "TOOLS_USER", "f2": "TOOLS_PASSWORD"})
    assert found(form(USER + PASSWORD), old).renamed == {"f1": "member[mail]", "f2": "member[code_word]"}
    assert "unclear which field of the spec is the password" in refused(
        form(USER + PASSWORD), OldLogin(URL, ("f1", "f2"))
    )


def test_selector_of_a_form_that_is_gone_is_dropped_where_the_names_find_it() -> None:
    assert found(form(USER + PASSWORD), OldLogin(URL, OLD.names, "form.login")).drops_selector
    kept = found(form(USER + PASSWORD, more='class="login"'), OldLogin(URL, OLD.names, "form.login"))
    assert not kept.drops_selector


@pytest.mark.parametrize(
    "action",
    ["https://evil.example/account", "//evil.example/x", "http://tools.example/login", "javascript:send()"],
)
def test_form_that_is_sent_to_another_site_or_without_tls_is_never_proposed(action: str) -> None:
    assert "it may be foreign" in refused(form(USER + PASSWORD, action))


def test_base_of_the_page_does_not_lead_a_password_elsewhere() -> None:
    markup = '<base href="https://evil.example/">' + form(USER + PASSWORD, "login")
    assert "is sent to evil.example" in refused(markup)


def test_login_page_that_leads_to_another_site_is_not_taken() -> None:
    said = refused(form(USER + PASSWORD), url="https://tools-login.example/login")
    assert said.startswith("the login page leads to https://tools-login.example")
    assert "another site" in refused(form(USER + PASSWORD), url="http://tools.example/login")


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        (form(USER + PASSWORD) + form(USER + PASSWORD, "/other"), "2 forms of the page may be the login"),
        (form(USER + PASSWORD + '<input type="password" name="again">'), "just one field for a password"),
        (form('<input name="a">' + '<input name="b">' + PASSWORD), "no single field for a user"),
        (form(USER + '<input name="company">' + PASSWORD), "the form also asks for 'company'"),
        (form('<p class="no"><input name="email"></p><input name="x1">' + PASSWORD), "also asks for 'x1'"),
        (form(USER + PASSWORD + '<input name="otp">'), "the form also asks for 'otp'"),
        (form('<input name="username">'), "asks for the user first"),
        ("<div id=app></div>", "scripts may make it"),
        (form(USER + PASSWORD, method="get"), "is not sent by POST"),
        (form(USER + PASSWORD, more='id="signup"') + form(USER + PASSWORD), "an earlier form"),
    ],
)
def test_form_that_is_not_clear_is_left_to_a_person(markup: str, said: str) -> None:
    assert said in refused(markup)


def test_registration_and_traps_are_passed_over() -> None:
    register = form('<input name="new">' + PASSWORD, "/register", more='id="register"')
    trap = '<div style="display: none"><input name="email"></div><input name="website">'
    login = found(register + form(trap + USER + PASSWORD))
    assert login.form.action == "https://tools.example/account/session"
    assert login.form.user == "member[mail]"


def test_names_that_change_with_each_answer_are_not_proposed() -> None:
    other = form(USER.replace("mail", "m8a1l") + PASSWORD)
    assert "change with each answer" in refused(form(USER + PASSWORD), again=other)


def test_links_to_a_login_are_of_the_same_site() -> None:
    links = '<a href="/konto">Anmelden</a><a href="/sign-in?x=1">Enter</a><a href="https://evil.example/login">Login</a>'
    links += '<a href="/blog">Blog</a><a href="/signing-tools">Signing</a>'
    document = parse(f"<body>{links}</body>")
    assert login_links(document, URL) == ["https://tools.example/konto", "https://tools.example/sign-in?x=1"]


def test_form_of_a_page_without_tls_may_be_sent_with_it() -> None:
    old = OldLogin("http://tools.example/login", OLD.names)
    markup = form(USER + PASSWORD, "https://tools.example/session")
    assert found(markup, old, old.url).form.action == "https://tools.example/session"
    assert "may be foreign" in refused(form(USER + PASSWORD, "https://evil.example/"), old, old.url)
