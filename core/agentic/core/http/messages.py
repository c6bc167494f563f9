"""What is asked and what is answered, free of any client library's types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from w3lib.encoding import html_to_unicode

from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.types import JSONValue


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

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({sorted(self._fields)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request. ``timeout_s`` overrides the policy's; header names are taken in any case."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """One answer, read whole.

    Attributes:
        url: Where it came from in the end, after redirects; without user name, password and fragment.
        status: HTTP status.
        headers: Looked up in any case.
        body: After decompression.
        elapsed_s: Seconds from sending the request to the last byte of this answer.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    elapsed_s: float = 0.0

    @property
    def content_type(self) -> str:
        """Media type in lower case without parameters: ``"text/html"``; empty if not given."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text; what cannot be decoded becomes U+FFFD.

        The charset is taken from a byte order mark, the Content-Type, the document itself or, where all are
        silent, guessed: UTF-8 if it is that, else windows-1252, as browsers do.
        """
        declared = self.headers.get("content-type")
        return html_to_unicode(declared, self.body, auto_detect_fun=_guessed_charset)[1]

    def json(self) -> JSONValue:
        """Return the body parsed as JSON.

        Raises:
            FetchError: It is no JSON; the failure class is ``decode``.
        """
        try:
            return cast(JSONValue, json.loads(self.body))
        except (ValueError, RecursionError) as exc:
            reason = f"the answer ({self.content_type or 'no content type'}) is no JSON: {exc}"
            raise FetchError(self.url, FailureClass.DECODE, reason, status=self.status) from exc


def _guessed_charset(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
