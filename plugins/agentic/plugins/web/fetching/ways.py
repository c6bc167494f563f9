"""Fetches a page over HTTP, with a browser, or whichever fits."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from agentic.core.actors import ActorContext, ActorError, Page, PageOutput
from agentic.core.browser import BrowserRequest
from agentic.core.http import FailureClass, FetchError, HttpRequest, HttpSession, canonical_url
from agentic.core.http.urls import form_text, origin_of
from agentic.core.records import unchecked
from agentic.plugins.web.actors.browsing import show
from agentic.plugins.web.fetching.answers import page_of
from agentic.plugins.web.fetching.inputs import FetchInput
from agentic.plugins.web.fetching.scripted import browser_verdict, looks_scripted, needs_browser, verdict_key
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.html import parse

_GIVEN = set(PageOutput.model_fields)

MAX_REFRESHES = 5
"""Pages that take the place of each other, in one fetch."""


async def fetch_page(ctx: ActorContext, given: FetchInput) -> PageOutput:
    """Return the page at the end of all redirects, or as the browser shows it.

    Raises:
        ActorError: The page cannot be fetched, or lacks ``wait_for``.
    """
    match given.way:
        case "http":
            if given.session is None:  # as nearly all pages, which have no refresh either
                response = await ctx.http.fetch(_request(given, None))
                page = page_of(given.url, response, datetime.now(UTC))
            else:
                page = await _once(ctx, given)
            if page.refresh_url is not None:
                page = await _last_of(page, ctx, given)
            if given.wait_for is not None:
                page = _complete(page, given)
            return unchecked(PageOutput, {"page": page}, _GIVEN)
        case "browser":
            return PageOutput(page=await _by_browser(ctx, given))
        case "auto":
            return PageOutput(page=await _by_either(ctx, given))


async def _by_http(ctx: ActorContext, given: FetchInput) -> Page:
    """Fetch a page, and the one that takes its place."""
    page = await _once(ctx, given)
    return page if page.refresh_url is None else await _last_of(page, ctx, given)


async def _last_of(page: Page, ctx: ActorContext, given: FetchInput) -> Page:
    """Fetch the pages that take the place of a page; in a circle, the last one before it is the page."""
    seen = {canonical_url(page.final_url)}
    for _ in range(MAX_REFRESHES if given.follow_refresh else 0):
        url = page.successor_url
        if url is None or canonical_url(url) in seen:
            break
        seen.add(canonical_url(url))
        is_near = origin_of(url) == origin_of(page.final_url)  # fields may be secret
        asked = FetchInput(
            url=url,
            headers=given.headers if is_near else {},
            timeout_s=given.timeout_s,
            session=given.session,
        )
        page = await _once(ctx, asked)
        seen.add(canonical_url(page.final_url))
    return page


async def _once(ctx: ActorContext, given: FetchInput) -> Page:
    if given.session is None:
        response = await ctx.http.fetch(_request(given, None))
    else:
        async with used_session(ctx, given.session) as session:
            response = await ctx.http.fetch(_request(given, session))
    return page_of(given.url, response, datetime.now(UTC))


async def _by_browser(ctx: ActorContext, given: FetchInput) -> Page:
    async with used_session(ctx, given.session) as session:
        asked = BrowserRequest(
            url=given.address,
            wait_for=given.wait_for,
            timeout_s=given.timeout_s,
            steps=given.steps,
            session=session,
        )
        shown = await show(ctx, asked)
    return page_of(given.url, shown.as_response(), datetime.now(UTC), fetched_by="browser")


async def _by_either(ctx: ActorContext, given: FetchInput) -> Page:
    """Fetch over HTTP, unless pages like this one needed a browser lately; with a browser if it needs one."""
    if needs_browser(await ctx.memory.get(verdict_key(given.url)), datetime.now(UTC)):
        return await _remembered(ctx, given)
    try:
        page = await _by_http(ctx, given)
    except FetchError as exc:
        if exc.failure_class == FailureClass.BLOCKED:
            return await _past_wall(ctx, given, exc)
        raise
    if page.is_html and looks_scripted(page.text, is_lacking=_lacks(page, given)):
        return await _remembered(ctx, given)
    return _complete(page, given)


async def _remembered(ctx: ActorContext, given: FetchInput) -> Page:
    """Fetch with a browser, and remember that pages like this one need it."""
    page = await _by_browser(ctx, given)
    await ctx.memory.put(verdict_key(given.url), browser_verdict(datetime.now(UTC)))
    return page


async def _past_wall(ctx: ActorContext, given: FetchInput, refusal: FetchError) -> Page:
    """Fetch a page with a browser after a refusal over HTTP; without a browser, the refusal counts."""
    try:
        return await _remembered(ctx, given)
    except ActorError:  # what a browser meets is a FetchError
        raise refusal from None


def _complete(page: Page, given: FetchInput) -> Page:
    if _lacks(page, given):
        message = (
            f"{given.wait_for!r} matches nothing on {page.final_url}; mode: auto uses a browser where needed"
        )
        raise ActorError(message, failure_class="selector_missing", status=page.status)
    return page


def _lacks(page: Page, given: FetchInput) -> bool:
    return given.wait_for is not None and (
        not page.is_html or parse(page.text).select_one(given.wait_for) is None
    )


def _request(given: FetchInput, session: HttpSession | None) -> HttpRequest:
    body, headers = None, given.headers
    if given.body is not None:
        body = given.body.encode()
    elif given.json_body is not None:
        body = json.dumps(given.json_body).encode()
        headers = {
            "content-type": "application/json",
            **{name.lower(): value for name, value in headers.items()},
        }
    elif given.form is not None:
        body = form_text(given.form).encode()
        headers = {
            "content-type": "application/x-www-form-urlencoded",
            **{name.lower(): value for name, value in headers.items()},
        }
    return HttpRequest(
        url=given.address,
        method=given.sent_by,
        headers=headers,
        body=body,
        timeout_s=given.timeout_s,
        session=session,
    )
