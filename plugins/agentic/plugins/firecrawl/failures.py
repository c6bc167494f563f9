"""Errors between us and Firecrawl, as failure classes.

Errors between Firecrawl and a site arrive as a success, with the site's status in the metadata: see
:mod:`agentic.plugins.firecrawl.documents`.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from agentic.core.actors import ActorError
from agentic.core.http import FailureClass
from agentic.core.http.failures import retry_after_s
from agentic.core.masking import mask_known
from agentic.core.types import JSONValue

MESSAGE_LIMIT = 200
CODES = {
    "SCRAPE_DNS_RESOLUTION_ERROR": "dns",
    "SCRAPE_SSL_ERROR": "tls",
    "SCRAPE_TIMEOUT": "timeout",
}
"""Messages of the service about unreachable sites, with any status."""

STATUSES: Mapping[int, tuple[str, str]] = {
    401: (FailureClass.AUTH_REQUIRED, ""),
    402: (FailureClass.QUOTA_EXHAUSTED, ""),
    408: (FailureClass.TIMEOUT, ""),
    429: (FailureClass.RATE_LIMITED, "account"),
}
"""Statuses with their own failure class and detail."""

ADVICE = {
    "auth_required": "store the key with `agentic secrets set firecrawl_api_key`, or give api_key",
    "quota_exhausted": "buy credits, or wait for the next month's",
    "unsupported": "Firecrawl does not fetch this site; fetch it another way",
    "html_for_json": "a proxy in front of the service refused the request; check api_url",
    "rate_limited": "the account is over its rate limit; raise its plan, or lower max_parallel",
    "decode": "check api_url, or update firecrawl-py",
    "connect": "check api_url and the service",
}


class MissingFirecrawlError(ActorError, ValueError):
    """The client library is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "firecrawl-py is not installed; run `pip install 'agentic-pipelines[firecrawl]'`",
            failure_class="error",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A refusal by the service.

    Attributes:
        status: Of the answer; below 400 if only its content reports the failure.
        headers: Names in any case.
        content: Its JSON object; None if it is not one.
    """

    status: int
    headers: Mapping[str, str]
    content: Mapping[str, JSONValue] | None


def refusal_of(answer: Answer, subject: str, now: datetime) -> ActorError:
    """Convert a refusal to an error.

    Args:
        answer: The refusal.
        subject: The request: ``"scrape https://shop.example/"``.
        now: With a time zone, for a ``Retry-After`` date.
    """
    word, detail = _verdict(answer)
    # If the service could not reach the site, the status is the service's own.
    is_own = answer.status >= 400 and str((answer.content or {}).get("code")) not in CODES
    fields = {name.lower(): value for name, value in answer.headers.items()}
    return failure(
        subject,
        word,
        _reason(answer),
        status=answer.status if is_own else None,
        wait_s=retry_after_s(fields, now),
        detail=detail,
    )


def lost_connection(exc: BaseException, subject: str, *, is_timeout: bool) -> ActorError:
    """Return the error for a lost connection to the service, which may have done the work anyway."""
    if is_timeout:
        return failure(subject, FailureClass.TIMEOUT, "the service did not answer in time")
    return failure(subject, _root_class(exc), f"the service could not be reached ({type(exc).__name__})")


def unreadable(exc: Exception, subject: str) -> ActorError:
    """Return the error for an unreadable answer."""
    return failure(subject, FailureClass.DECODE, f"the answer cannot be read ({type(exc).__name__})")


def failure(
    subject: str,
    word: str,
    reason: str,
    *,
    status: int | None = None,
    wait_s: float | None = None,
    detail: str = "",
) -> ActorError:
    """Return an error with the failed request, the reason and a solution."""
    told = f"{word}, {detail}" if detail else word
    advice = ADVICE.get(detail) or ADVICE.get(word)
    message = f"Firecrawl did not {subject} ({told}): {reason}"
    return ActorError(
        f"{message}; {advice}" if advice else message,
        failure_class=str(word),
        status=status,
        retry_after_s=wait_s,
        detail=detail,
    )


def _verdict(answer: Answer) -> tuple[str, str]:
    """Return failure class and detail."""
    if word := CODES.get(str((answer.content or {}).get("code"))):
        return word, ""
    if answer.status == 403:
        return FailureClass.BLOCKED, "html_for_json" if answer.content is None else "unsupported"
    if answer.status in STATUSES:
        return STATUSES[answer.status]
    return (f"http_{answer.status}" if answer.status >= 400 else "error"), ""


def _reason(answer: Answer) -> str:
    """Return the service's message, without content of a page or the request."""
    said = (answer.content or {}).get("error")
    return (
        f"it answered {answer.status}: {mask_known(said)[:MESSAGE_LIMIT]}"
        if isinstance(said, str)
        else (f"it answered {answer.status} without a reason")
    )


def _root_class(exc: BaseException) -> str:
    causes = tuple(_causes(exc))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return FailureClass.DNS
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return FailureClass.TLS
    return FailureClass.CONNECT


def _causes(exc: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = exc
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
