"""What is asked and what is answered, free of any client library's types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TypeVar, cast, overload

from w3lib.encoding import html_to_unicode, http_content_type_encoding

from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.sessions.sessions import HttpSession
from agentic.core.records import record
from agentic.core.types import JSONValue

T = TypeVar("T")

MARKS = frozenset({b"\xef", b"\xfe", b"\xff", b"\0"})
"""Byte order marks."""


class Headers(Mapping[str, str]):
    """Header fields by name, whatever its case; one sent several times is joined by ``", "``."""

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
        """Return a field, or the default, without the exception that a mapping raises on the way."""
        return self._fields.get(name.lower(), default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({sorted(self._fields)})"


@record
class HttpRequest:
    """One request.

    Attributes:
        url: Absolute, http or https.
        method: In upper case.
        headers: Names in any case; one that the session sets too is sent as it stands here.
        body: Sent as it is.
        timeout_s: Overrides the policy's.
        session: What is sent along to show who asks; where it may go, it says itself.
        stays_at_origin: A redirect to another origin fails: for what would be no use there without its body
            and its secrets, which do not go along.
        obey_robots: Whether robots.txt counts, if the policy obeys it at all: what is no crawling, a message
            to the user's own endpoint say, needs nobody's leave.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    timeout_s: float | None = None
    session: HttpSession | None = None
    obey_robots: bool = True
    stays_at_origin: bool = False


@record
class HttpResponse:
    """One answer, read whole.

    Attributes:
        url: Where it came from in the end, after redirects; without user name, password and fragment.
        status: HTTP status.
        headers: Looked up in any case.
        body: After decompression.
        elapsed_s: Seconds from sending the request to the last byte of this answer.
        set_cookies: The ``Set-Cookie`` fields, each by itself: joined, as in ``headers``, they mean nothing.
        is_unchanged: It is the answer that was kept from an earlier fetch: the site said that it still holds,
            or was not asked, as it is young enough.
        moved_to: Where to ask from now on, if that is not where was asked: the end of the redirects that are
            permanent (301, 308) and come before any other.
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
        """Media type in lower case without parameters: ``"text/html"``; empty if not given."""
        return _media_type(self.headers.get("content-type", ""))

    @property
    def text(self) -> str:
        """The body as text; what cannot be decoded becomes U+FFFD.

        The charset is taken from a byte order mark, the Content-Type, the document itself or, where all are
        silent or name none, guessed: UTF-8 if it is that, else windows-1252, as browsers do.
        """
        declared = self.headers.get("content-type")
        if _is_utf_8(declared) and self.body[:1] not in MARKS:  # as most are
            return self.body.decode(errors="replace")
        try:
            return html_to_unicode(declared, self.body, auto_detect_fun=_guessed_charset)[1]
        except (LookupError, UnicodeError):  # Python calls some things codecs that no page is written in
            return self.body.decode(_guessed_charset(self.body), errors="replace")

    def json(self) -> JSONValue:
        """Return the body parsed as JSON.

        Raises:
            FetchError: It is no JSON; the failure class is ``decode``.
        """
        try:
            return cast(JSONValue, json.loads(self.body))
        except (ValueError, RecursionError) as exc:
            reason = f"the answer ({self.content_type or 'no content type'}) is not JSON: {exc}"
            raise FetchError(self.url, FailureClass.DECODE, reason, status=self.status) from exc


@lru_cache(maxsize=256)
def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


@lru_cache(maxsize=256)
def _is_utf_8(content_type: str | None) -> bool:
    return http_content_type_encoding(content_type) == "utf-8"


def _guessed_charset(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
