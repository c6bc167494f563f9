"""The actor that fetches a page, over HTTP or with a browser."""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator
from pydantic_core import SchemaValidator, core_schema

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, Page, PageOutput
from agentic.core.browser import BrowserRequest, BrowserStep
from agentic.core.http import (
    FailureClass,
    FetchError,
    HttpRequest,
    HttpResponse,
    HttpSession,
    canonical_url,
)
from agentic.core.http.link_header import next_link
from agentic.core.http.resolving import request_url
from agentic.core.http.sessions.url_credentials import without_user_info
from agentic.core.http.urls import Param, form_text, origin_of, with_params
from agentic.core.reading.addresses import absolute
from agentic.core.reading.refreshes import read_refresh
from agentic.core.records import unchecked
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.browsing import show
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.html import Selector, base_of, parse, refresh_of
from agentic.plugins.web.reading.scripted import browser_verdict, looks_scripted, needs_browser, verdict_key

_ALL_OF_PAGE = set(Page.model_fields)
_GIVEN = set(PageOutput.model_fields)

MAX_REFRESHES = 5
"""Pages that take the place of each other, in one fetch."""

UNTRUE = frozenset({"application/octet-stream", "text/plain"})
"""Types of files whose server does not know their type."""

# A look at the text of a page takes a hundredth of the time of its selectors.
_mentions_refresh = SchemaValidator(
    core_schema.str_schema(pattern=r"(?i)http-equiv\s*=\s*[\"']?\s*refresh")
).isinstance_python

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class FetchInput(BaseModel):
    """What to fetch, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    url: str
    mode: Literal["http", "browser", "auto"] = Field(
        default="http",
        description="auto: over HTTP, or with a browser if scripts write the page or a wall blocks it; the "
        "choice is remembered.",
    )
    use_playwright: bool | None = Field(default=None, description="true is short for mode: browser.")
    wait_for: Selector | None = Field(
        default=None,
        description="CSS selector that the page must match; a browser waits for it. Otherwise "
        "selector_missing.",
    )
    method: Method = "GET"
    params: dict[str, Param | tuple[Param, ...]] | None = Field(
        default=None, description="Query parameters to add to the URL."
    )
    body: str | None = Field(default=None, description="Raw body, in UTF-8.")
    json_body: JSONValue = Field(default=None, alias="json", description="JSON body.")
    form: dict[str, Param | tuple[Param, ...]] | None = Field(
        default=None, description="Fields of a form, sent as a POST."
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="Headers of HTTP requests; a browser sends its own."
    )
    steps: tuple[BrowserStep, ...] = Field(
        default=(),
        description="Browser actions before the page is read: fill, click, press, scroll.",
    )
    follow_refresh: bool = Field(
        default=True,
        description="Follow a refresh within 15 seconds like a redirect; a crawl does it itself.",
    )
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout, instead of the policy's.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        bodies = [body for body in (self.body, self.json_body, self.form) if body is not None]
        if self.way == "http" and not (self.use_playwright or self.steps):
            is_get = self.sent_by == "GET"
            if len(bodies) > 1 or (bodies and is_get):
                raise ValueError(
                    "a request has one of body, json and form, and a method other than GET, e.g. POST"
                )
            return self
        if self.use_playwright is False and self.mode != "http":
            raise ValueError(f"mode {self.mode!r} and use_playwright: false contradict each other")
        if self.method != "GET" or bodies:
            raise ValueError("a browser supports GET only; use mode: http, or steps that fill in a form")
        if self.way == "http":
            raise ValueError("steps are for a browser; set mode: browser or auto")
        return self

    @property
    def way(self) -> Literal["http", "browser", "auto"]:
        """How to fetch."""
        return "browser" if self.use_playwright else self.mode

    @property
    def sent_by(self) -> Method:
        """The method of the request: a form is a POST unless another one is given."""
        return "POST" if self.form is not None and "method" not in self.model_fields_set else self.method

    @property
    def address(self) -> str:
        """The URL with ``params``."""
        return with_params(self.url, self.params) if self.params else self.url


class FetchActor(Actor[FetchInput, PageOutput]):
    """Fetches one page with the HTTP policy of the pipeline."""

    name = "fetch"
    version = "2"
    aliases = ("InitialFetcher", "FetchDetail")
    Input = FetchInput
    Output = PageOutput
    failure_classes = frozenset({"browser_crashed", "selector_missing"})
    capabilities = frozenset({"browser", "network"})

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:
        """Return what a step with this config needs: no browser for mode ``http``."""
        is_shown = config.get("use_playwright") or config.get("mode", "http") != "http"
        return cls.capabilities if is_shown else cls.capabilities - {"browser"}

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str] | None:
        """Return all for what only reads; what may change something is not sent again if it may have come."""
        method = config.get("method", "POST" if config.get("form") else "GET")
        is_reading = method == "GET" and not config.get("steps")
        return None if is_reading else frozenset({"rate_limited"})

    async def run(self, ctx: ActorContext, given: FetchInput, /) -> PageOutput:
        """Return the page at the end of all redirects, or as the browser shows it."""
        match given.way:
            case "http":
                page = _complete(await _by_http(ctx, given), given)
                return unchecked(PageOutput, {"page": page}, _GIVEN)
            case "browser":
                return PageOutput(page=await _by_browser(ctx, given))
            case "auto":
                return PageOutput(page=await _by_either(ctx, given))


async def _by_http(ctx: ActorContext, given: FetchInput) -> Page:
    """Fetch a page, and the one that takes its place; in a circle, the last one before it is the page."""
    page = await _once(ctx, given)
    if page.refresh_url is None:  # nearly all pages
        return page
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
    """Fetch with a browser what was refused over HTTP; where there is none, the refusal is what counts."""
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


def page_of(url: str, response: HttpResponse, now: datetime, fetched_by: str = "http") -> Page:
    """Return an answer as a page; bodies that are no text are known by their hash only."""
    content_type = _type_of(response)
    final_url = request_url(response.url)
    encoding, text = response.decoded if _is_text(content_type) else ("utf-8", "")
    values: dict[str, object] = {
        "url": without_user_info(url),
        "final_url": final_url,
        "status": response.status,
        "content_type": content_type,
        "text": text,
        "encoding": encoding,
        "content_hash": hashlib.sha256(response.body).hexdigest(),
        "fetched_at": now,
        "fetched_by": fetched_by,
        "robots": response.headers.get("x-robots-tag", ""),
        "next_url": _next_url(response),
        "refresh_url": None,
        "refresh_s": 0,
    }
    page = unchecked(Page, values, _ALL_OF_PAGE)
    if "refresh" in response.headers or (page.is_html and _mentions_refresh(text)):
        return _with_refresh(page, response.headers.get("refresh", ""))
    return page


def _with_refresh(page: Page, field: str) -> Page:
    """Return a page with the page that takes its place, by the field ``Refresh`` or by its ``<meta>``."""
    found, base = read_refresh(field), page.final_url
    if found is None and page.is_html:
        try:
            document = parse(page.text)
        except ActorError:  # reading it reports that
            return page
        found, base = refresh_of(document), base_of(document, page.final_url)
    url = absolute(base, found.address, page.encoding) if found else None
    if found is None or url is None or canonical_url(url) == canonical_url(page.final_url):
        return page
    return page.model_copy(update={"refresh_url": url, "refresh_s": found.seconds})


def _next_url(response: HttpResponse) -> str | None:
    """Return where the header ``Link`` says that the next page is."""
    address = next_link(response.headers)
    return None if address is None else absolute(response.url, address)


def _type_of(response: HttpResponse) -> str:
    """Return the type of an answer; a page that a server sends as text or bytes is known by its start.

    Scrapy and Crawlee read such pages, too. ``nosniff`` keeps a text a text.
    """
    content_type = response.content_type
    if content_type in UNTRUE and "nosniff" not in response.headers.get("x-content-type-options", "").lower():
        start = response.body[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
        return "text/html" if start.startswith((b"<!doctype html", b"<html")) else content_type
    return content_type


def _is_text(content_type: str) -> bool:
    return (
        not content_type
        or content_type.startswith("text/")
        or content_type.endswith(("xml", "json", "javascript"))
    )
