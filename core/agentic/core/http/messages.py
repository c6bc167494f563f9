"""Requests and answers, without types of any client library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Protocol, TypeVar, cast, overload
from urllib.parse import urlsplit

from agentic.core.http.charsets import MARKS, UTF_8, Decoded, decode, header_charset, media_type
from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.sessions.sessions import HttpSession
from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue

T = TypeVar("T")

log = get_logger(__name__)


class Headers(Mapping[str, str]):
    """Header fields by name in any case; repeated fields are joined by ``", "``."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields: dict[str, str] = {}
        for name, value in fields:
            key = name.lower()
            earlier = self._fields.get(key)
            self._fields[key] = value if earlier is None else f"{earlier}, {value}"

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, /, default: str | T) -> str | T: ...
    def get(self, name: str, /, default: object = None) -> object:
        """Return a field, or the default, without the internal exception of a mapping."""
        return self._fields.get(name.lower(), default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({sorted(self._fields)})"


class BodySink(Protocol):
    """Takes the body of an answer with a status from 200 to 299 piece by piece."""

    def begin(self, content_type: str) -> object:
        """Expect the body of an answer with that ``Content-Type``; an earlier one does not count."""
        ...

    def write(self, data: bytes, /) -> object:
        """Take the next piece, unpacked. Exceptions end the request; an ``OSError`` is the network's."""
        ...


@record
class HttpRequest:
    """One request.

    Attributes:
        url: Absolute, http or https.
        method: In upper case.
        headers: Names in any case; they override the session's.
        body: Sent unchanged.
        timeout_s: Overrides the policy's.
        session: The login to send; it decides where it may go.
        stays_at_origin: A redirect to another origin fails: for requests that are useless there, because
            body and secrets are not sent there.
        obey_robots: Whether robots.txt counts, if the policy obeys it at all. Requests other than crawling,
            such as a message to the user's own endpoint, need no permission.
        max_bytes: Largest body; overrides the policy's.
        sink: Takes the body of a successful answer, which has none itself then; the cache is not used.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    timeout_s: float | None = None
    session: HttpSession | None = None
    obey_robots: bool = True
    stays_at_origin: bool = False
    max_bytes: int | None = None
    sink: BodySink | None = field(default=None, repr=False)


@record
class HttpResponse:
    """One complete answer.

    Attributes:
        url: Its final source, after redirects; without user name, password and fragment.
        status: HTTP status.
        headers: Looked up in any case.
        body: After decompression.
        elapsed_s: Seconds from sending the request to the last byte of this answer.
        set_cookies: The separate ``Set-Cookie`` fields: joined, as in ``headers``, they are useless.
        is_unchanged: The answer is from the cache: the site confirmed it, or was not asked because it is
            young enough.
        moved_to: The new URL for later requests, if it changed: the end of the permanent redirects (301, 308)
            that come before any other.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    elapsed_s: float = 0.0
    set_cookies: tuple[str, ...] = field(default=(), repr=False)
    is_unchanged: bool = False
    moved_to: str | None = None

    @property
    def content_type(self) -> str:
        """Media type in lower case without parameters: ``"text/html"``; empty if missing or not a type."""
        return media_type(self.headers.get("content-type", ""))

    @property
    def text(self) -> str:
        """The body as text; see :attr:`decoded`."""
        return self.decoded[1]

    @property
    def decoded(self) -> tuple[str, str]:
        """The charset of the body, and the body as text; undecodable bytes become U+FFFD, with a warning.

        The charset comes from a byte order mark, the Content-Type or the document itself, unless the body
        contradicts that. Otherwise it is guessed: UTF-8 if the body is valid UTF-8, else as browsers do. See
        :func:`agentic.core.http.charsets.decode`.
        """
        declared = self.headers.get("content-type")
        if _is_utf_8(declared) and self.body[:1] not in MARKS:  # most pages
            try:
                return "utf-8", self.body.decode()
            except UnicodeDecodeError:
                pass
        host = urlsplit(self.url).hostname or ""
        decoded = decode(self.body, declared, tld=host.rpartition(".")[2])
        self._report(decoded)
        return decoded.charset, decoded.text

    def _report(self, decoded: Decoded) -> None:
        if decoded.lost_count:
            log.warning(
                "text.damaged",
                url=safe_url(self.url),
                charset=decoded.charset,
                lost_count=decoded.lost_count,
            )
        elif decoded.overruled:
            log.info(
                "charset.overruled",
                url=safe_url(self.url),
                declared=decoded.overruled,
                charset=decoded.charset,
            )

    def json(self) -> JSONValue:
        """Return the body parsed as JSON.

        Raises:
            FetchError: It is not JSON; the failure class is ``decode``.
        """
        try:
            return cast(JSONValue, self._loaded())
        except (ValueError, RecursionError) as exc:
            reason = f"the answer ({self.content_type or 'no content type'}) is not JSON: {exc}"
            raise FetchError(self.url, FailureClass.DECODE, reason, status=self.status) from exc

    def _loaded(self) -> object:
        try:
            return json.loads(self.body)
        except UnicodeDecodeError:  # some APIs use the charset of their pages
            return json.loads(self.text)


@lru_cache(maxsize=256)
def _is_utf_8(content_type: str | None) -> bool:
    return header_charset(content_type) == UTF_8
