"""Cookies of a login made elsewhere, as browsers and their extensions write them down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agentic.core.actors import ActorError
from agentic.core.http import CookieJar, InvalidCookieError
from agentic.core.types import JSONValue

HTTP_ONLY = "#HttpOnly_"
NETSCAPE_FIELDS = 7


class Imported(NamedTuple):
    """Cookies, and the local storage of some origins."""

    cookies: CookieJar
    storage: JSONValue = None


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    name: str
    value: str


class _Origin(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    origin: str
    localStorage: list[_Item] = []  # noqa: N815 - the browser's name


class _StorageState(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    cookies: list[JSONValue] = []
    origins: list[_Origin] = []


_STATE: TypeAdapter[_StorageState] = TypeAdapter(_StorageState)


def read_text(value: object) -> object:
    """Return what a JSON text stands for, any other value as it is: a secret arrives as text."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("it begins like JSON, but is not JSON") from None
    return value


def import_cookies(cookies: JSONValue) -> Imported:
    """Return the cookies of a list as of Playwright, or of a Netscape file's text.

    Raises:
        ActorError: They cannot be read (``schema_invalid``), or all have expired (``auth_expired``).
    """
    data = list(_netscape(cookies)) if isinstance(cookies, str) else cookies
    return Imported(_jar_of(data))


def import_storage_state(state: JSONValue) -> Imported:
    """Return what Playwright's ``storage_state`` holds.

    Raises:
        ActorError: It is none (``schema_invalid``), or all cookies have expired (``auth_expired``).
    """
    try:
        known = _STATE.validate_python(state)
    except ValidationError as exc:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'all'}: {e['msg']}" for e in exc.errors())
        raise _unreadable(f"it is not a storage state: {faults}") from None
    storage: list[JSONValue] = [origin.model_dump() for origin in known.origins]
    return Imported(_jar_of(known.cookies) if known.cookies else CookieJar(), storage or None)


def end_of(cookies: CookieJar) -> datetime | None:
    """Return when the last cookie has expired; None if one lasts as long as the session, or there is none.

    After that nothing is left of a login; it may end earlier, and only the site knows.
    """
    ends = [cookie["expires"] for cookie in cookies.to_data() if isinstance(cookie, dict)]
    times = [end for end in ends if isinstance(end, float) and end >= 0]
    if not ends or len(times) < len(ends):
        return None
    try:
        return datetime.fromtimestamp(max(times), UTC)
    except (OverflowError, ValueError, OSError):  # later than the year 9999
        return None


def _jar_of(data: JSONValue) -> CookieJar:
    try:
        jar = CookieJar.from_data(data)
    except InvalidCookieError as exc:
        raise _unreadable(str(exc)) from None
    if not jar.to_data():
        raise ActorError(
            "the login has no cookies, or all have expired; log in again at their source",
            failure_class="auth_expired",
        )
    return jar


def _netscape(text: str) -> Iterator[JSONValue]:
    """Yield the cookies of a ``cookies.txt``: domain, subdomains, path, secure, expires, name, value."""
    for number, line in enumerate(text.splitlines(), start=1):
        is_http_only = line.startswith(HTTP_ONLY)
        if not line.strip() or (line.startswith("#") and not is_http_only):
            continue
        fields = line.removeprefix(HTTP_ONLY).split("\t")
        if len(fields) != NETSCAPE_FIELDS or not fields[4].lstrip("-").isdecimal():
            raise _unreadable(
                f"line {number} is not a cookie of a Netscape file, which has seven fields between tabs"
            )
        domain, subdomains, path, secure, expires, name, value = fields
        bare = domain.removeprefix(".")
        yield {
            "name": name,
            "value": value,
            "domain": f".{bare}" if subdomains.upper() == "TRUE" else bare,
            "path": path,
            "expires": float(expires) or -1.0,
            "httpOnly": is_http_only,
            "secure": secure.upper() == "TRUE",
        }


def _unreadable(reason: str) -> ActorError:
    return ActorError(f"the cookies of the login cannot be used: {reason}", failure_class="schema_invalid")
