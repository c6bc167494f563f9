"""From an answer to the reason it is no good: pure rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.messages import HttpRequest, HttpResponse

LONGEST_S = 86_400.0  # a Retry-After beyond a day is a mistake or malice


def failure_of(request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
    """Return why ``response`` is a failure, or None if its status is below 400.

    Args:
        request: What was asked; its ``Accept`` tells a blocked API call from a plain refusal.
        response: The answer.
        now: Wall clock with a time zone, for a Retry-After given as a date.
    """
    if response.status < 400:
        return None
    return FetchError(
        response.url,
        _failure_class(request, response),
        f"the server answered {_phrase(response.status)}",
        status=response.status,
        retry_after_s=retry_after_s(response.headers, now),
    )


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds a ``Retry-After`` (number or date) asks for, a day at most; None without one."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_S)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return min(max((_aware(moment) - now).total_seconds(), 0.0), LONGEST_S)


def _failure_class(request: HttpRequest, response: HttpResponse) -> str:
    if _is_rate_limit(response):
        return FailureClass.RATE_LIMITED
    if _is_challenge(request, response):
        return FailureClass.BLOCKED
    return f"http_{response.status}"


def _is_rate_limit(response: HttpResponse) -> bool:
    headers = response.headers
    match response.status:
        case 429:
            return True
        case 503:
            return "retry-after" in headers
        case 403:  # GitHub says so with a 403
            return headers.get("x-ratelimit-remaining", "").strip() == "0"
        case _:
            return False


def _is_challenge(request: HttpRequest, response: HttpResponse) -> bool:
    """Tell a wall put before the site from the site's own refusal."""
    if response.headers.get("cf-mitigated") == "challenge":
        return True
    accept = next((value for name, value in request.headers.items() if name.lower() == "accept"), "")
    return response.status == 403 and "json" in accept and response.content_type == "text/html"


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
