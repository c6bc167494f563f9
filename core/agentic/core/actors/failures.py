"""Every failure as a class and a sentence, so that policies are data."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from pydantic import ValidationError

from agentic.core.actors.errors import ActorError
from agentic.core.errors import name_of, raw_text_of, storable
from agentic.core.http import FailureClass, FetchError
from agentic.core.masking import mask_known

FAILURE_CLASSES = frozenset(word.value for word in FailureClass) | {
    "auth_expired",
    "auth_required",
    "bad_request",
    "browser_crashed",
    "budget_exceeded",
    "cancelled",
    "context_window_exceeded",
    "cut_reply",
    "empty",
    "error",
    "gone",
    "model_error",
    "not_html",
    "out_of_scope",
    "overloaded",
    "process_crashed",
    "quota_exhausted",
    "reference",
    "refused",
    "schema_invalid",
    "selector_missing",
    "unknown_model",
    "wrong_type",
}
"""The fixed failure classes. A refused HTTP status is ``http_<code>``; actors may declare more."""

OF_EVERY_ACTOR = frozenset({"schema_invalid"})
"""The given values may not fit the actor's input."""

OF_THE_NETWORK = frozenset(
    {
        "auth_expired",
        "auth_required",
        "blocked",
        "connect",
        "decode",
        "dns",
        "gone",
        "http_4xx",
        "http_5xx",
        "invalid_url",
        "private_address",
        "rate_limited",
        "robots_denied",
        "timeout",
        "tls",
        "too_large",
        "too_many_redirects",
    }
)
"""Why a fetch fails; a family of statuses stands for each of its statuses."""

OF_BROWSERS = frozenset({"browser_crashed", "empty", "not_html", "selector_missing"})
"""Why a page is not readable, besides network failures."""

OF_CAPABILITIES = {
    "browser": OF_THE_NETWORK | OF_BROWSERS,
    "credentials": frozenset({"auth_required"}),
    "network": OF_THE_NETWORK,
}
"""Needs of an actor (the word before a colon) -> failure classes they may cause."""

MESSAGE_LIMIT = 500
MOST_LOOKED_AT = 16 * 1024
"""Characters of a message that are masked: a secret cut off there is far beyond the part that is kept."""

_STATUS = re.compile(r"^(http_[45])[0-9]{2}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something failed, as data.

    Attributes:
        failure_class: The key in policies.
        message: For people; at most ``MESSAGE_LIMIT`` characters, without secrets that this process has read.
        status: HTTP status behind it, if any.
        retry_after_s: Seconds until a retry makes sense, if known.
        detail: A more precise word: why something is ``blocked``, whose limit it is if ``rate_limited``.
    """

    __wire_name__: ClassVar[str] = "agentic.core.actors.failures.Failure"

    failure_class: str
    message: str
    status: int | None = None
    retry_after_s: float | None = None
    detail: str = ""


def failures_of(capabilities: Iterable[str]) -> frozenset[str]:
    """Return the failure classes of capabilities such as ``network`` or ``credentials:github``."""
    known = (OF_CAPABILITIES.get(word.partition(":")[0], frozenset()) for word in capabilities)
    return frozenset().union(*known)


def is_among(failure_class: str, declared: Collection[str]) -> bool:
    """Whether a class is among the declared ones, itself or by its family: ``http_404`` by ``http_4xx``."""
    return failure_class in declared or _STATUS.sub(r"\1xx", failure_class) in declared


def failure_class_of(exc: Exception) -> str:
    """Return the failure class of any exception; ``"error"`` if nothing more is known."""
    if isinstance(exc, (ActorError, FetchError)):
        return exc.failure_class
    return next((word for kind, word in _by_type() if isinstance(exc, kind)), "error")


@cache
def _by_type() -> tuple[tuple[type[Exception], str], ...]:
    # Loaded for a failure: a check of a pipeline reads only the names of classes.
    import socket
    import ssl

    return (
        (TimeoutError, "timeout"),
        (socket.gaierror, "dns"),
        (ssl.SSLError, "tls"),
        (ConnectionError, "connect"),
        (ValidationError, "schema_invalid"),
        (UnicodeError, "decode"),
    )


def describe_failure(exc: Exception) -> Failure:
    """Return the facts about an exception that policies and people need."""
    failure_class = failure_class_of(exc)
    # Masking a whole page that an error quotes would take a second, and block everything else.
    message = storable(mask_known(_message(exc)[:MOST_LOOKED_AT])[:MESSAGE_LIMIT])
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
    return raw_text_of(exc) or name_of(exc)
