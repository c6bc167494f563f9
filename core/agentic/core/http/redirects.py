"""Rules for following redirects. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

from agentic.core.http.errors import InvalidUrlError
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.resolving import resolve
from agentic.core.http.urls import origin_of
from agentic.core.masking import has_secret, is_telling, passwords_in
from agentic.core.settings import safe_url

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT = frozenset({301, 308})
STAYS = (
    "another origin, and the credentials of this request are for its own origin: nothing was sent there; "
    "if this is intended, use that address instead"
)
_ASCII = "".join(map(chr, range(128)))
BODY_HEADERS = frozenset({"content-type", "content-length", "content-encoding"})
# More fields than masking has: no site misses an extra one, but a missing one here is a leak.
_SECRET_NAME = re.compile(
    r"auth|cookie|credential|csrf|hmac|key|login|otp|session|sid\b|sign|xsrf", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"(?:apikey|basic|bearer|digest|negotiate|token)\s|eyJ[\w-]{8,}\.", re.IGNORECASE)


def next_request(request: HttpRequest, response: HttpResponse) -> HttpRequest | None:
    """Return the request that follows ``response``, or None when it is the last one.

    Methods change as in browsers (RFC 9110, 15.4): 303 turns all methods except HEAD into GET, 301 and 302
    turn POST into GET, 307 and 308 keep method and body. Another origin (scheme, host, port) gets no body,
    and no field that may be secret: by its name, by the form of its value, or because its value contains a
    secret that this process has read.

    Raises:
        InvalidUrlError: The redirect does not lead to an http or https URL, or it leads to another origin
            although the request must stay at its own.
    """
    location = _only(response.headers.get("location", "").strip())
    if response.status not in REDIRECTS or not location:
        return None
    url = resolve(request.url, _with_escapes(location))
    following = replace(request, url=url)
    if _becomes_get(request.method, response.status):
        following = _without_body(following, "GET")
    if origin_of(url) == origin_of(request.url):
        return following
    if request.stays_at_origin:
        raise InvalidUrlError(request.url, f"it redirects to {safe_url(origin_of(url))}, {STAYS}")
    public = {name: value for name, value in following.headers.items() if not _is_secret(name, value)}
    return _without_body(replace(following, headers=public), following.method)


def _only(location: str) -> str:
    """Return the address of a field that was sent several times with the same one, as browsers take it."""
    given = location.split(", ")
    return given[0] if len(given) > 1 and len(set(given)) == 1 else location


def _with_escapes(location: str) -> str:
    """Return an address with an escape for each byte that is not ASCII, whatever encoding it is in.

    Transports read fields as UTF-8 with surrogates for all other bytes.
    """
    if location.isascii():
        return location
    return quote(location.encode("utf-8", "surrogateescape"), safe=_ASCII)


def _becomes_get(method: str, status: int) -> bool:
    return (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST")


def _without_body(request: HttpRequest, method: str) -> HttpRequest:
    if request.body is None and method == request.method:
        return request
    kept = {name: value for name, value in request.headers.items() if name.lower() not in BODY_HEADERS}
    return replace(request, method=method, body=None, headers=kept)


def _is_secret(name: str, value: str) -> bool:
    if is_telling(name) or _SECRET_NAME.search(name) or _SECRET_VALUE.match(value):
        return True
    return any(passwords_in(value)) or has_secret(value)
