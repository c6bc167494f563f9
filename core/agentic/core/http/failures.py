"""Rules that classify answers as failures. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Protocol

from agentic.core.http.challenges import CAPTCHA, CHALLENGE, challenge_in
from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.messages import HttpRequest, HttpResponse

LONGEST_S = 86_400.0  # a Retry-After beyond a day is a mistake or malice
RESET = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)
HTML_FOR_JSON = "html_for_json"


class Verdict(Protocol):
    """Detects failures: a function like :func:`failure_of`, with a service's own rules."""

    def __call__(self, request: HttpRequest, response: HttpResponse, now: datetime, /) -> FetchError | None:
        """Return why ``response`` is a failure; None if it is not. See :func:`failure_of`."""
        ...


ADVICE = {
    CHALLENGE: " with a challenge instead of the page; load it with a browser, or ask the site for access",
    CAPTCHA: " with a captcha instead of the page; ask the site for access",
    "http_403": "; the page may need a login or a browser, or the site refuses crawlers",
    HTML_FOR_JSON: " with a web page instead of JSON, so the call is blocked; ask the site for access",
}


def failure_of(request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
    """Return why ``response`` is a failure, or None if it is not.

    An answer with a status below 400 is a failure only if a challenge replaces the page.

    Args:
        request: The request. Its ``Accept`` distinguishes a blocked API call from a plain refusal; its
            session distinguishes an expired login from a missing one.
        response: The answer.
        now: Wall clock with a time zone, for times given as a date.
    """
    word, detail = _verdict(request, response)
    if not word:
        return None
    wait_s = retry_after_s(response.headers, now)
    if wait_s is None and word == FailureClass.RATE_LIMITED:
        wait_s = reset_s(response.headers, now)
    return FetchError(
        response.url,
        word,
        f"the server answered {_phrase(response.status)}{ADVICE.get(detail or word, '')}",
        status=response.status,
        retry_after_s=wait_s,
        detail=detail,
    )


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of a ``Retry-After`` (number or date), at most a day; None without one."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_S)
    try:
        wait_s = (_aware(parsedate_to_datetime(value)) - now).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(max(wait_s, 0.0), LONGEST_S)


def reset_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds to ``x-ratelimit-reset``, which has seconds, a Unix time, or a date."""
    value = headers.get("x-ratelimit-reset", "").strip() or headers.get("ratelimit-reset", "").strip()
    try:
        if RESET.fullmatch(value):
            given = float(value)
            wait_s = given - now.timestamp() if given > LONGEST_S else given
        else:
            wait_s = (_aware(datetime.fromisoformat(value)) - now).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(max(wait_s, 0.0), LONGEST_S)


def _verdict(request: HttpRequest, response: HttpResponse) -> tuple[str, str]:
    """Return failure class and detail; both empty for an answer that is not a failure."""
    if _is_rate_limit(response):
        return FailureClass.RATE_LIMITED, _scope(request)
    if wall := _wall(request, response):
        return FailureClass.BLOCKED, wall
    is_page = 200 <= response.status < 400
    return ("" if is_page else _failure_class(request, response.status)), ""


def _failure_class(request: HttpRequest, status: int) -> str:
    match status:
        case 401 | 403 if request.session is not None:
            return FailureClass.AUTH_EXPIRED
        case 401:
            return FailureClass.AUTH_REQUIRED
        case 410:
            return FailureClass.GONE
        case _:
            return f"http_{status}"


def _is_rate_limit(response: HttpResponse) -> bool:
    headers = response.headers
    match response.status:
        case 429:
            return True
        case 503:
            return "retry-after" in headers
        case 403:  # GitHub's rate limit is a 403
            return headers.get("x-ratelimit-remaining", "").strip() == "0"
        case _:
            return False


def _scope(request: HttpRequest) -> str:
    """Return the scope of a limit: services count the requests of each login separately."""
    is_known = request.session is not None or _field(request, "authorization")
    return "account" if is_known else "host"


def _wall(request: HttpRequest, response: HttpResponse) -> str:
    """Return the kind of obstacle before the site; empty for the site's own answer."""
    if found := challenge_in(response):
        return found
    is_html = response.status == 403 and response.content_type == "text/html"
    return HTML_FOR_JSON if is_html and "json" in _field(request, "accept") else ""


def _field(request: HttpRequest, wanted: str) -> str:
    return next((value for name, value in request.headers.items() if name.lower() == wanted), "")


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
