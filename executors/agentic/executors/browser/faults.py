"""Pure rules from a browser's message to the reason why a page was not fetched."""

from __future__ import annotations

from agentic.core.http import FailureClass
from agentic.core.linear import LinearPattern

NET_ERROR = LinearPattern(r"net::(ERR_[A-Z0-9_]+)")

CRASHED = (
    "the browser or the page in it has crashed; it may work another time, or the page needs too many "
    "resources"
)

_BY_PREFIX: tuple[tuple[str, FailureClass, str], ...] = (
    ("ERR_NAME_", FailureClass.DNS, "its name cannot be resolved; check its spelling"),
    ("ERR_CERT_", FailureClass.TLS, "no secure connection: its certificate is not accepted"),
    ("ERR_SSL_", FailureClass.TLS, "no secure connection"),
    ("ERR_BAD_SSL_", FailureClass.TLS, "no secure connection"),
    ("ERR_TOO_MANY_REDIRECTS", FailureClass.TOO_MANY_REDIRECTS, "the site redirects in a circle"),
    ("ERR_CONTENT_DECODING_", FailureClass.DECODE, "its body cannot be decompressed"),
    ("ERR_INVALID_HTTP_RESPONSE", FailureClass.DECODE, "the answer is not valid HTTP"),
    ("ERR_RESPONSE_HEADERS_", FailureClass.DECODE, "the answer is not valid HTTP"),
    ("ERR_INVALID_", FailureClass.INVALID_URL, "it is malformed, or redirects to a malformed URL"),
    ("ERR_UNSAFE_", FailureClass.INVALID_URL, "browsers do not allow such a port or redirect"),
    ("ERR_UNKNOWN_URL_SCHEME", FailureClass.INVALID_URL, "it redirects to a URL that is not http or https"),
    ("ERR_TIMED_OUT", FailureClass.TIMEOUT, "the connection gave no answer in time"),
    ("ERR_CONNECTION_TIMED_OUT", FailureClass.TIMEOUT, "the connection gave no answer in time"),
    ("ERR_ABORTED", FailureClass.EMPTY, "the answer has no page"),
)


def net_failure(message: str) -> tuple[FailureClass, str] | None:
    """Return failure class and reason for the network error in a message; None without one."""
    found = NET_ERROR.search(message)
    if found is None:
        return None
    name = found[1]
    for prefix, failure_class, reason in _BY_PREFIX:
        if name.startswith(prefix):
            return failure_class, f"{reason} ({name})"
    return FailureClass.CONNECT, f"the connection failed ({name})"
