"""One spelling for each URL, and the short key for tables."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import SplitResult, urlencode, urlsplit, urlunsplit

from agentic.core.http.errors import InvalidUrlError

# Servers accept 8 KB or less; the time to encode a host grows with the square of its length.
MAX_URL_CHARACTERS = 16_384
DEFAULT_PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9._-]+|(?=[0-9a-f.]*:)[0-9a-f:.]+")
# Click and campaign ids: they identify the visit and never the page.
TRACKING = re.compile(
    r"utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid|_hsenc|_hsmi",
    re.IGNORECASE,
)

# The common case, in which nothing must be changed: lower case, nothing encoded, no dot segments, no query.
PLAIN = re.compile(
    r"(?P<scheme>https?)://(?=[a-z0-9.-]{1,63}[:/])(?P<host>[a-z0-9]+(?:[.-][a-z0-9]+)*)"
    r"(?::(?!80/|443/)(?P<port>[1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
    r"(?:/|(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?)"
)


@lru_cache(maxsize=16_384)  # the pages of a site repeat the same links: 0.1 us instead of 20
def canonical_url(url: str) -> str:
    """Return the canonical spelling of ``url``, the same for all URLs of one page.

    Scheme and host in lower case, no default port, no fragment, no tracking parameters, query sorted, dot
    segments resolved, percent-encoding normalised. Applying it twice changes nothing.

    Raises:
        InvalidUrlError: It is not an absolute http or https URL, or longer than 16,384 characters.
    """
    check_length(url)
    if plain_origin(url):
        return url
    from w3lib.url import canonicalize_url  # needed for unusual URLs only

    try:
        parts = urlsplit(canonicalize_url(url, keep_blank_values=True, keep_fragments=False))
        netloc = _netloc(parts)
    except ValueError:  # its text may quote a password
        raise InvalidUrlError(url, "its host or port is malformed") from None
    if fault := _fault(parts):
        raise InvalidUrlError(url, fault)
    return urlunsplit((parts.scheme, netloc, parts.path, _without_tracking(parts.query), ""))


def check_length(url: str) -> None:
    """Refuse a URL that no server accepts.

    Raises:
        InvalidUrlError: It is longer than 16,384 characters.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise InvalidUrlError(url, f"it has {len(url)} characters; the limit is {MAX_URL_CHARACTERS}")


def url_key(url: str) -> str:
    """Return 32 hexadecimal digits, the same for every spelling of ``url`` (BLAKE2b of the canonical one).

    Raises:
        InvalidUrlError: It is not an absolute http or https URL.
    """
    return hashlib.blake2b(canonical_url(url).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1_024)  # called six times in a fetch: a match takes as long as fifteen look-ups
def plain_origin(url: str) -> str | None:
    """Return the origin of a URL that is correct and needs no encoding; otherwise None."""
    plain = PLAIN.fullmatch(url)
    if plain is None:
        return None
    scheme, host, given_port = plain.groups()
    return f"{scheme}://{host}:{given_port or DEFAULT_PORTS[scheme]}"


def origin_of(url: str) -> str:
    """Return ``scheme://host:port`` of ``url``, always with the port.

    Raises:
        InvalidUrlError: It is not an absolute http or https URL.
    """
    check_length(url)
    return plain_origin(url) or _origin_of(url)


@lru_cache(maxsize=1_024)  # called three times in a fetch: robots.txt, the host's turn, the answer
def _origin_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # its text may quote a password
        raise InvalidUrlError(url, "its host or port is malformed") from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise InvalidUrlError(url, _fault(parts) or "it cannot be read")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


def host_of(url: str) -> str:
    """Return ``host:port`` of ``url``: the key of a rate limit.

    Raises:
        InvalidUrlError: It is not an absolute http or https URL.
    """
    return origin_of(url).partition("://")[2]


def without_credentials(url: str) -> str:
    """Return an absolute ``url`` as in a request line: no user name, no password, no fragment."""
    if plain_origin(url):
        return url
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    written = urlunsplit((parts.scheme, netloc, parts.path or "/", parts.query, ""))
    is_marked = not parts.query and "?" in url.partition("#")[0]
    return f"{written}?" if is_marked else written  # the library drops the mark of an empty query


Param = str | int | float | bool
"""A value of a query."""


def with_params(url: str, params: Mapping[str, Param | tuple[Param, ...]]) -> str:
    """Return ``url`` with ``params`` added to its query; booleans are written ``true`` and ``false``."""
    parts = urlsplit(url)
    query = "&".join(filter(None, [parts.query, form_text(params)]))
    return urlunsplit(parts._replace(query=query))


def form_text(params: Mapping[str, Param | tuple[Param, ...]]) -> str:
    """Return ``params`` as a query, or as the body of a form."""
    pairs = [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, values in params.items()
        for value in (values if isinstance(values, tuple) else (values,))
    ]
    return urlencode(pairs)


def _fault(parts: SplitResult) -> str:
    if parts.scheme not in DEFAULT_PORTS:
        return f"its scheme is {parts.scheme!r}" if parts.scheme else "it has no scheme"
    if not parts.hostname:
        return "it has no host"
    return "" if HOST.fullmatch(parts.hostname) else f"{parts.hostname!r} is not a valid host name"


def _netloc(parts: SplitResult) -> str:
    """Return host and port without a default port."""
    is_default = parts.port is not None and parts.port == DEFAULT_PORTS.get(parts.scheme)
    return parts.netloc.removesuffix(f":{parts.port}") if is_default else parts.netloc


def _without_tracking(query: str) -> str:
    if not query:
        return query
    return "&".join(pair for pair in query.split("&") if not TRACKING.fullmatch(pair.partition("=")[0]))
