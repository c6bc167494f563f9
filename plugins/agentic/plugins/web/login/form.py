"""Logging in by a form, over HTTP or in a browser, and telling whether that worked."""

from __future__ import annotations

from dataclasses import replace

from turbohtml import Document

from agentic.core.actors import ActorContext, ActorError
from agentic.core.actors.pages import HTML_TYPES
from agentic.core.browser import BrowserRequest, BrowserStep, Fill, Press
from agentic.core.http import FailureClass, FetchError, HttpRequest, HttpResponse, HttpSession
from agentic.core.pipeline.crawl.follow import fits
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.browsing import show
from agentic.plugins.web.login.cookies import end_of
from agentic.plugins.web.login.forms import find_form, request_of
from agentic.plugins.web.login.kept import MadeLogin
from agentic.plugins.web.login.logins import FormLogin
from agentic.plugins.web.reading.html import parse

REFUSED = frozenset({400, 401, 403, 422})


async def log_in_by_form(ctx: ActorContext, login: FormLogin, name: str) -> MadeLogin:
    """Fetch the login page, fill in its form, send it, and return the session if the site took it.

    Raises:
        ActorError: The site refused it (``auth_required``), or there is no such form (``selector_missing``).
        FetchError: A page was not fetched.
    """
    session = HttpSession(name=name)
    if login.via == "browser":
        response, storage = await _in_browser(ctx, login, session)
    else:
        response, storage = await _over_http(ctx, login, session), None
    if fault := fault_of(login, response):
        raise _refusal(login, fault, response.status)
    if not len(session.cookies) and not storage:
        raise _refusal(login, "the site set no cookie", response.status)
    made = HttpSession(name=name, cookies=session.cookies, storage=storage)
    return MadeLogin(session=made, expires_at=end_of(session.cookies))


def fault_of(login: FormLogin, response: HttpResponse) -> str:
    """Return why the answer to a login is a refusal, "" if it is none."""
    document = document_of(response)
    if login.failure is not None and document.select_one(login.failure) is not None:
        return f"the page has {login.failure!r}"
    if login.success is not None and document.select_one(login.success) is None:
        return f"the page has no {login.success!r}"
    if login.success_url is not None and not fits(response.url, [login.success_url]):
        return f"it does not lead to {login.success_url!r}"
    if login.failure or login.success or login.success_url:
        return ""
    form = find_form(document, response.url, frozenset(login.fields), login.form_selector)
    return "" if form is None else "the form is shown again"


def document_of(response: HttpResponse) -> Document:
    """Return the document of an answer; an empty one of what is no HTML."""
    return parse(response.text if response.content_type in HTML_TYPES else "")


async def _over_http(ctx: ActorContext, login: FormLogin, session: HttpSession) -> HttpResponse:
    try:
        page = await ctx.http.fetch(HttpRequest(url=login.login_url, session=session))
        return await ctx.http.fetch(replace(_request(login, page), session=session))
    except FetchError as exc:
        raise _refused_or(exc, login) from None


def _request(login: FormLogin, page: HttpResponse) -> HttpRequest:
    """Return the request that sends the form of a page, filled in."""
    form = find_form(document_of(page), page.url, frozenset(login.fields), login.form_selector)
    if form is None:
        raise _no_form(login, page)
    if page.url.startswith("https:") and not form.action.startswith("https:"):
        raise _refusal(login, "its form is not encrypted, so it was not sent", None)
    values = {name: value.get_secret_value() for name, value in login.fields.items()}
    return request_of(form, form.filled(values), page.url)


async def _in_browser(
    ctx: ActorContext, login: FormLogin, session: HttpSession
) -> tuple[HttpResponse, JSONValue]:
    marks = [mark for mark in (login.success, login.failure) if mark is not None]
    request = BrowserRequest(
        url=login.login_url,
        session=session,
        steps=steps_of(login),
        wait_for=", ".join(marks) if login.success is not None else None,
    )
    try:
        page = await show(ctx, request)
    except FetchError as exc:
        raise _refused_or(exc, login) from None
    return page.as_response(), page.storage


def steps_of(login: FormLogin) -> tuple[BrowserStep, ...]:
    """Return what somebody does at a login form: fill in each field, then press Enter in the last one."""
    form = login.form_selector or "form"
    selectors = {name: f'{form} [name="{_escaped(name)}"]' for name in login.fields}
    fills = [Fill(selector=selectors[name], value=value) for name, value in login.fields.items()]
    return *fills, Press(selector=list(selectors.values())[-1], key="Enter")


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _refused_or(exc: FetchError, login: FormLogin) -> Exception:
    """Return a refused login as such, any other failure as it is."""
    if exc.status not in REFUSED or exc.failure_class in {FailureClass.RATE_LIMITED, FailureClass.BLOCKED}:
        return exc
    return _refusal(login, f"it answered with status {exc.status}", exc.status)


def _refusal(login: FormLogin, reason: str, status: int | None) -> ActorError:
    return ActorError(
        f"{safe_url(login.login_url)} refused the login: {reason}; check the fields, or log in elsewhere "
        "and give the cookies",
        failure_class="auth_required",
        status=status,
    )


def _no_form(login: FormLogin, page: HttpResponse) -> ActorError:
    wanted = login.form_selector or f"the fields {', '.join(sorted(login.fields))}"
    return ActorError(
        f"no form on {safe_url(page.url)} has {wanted}; see form_selector and the names of the fields, or "
        f"use via: browser if scripts make the form",
        failure_class="selector_missing",
        status=page.status,
    )
