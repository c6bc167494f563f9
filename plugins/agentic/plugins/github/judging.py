"""Which GitHub answers are failures, and how long to pause.

The rules are at https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api: 403 or 429 is a
limit if it has ``Retry-After``, if the hour's budget is used up (then until its end), or if it mentions a
secondary limit (then for a minute, and twice as long each time it is repeated). The budget is counted for
each resource separately, searches being one; a secondary limit covers everything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from agentic.core.http import FailureClass, FetchError, HttpRequest, HttpResponse
from agentic.core.http.failures import failure_of
from agentic.core.http.politeness.turns import RESOURCE
from agentic.core.masking import mask_known

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3_600.0
SECONDARY = ("secondary rate limit", "abuse detection")
MESSAGE_LIMIT = 200
ADVICE = {
    401: "give the agent a valid token",
    403: "give the agent a token with access",
    404: "it does not exist, or is private and not visible to this token",
    410: "the feature is disabled in the repository",
    422: "correct the query",
    451: "it is blocked for legal reasons",
}


class GithubVerdict:
    """Judges the answers to one agent; implements :data:`~agentic.core.http.failures.Verdict`.

    Args:
        base_url: Root of the API.
    """

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._refused_in_a_row = 0

    def __call__(self, request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
        """Return why ``response`` is a failure, or None for a success."""
        failure = failure_of(request, response, now)
        if failure is None:
            self._refused_in_a_row = 0
            return None
        said = message_of(response)
        if is_limit(response, said):
            scope = "account" if request.session is not None else "host"
            if self._is_of_resource(response):
                scope = RESOURCE
            reason = f"GitHub's limit is reached: {said or response.status}"
            wait_s = self._pause_s(response, failure)
            return _failure(response, FailureClass.RATE_LIMITED, reason, wait_s, scope)
        word = _word(response.status, failure)
        if failure.detail or not said:  # a wall in front of GitHub, or an answer that is not GitHub's
            return _failure(response, word, _reason(failure), failure.retry_after_s, failure.detail)
        advice = f"; {ADVICE[response.status]}" if response.status in ADVICE else ""
        reason = f"GitHub answered {response.status}: {said}{advice}"
        return _failure(response, word, reason, failure.retry_after_s, "")

    def _is_of_resource(self, response: HttpResponse) -> bool:
        """Whether only the budget of the requested resource is used up."""
        named = response.headers.get("x-ratelimit-resource", "").strip()
        is_told = "retry-after" not in response.headers and _left(response.headers) == "0"
        return is_told and named == resource_of(self._base_url, response.url)

    def _pause_s(self, response: HttpResponse, failure: FetchError) -> float:
        """Return the seconds to pause."""
        is_told = "retry-after" in response.headers or _left(response.headers) == "0"
        if is_told and failure.retry_after_s is not None:
            return failure.retry_after_s
        pause_s = min(FIRST_PAUSE_S * 2.0**self._refused_in_a_row, LONGEST_PAUSE_S)
        self._refused_in_a_row += 1
        return pause_s


def resource_of(base_url: str, url: str) -> str:
    """Return GitHub's name of the limit that a request to ``url`` counts against."""
    return "search" if url.startswith(f"{base_url.rstrip('/')}/search/") else "core"


def is_limit(response: HttpResponse, said: str) -> bool:
    """Distinguish a limit from any other refusal."""
    if response.status not in (403, 429):
        return False
    told = "retry-after" in response.headers or _left(response.headers) == "0"
    return told or response.status == 429 or any(words in said.lower() for words in SECONDARY)


def message_of(response: HttpResponse) -> str:
    """Return GitHub's message for a refusal; "" without one."""
    try:
        content = json.loads(response.body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(content, dict) or not isinstance(content.get("message"), str):
        return ""
    errors = content.get("errors")
    more = [one["message"] for one in errors if _has_message(one)] if isinstance(errors, list) else []
    # Mask before the cut: a token that is cut in two would stay partly visible.
    return mask_known(" ".join([content["message"], *more]))[:MESSAGE_LIMIT]


def _has_message(error: object) -> bool:
    return isinstance(error, dict) and isinstance(error.get("message"), str)


def _left(headers: Mapping[str, str]) -> str:
    return headers.get("x-ratelimit-remaining", "").strip()


def _word(status: int, failure: FetchError) -> str:
    """Return the failure class: a token without permission has not expired."""
    is_refusal = status == 403 and failure.failure_class == FailureClass.AUTH_EXPIRED
    return "http_403" if is_refusal else failure.failure_class


def _reason(failure: FetchError) -> str:
    return str(failure).partition("): ")[2]


def _failure(response: HttpResponse, word: str, reason: str, wait_s: float | None, detail: str) -> FetchError:
    return FetchError(response.url, word, reason, status=response.status, retry_after_s=wait_s, detail=detail)
