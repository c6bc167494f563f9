"""Every failure as a class and a sentence, so that policies are data."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

from pydantic import ValidationError

from agentic.core.actors.errors import ActorError
from agentic.core.http import FailureClass, FetchError
from agentic.core.masking import mask_known

FAILURE_CLASSES = frozenset(word.value for word in FailureClass) | {
    "auth_expired",
    "auth_required",
    "browser_crashed",
    "cancelled",
    "empty",
    "error",
    "gone",
    "not_html",
    "out_of_scope",
    "process_crashed",
    "quota_exhausted",
    "reference",
    "schema_invalid",
    "selector_missing",
}
"""The fixed failure classes. A refused HTTP status is ``http_<code>``; actors may declare more."""

MESSAGE_LIMIT = 500

_BY_TYPE: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "timeout"),
    (socket.gaierror, "dns"),
    (ssl.SSLError, "tls"),
    (ConnectionError, "connect"),
    (ValidationError, "schema_invalid"),
    (UnicodeError, "decode"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something failed, as data.

    Attributes:
        failure_class: The word policies are keyed by.
        message: For people; at most ``MESSAGE_LIMIT`` characters, no secret that this process has read in it.
        status: HTTP status behind it, where there is one.
        retry_after_s: Seconds after which it is worth another try, where somebody said so.
        detail: A word that says more: why something is ``blocked``, whose limit it is if ``rate_limited``.
    """

    failure_class: str
    message: str
    status: int | None = None
    retry_after_s: float | None = None
    detail: str = ""


def failure_class_of(exc: Exception) -> str:
    """Return the failure class of any exception; ``"error"`` where nothing more is known."""
    if isinstance(exc, (ActorError, FetchError)):
        return exc.failure_class
    return next((word for kind, word in _BY_TYPE if isinstance(exc, kind)), "error")


def describe_failure(exc: Exception) -> Failure:
    """Return what policies and people need to know of an exception."""
    failure_class = failure_class_of(exc)
    message = mask_known(_message(exc))[:MESSAGE_LIMIT]
    if isinstance(exc, (ActorError, FetchError)):
        return Failure(
            failure_class=failure_class,
            message=message,
            status=exc.status,
            retry_after_s=exc.retry_after_s,
            detail=getattr(exc, "detail", ""),
        )
    return Failure(failure_class=failure_class, message=message)


def _message(exc: Exception) -> str:
    if isinstance(exc, ValidationError):
        # Its own text quotes the values, which may be secrets or whole pages.
        faults = (f"{'.'.join(map(str, e['loc'])) or exc.title}: {e['msg']}" for e in exc.errors())
        return "; ".join(faults)
    return str(exc) or type(exc).__name__
