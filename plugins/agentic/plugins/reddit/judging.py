"""Which Reddit answers are failures, and how long to pause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlsplit

from agentic.core.http import FetchError, HttpRequest, HttpResponse
from agentic.core.http.failures import HTML_FOR_JSON, failure_of, reset_s
from agentic.core.linear import LinearPattern
from agentic.core.masking import mask_known
from agentic.core.types import JSONValue

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3_600.0
MESSAGE_LIMIT = 200
ADVICE = {
    "private": "only its members may read it",
    "quarantined": "the account must opt in to it on the site",
    "gold_only": "only subscribers of Reddit Premium may read it",
    "banned": "it is gone; remove it from the agent's config",
}
BY_STATUS = {
    401: "the token is no longer valid",
    403: "access is forbidden",
    404: "it does not exist",
}
BLOCKED = "Reddit refuses such requests; mode oauth needs credentials, modes feed and archive need none"
_PLACE = LinearPattern(r"/(r|user|comments)/([\w+-]+)")
_SHORT = {"r": "r/", "user": "u/", "comments": "post "}


class RedditVerdict:
    """Judges the answers to one agent; implements :data:`~agentic.core.http.failures.Verdict`."""

    def __init__(self) -> None:
        self._refused_in_a_row = 0

    def __call__(self, request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
        """Return why ``response`` is a failure, or None for a success."""
        failure = failure_of(request, response, now)
        if failure is None:
            self._refused_in_a_row = 0
            return None
        said = _said(response)
        if response.status == 429:
            return _failed(failure, "Reddit's limit is reached", wait_s=self._pause_s(response, failure))
        if "reason" in said:  # the cause, with or without remaining budget
            return _failed(failure, _reason(request.url, response.status, said), f"http_{response.status}")
        if failure.detail == HTML_FOR_JSON:
            return _failed(failure, f"the server answered 403 with a web page; {BLOCKED}")
        if failure.detail or (not said and response.status != 401):
            return failure
        # A name without permission is not an expired token.
        word = failure.failure_class if response.status == 401 else f"http_{response.status}"
        return _failed(failure, _reason(request.url, response.status, said), word)

    def _pause_s(self, response: HttpResponse, failure: FetchError) -> float:
        """Return the seconds to pause."""
        is_told = "retry-after" in response.headers or is_used_up(response.headers)
        if is_told and failure.retry_after_s is not None:
            return failure.retry_after_s
        pause_s = min(FIRST_PAUSE_S * 2.0**self._refused_in_a_row, LONGEST_PAUSE_S)
        self._refused_in_a_row += 1
        return pause_s


def rest_s(headers: Mapping[str, str], now: datetime) -> float:
    """Return the seconds until the next allowed request; 0 while this window has requests left."""
    return (reset_s(headers, now) or FIRST_PAUSE_S) if is_used_up(headers) else 0.0


def is_used_up(headers: Mapping[str, str]) -> bool:
    """Whether this window has less than one request left; Reddit writes the number as ``"12.0"``."""
    try:
        return float(headers.get("x-ratelimit-remaining", "")) < 1
    except ValueError:
        return False


def place_of(url: str) -> str:
    """Return the subject of an address, such as ``r/python`` or ``u/ada``; "" if unknown."""
    found = _PLACE.search(urlsplit(url).path)
    return f"{_SHORT[found[1]]}{found[2]}" if found else ""


def _failed(
    failure: FetchError, reason: str, word: str | None = None, *, wait_s: float | None = None
) -> FetchError:
    """Return a failure with another reason; with another word, it is neither a wait nor a wall."""
    detail = failure.detail if word is None else ""
    chosen = word or failure.failure_class
    return FetchError(failure.url, chosen, reason, status=failure.status, retry_after_s=wait_s, detail=detail)


def _reason(url: str, status: int, said: Mapping[str, JSONValue]) -> str:
    # Mask before the cut: a token that is cut in two would stay partly visible.
    reason = mask_known(str(said.get("reason") or ""))[:MESSAGE_LIMIT]
    words = reason or mask_known(str(said.get("message") or ""))[:MESSAGE_LIMIT]
    advice = ADVICE.get(reason) or BY_STATUS.get(status)
    place = place_of(url)
    start = f"Reddit answered {status}{f' for {place}' if place else ''}"
    return "; ".join([f"{start}: {words}" if words else start, *([advice] if advice else [])])


def _said(response: HttpResponse) -> Mapping[str, JSONValue]:
    """Return the JSON of a refusal; empty without JSON."""
    try:
        content = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def no_subreddit(name: str, response: HttpResponse) -> FetchError | None:
    """Return a failure if Reddit redirected to its search because the subreddit does not exist."""
    if "/subreddits/search" not in urlsplit(response.url).path:
        return None
    reason = f"r/{name} does not exist; correct the agent's subreddits"
    return FetchError(response.url, "http_404", reason, status=404)
