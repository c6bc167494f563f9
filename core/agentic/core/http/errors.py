"""Errors of fetching a page, with the word that error policies use as their key."""

from __future__ import annotations

from enum import StrEnum

from agentic.core.errors import AgenticError
from agentic.core.masking import mask_known
from agentic.core.settings import safe_url

PROXY = "proxy"
"""``detail`` of a failure that is the proxy's: it cannot be reached, or refuses the user."""

PROXY_SUBJECT = "proxy "
"""Start of the subjects of warnings about proxies."""

MAX_SHOWN = 2_048  # characters of a URL in a message


class FailureClass(StrEnum):
    """The fixed words for why a page was not fetched or could not be used.

    Other refused statuses are ``http_<code>``.
    """

    __wire_name__ = "agentic.core.http.errors.FailureClass"

    TIMEOUT = "timeout"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    RATE_LIMITED = "rate_limited"
    BLOCKED = "blocked"
    ROBOTS_DENIED = "robots_denied"
    AUTH_REQUIRED = "auth_required"
    AUTH_EXPIRED = "auth_expired"
    QUOTA_EXHAUSTED = "quota_exhausted"
    GONE = "gone"
    PRIVATE_ADDRESS = "private_address"
    TOO_LARGE = "too_large"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    DECODE = "decode"
    INVALID_URL = "invalid_url"
    NOT_HTML = "not_html"
    SELECTOR_MISSING = "selector_missing"
    SCHEMA_INVALID = "schema_invalid"
    EMPTY = "empty"
    BROWSER_CRASHED = "browser_crashed"
    CANCELLED = "cancelled"


class HttpError(AgenticError):
    """Base class of HTTP errors."""


_NOT_FETCHED, _BECAUSE = " was not fetched (", "): "


def reason_in(message: str, url: str) -> str:
    """Return the message of a :class:`FetchError` without ``url`` and class; other messages unchanged."""
    named, mark, rest = message.partition(_NOT_FETCHED)
    if not mark or not url.startswith(named.removesuffix("...")):
        return message
    return rest.partition(_BECAUSE)[2] or message


class FetchError(HttpError):
    """A URL was not fetched.

    A server may repeat parts of a request: secrets that this process has read are masked in ``reason`` and
    ``url``.

    Attributes:
        url: The requested URL, without user name, password and query (these may be secret).
        failure_class: A word of :class:`FailureClass`, or for example ``http_404``.
        status: HTTP status of the last answer; None without an answer.
        retry_after_s: Seconds after which a retry makes sense, if known.
        detail: One more word, if there is one. For ``rate_limited`` the source of the limit (``host``,
            ``account``, ``resource`` for one part of the host, ``rate`` for the policy's own, or ``budget``
            when the budget is unavailable), for ``blocked`` the obstacle (``challenge``, ``captcha``,
            ``html_for_json``), for a fault of the proxy ``proxy``.
    """

    def __init__(
        self,
        url: str,
        failure_class: str,
        reason: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        detail: str = "",
    ) -> None:
        shown = mask_known(safe_url(url))
        if len(shown) > MAX_SHOWN:
            shown = f"{shown[:MAX_SHOWN]}..."
        told = f"{failure_class}, {detail}" if detail else failure_class
        super().__init__(f"{shown}{_NOT_FETCHED}{told}{_BECAUSE}{mask_known(reason)}")
        self.url = shown
        self.failure_class = str(failure_class)
        self.status = status
        self.retry_after_s = retry_after_s
        self.detail = detail


class InvalidUrlError(FetchError, ValueError):
    """The URL is invalid and cannot be requested."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, FailureClass.INVALID_URL, f"{reason}; give an absolute http:// or https:// URL")


class MissingProxyError(HttpError, LookupError):
    """The proxy is a secret, but secrets cannot be read here."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the proxy is the secret {name!r}, but secrets are not available here; run an agent"
        )
        self.name = name


class InvalidProxyError(HttpError, ValueError):
    """A secret that should be a list of proxies is something else."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the secret {name!r} is not a list of proxies, one per line: {reason}")
        self.name = name
        self.reason = reason


class PrivateAddressError(HttpError):
    """A host resolves to a private address, and the policy does not allow it."""

    def __init__(self, host: str, port: int, address: str) -> None:
        seen = host if host == address else f"{host} leads to {address}, which"
        entry = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        super().__init__(f"{seen} is not a public address; to allow it, add {entry!r} to allow_private_hosts")
        self.host = host
        self.port = port
        self.address = address
