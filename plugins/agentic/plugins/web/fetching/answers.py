"""Answers of servers and browsers as pages."""

from __future__ import annotations

import codecs
import hashlib
from datetime import datetime

from pydantic_core import SchemaValidator, core_schema

from agentic.core.actors import ActorError, Page
from agentic.core.http import HttpResponse, canonical_url
from agentic.core.http.link_header import next_link
from agentic.core.http.resolving import request_url
from agentic.core.http.sessions.url_credentials import without_user_info
from agentic.core.linear import LinearPattern
from agentic.core.reading.addresses import absolute, base_of
from agentic.core.reading.refreshes import read_refresh
from agentic.core.records import unchecked
from agentic.plugins.web.reading.html import parse, refresh_of

# HTML reads all that follows as the text of such an element, and XML closes it at once.
_CLOSED_AT_ONCE = LinearPattern(
    r"<(script|style|title|textarea|iframe|noembed|noframes|noscript|xmp)(\s[^<>]*)?/>", ignore_case=True
)

_STARTS_OF_JSON = frozenset({b'{"', b"{}", b"[{", b'["', b"[[", b"[]"})

_ALL_OF_PAGE = set(Page.model_fields)

XHTML = "application/xhtml+xml"
BYTES = "application/octet-stream"
UNTRUE = frozenset({BYTES, "text/plain"})
"""Types of files whose server does not know their type."""

# A look at the text of a page takes a hundredth of the time of its selectors.
_mentions_refresh = SchemaValidator(
    core_schema.str_schema(pattern=r"(?i)http-equiv\s*=\s*[\"']?\s*refresh")
).isinstance_python


def page_of(url: str, response: HttpResponse, now: datetime, fetched_by: str = "http") -> Page:
    """Return an answer as a page; a body without text is known by its hash only."""
    content_type = _type_of(response)
    final_url = request_url(response.url)
    encoding, text = response.decoded if _is_text(content_type) else ("utf-8", "")
    if content_type == XHTML:
        text = _CLOSED_AT_ONCE.sub(lambda found: f"<{found[1]}{found[2]}></{found[1]}>", text)
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
        "next_url": _next_url(response) if "link" in response.headers else None,
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
        if start.startswith((b"<!doctype html", b"<html")):
            return "text/html"
        is_json = content_type == BYTES and b"".join(start.split())[:2] in _STARTS_OF_JSON
        return "application/json" if is_json else content_type
    return content_type


def _is_text(content_type: str) -> bool:
    return (
        not content_type
        or content_type.startswith("text/")
        or content_type.endswith(("xml", "json", "jsonl", "javascript"))
    )
