"""Passwords and tokens in URLs: removed from stored URLs, and put back for the request.

A stored URL has no user name and no password, and ``***`` for the value of a secret parameter (``api_key``,
``token``). They are put back before a request to that origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self, cast
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from agentic.core.http.errors import HttpError
from agentic.core.http.urls import origin_of
from agentic.core.masking import telling_params
from agentic.core.types import JSONValue

STAND_IN = "***"
SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class _Known:
    """The credentials of one origin: ``user:password``, and name -> value of parameters."""

    users: dict[str, None] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UrlCredentials:
    """The passwords and tokens in the URLs of a pipeline, by origin. Never shows them."""

    _by_origin: Mapping[str, _Known] = field(default_factory=dict, repr=False)

    @classmethod
    def found_in(cls, *values: object) -> Self:
        """Return the credentials of all URLs in JSON data, at any depth; not of references (``${...}``)."""
        found: dict[str, _Known] = {}
        for text in _texts_in(values):
            _learn(found, text)
        return cls(found)

    def __bool__(self) -> bool:
        return bool(self._by_origin)

    def joined(self, other: UrlCredentials) -> UrlCredentials:
        """Return the credentials of both; for the same origin, ``other`` wins."""
        if not other:
            return self
        found = dict(self._by_origin)
        for origin, known in other._by_origin.items():
            mine = found.get(origin, _Known())
            found[origin] = _Known({**known.users, **mine.users}, {**mine.params, **known.params})
        return UrlCredentials(found)

    def stripped(self, url: str) -> str:
        """Return ``url`` without the known credentials of its origin; :meth:`applied` puts them back."""
        return self._changed(url, _without)

    def applied(self, url: str) -> str:
        """Return ``url`` with its credentials."""
        return self._changed(url, _with)

    def stripped_data(self, value: JSONValue) -> JSONValue:
        """Return JSON data with every URL stripped."""
        match value:
            case str():
                return self.stripped(value)
            case list():
                return [self.stripped_data(part) for part in value]
            case dict():
                return {key: self.stripped_data(part) for key, part in value.items()}
        return value

    def applied_config(self, config: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
        """Return the input of an actor with complete URLs: texts, and lists of texts."""
        return {key: self._applied_part(part) for key, part in config.items()}

    def _applied_part(self, part: JSONValue) -> JSONValue:
        if isinstance(part, str):
            return self.applied(part)
        if isinstance(part, list):
            return [self.applied(one) if isinstance(one, str) else one for one in part]
        return part

    def _changed(self, url: str, change: Callable[[SplitResult, _Known], SplitResult]) -> str:
        if not self._by_origin or not url.lower().startswith(SCHEMES):
            return url
        try:
            known = self._by_origin.get(origin_of(url))
            return url if known is None else urlunsplit(change(urlsplit(url), known))
        except (HttpError, ValueError):  # not a URL: its request will report it
            return url


NO_CREDENTIALS = UrlCredentials()


def without_user_info(url: str) -> str:
    """Return ``url`` without user name and password, otherwise unchanged."""
    scheme, mark, rest = url.partition("://")
    netloc, slash, path = rest.partition("/")
    return f"{scheme}{mark}{netloc.rpartition('@')[2]}{slash}{path}" if "@" in netloc else url


def _learn(found: dict[str, _Known], text: str) -> None:
    url = text.strip()
    if not url.lower().startswith(SCHEMES) or "${" in url.partition("?")[0]:
        return
    try:
        origin, user = origin_of(url), urlsplit(url).netloc.rpartition("@")[0]
    except (HttpError, ValueError):
        return
    params = dict(telling_params(url))
    if user or params:
        known = found.setdefault(origin, _Known())
        known.users.update({user: None} if user else {})
        known.params.update(params)


def _without(parts: SplitResult, known: _Known) -> SplitResult:
    user, _, host = parts.netloc.rpartition("@")
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    query = "&".join(
        f"{name}={STAND_IN}" if known.params.get(name) in {value, unquote(value)} else f"{name}{mark}{value}"
        for name, mark, value in pairs
    )
    return parts._replace(netloc=host if user in known.users else parts.netloc, query=query)


def _with(parts: SplitResult, known: _Known) -> SplitResult:
    user = next(iter(known.users), "")
    netloc = f"{user}@{parts.netloc}" if user and "@" not in parts.netloc else parts.netloc
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    query = "&".join(
        f"{name}{mark}{known.params.get(name, value) if unquote(value) == STAND_IN else value}"
        for name, mark, value in pairs
    )
    return parts._replace(netloc=netloc, query=query)


def _texts_in(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for part in value.values():
                yield from _texts_in(part)
        case list() | tuple():
            for part in cast("Iterable[object]", value):
                yield from _texts_in(part)
