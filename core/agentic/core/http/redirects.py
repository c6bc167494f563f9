"""Where an answer sends the client on to: pure rules."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urljoin

from agentic.core.http.errors import InvalidUrlError
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.urls import origin_of

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT = frozenset({301, 308})
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
BODY_HEADERS = frozenset({"content-type", "content-length", "content-encoding"})


def next_request(request: HttpRequest, response: HttpResponse) -> HttpRequest | None:
    """Return the request that follows ``response``, or None when it is the last one.

    Methods change as browsers change them (RFC 9110, 15.4): 303 turns everything but HEAD into GET, 301 and
    302 turn POST into GET, 307 and 308 keep method and body. Credentials do not leave their origin.

    Raises:
        InvalidUrlError: The redirect leads to something that is no http or https URL.
    """
    location = response.headers.get("location", "").strip()
    if response.status not in REDIRECTS or not location:
        return None
    url = _joined(request.url, location)
    dropped = frozenset() if origin_of(url) == origin_of(request.url) else SECRET_HEADERS
    if not _becomes_get(request.method, response.status):
        return replace(request, url=url, headers=_without(request, dropped))
    return replace(
        request, url=url, method="GET", body=None, headers=_without(request, dropped | BODY_HEADERS)
    )


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:  # its text may quote a password
        raise InvalidUrlError(location, "a redirect leads to it, and its host is malformed") from None


def _becomes_get(method: str, status: int) -> bool:
    return (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST")


def _without(request: HttpRequest, dropped: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name.lower() not in dropped}
