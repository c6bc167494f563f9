"""From a browser's cookies back into a session's jar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime

from agentic.core.http import CookieJar
from agentic.core.types import JSONValue

GONE = "Expires=Thu, 01 Jan 1970 00:00:00 GMT"


def keep_cookies(jar: CookieJar, before: Iterable[JSONValue], after: Iterable[JSONValue]) -> None:
    """Change ``jar`` in the same way as the browser has changed its cookies.

    Other changes to the jar since then stay.

    Args:
        jar: The session's.
        before: The cookies the browser was given, as :meth:`CookieJar.to_data` returned them.
        after: The cookies it has now, as data of the same shape.
    """
    had, has = _by_key(before), _by_key(after)
    for key, cookie in has.items():
        if had.get(key) != cookie:
            jar.store(_origin(cookie), [_line(cookie, _expiry(cookie))])
    for key in had.keys() - has.keys():
        jar.store(_origin(had[key]), [_line(had[key], GONE)])


_Cookie = Mapping[str, JSONValue]


def _by_key(cookies: Iterable[JSONValue]) -> dict[tuple[str, str, str], _Cookie]:
    found = (cookie for cookie in cookies if isinstance(cookie, dict))
    return {(str(c["domain"]), str(c["path"]), str(c["name"])): _plain(c) for c in found}


def _plain(cookie: _Cookie) -> _Cookie:
    """Return the identity of a cookie; browsers round the end of its life, so its fractions do not count."""
    kept = {name: cookie.get(name) for name in ("name", "value", "domain", "path", "secure", "httpOnly")}
    expires = cookie.get("expires")
    same_site = cookie.get("sameSite") or "Lax"
    return {
        **kept,
        "sameSite": same_site,
        "expires": int(expires) if isinstance(expires, int | float) else -1,
    }


def _origin(cookie: _Cookie) -> str:
    return f"https://{str(cookie['domain']).removeprefix('.')}{cookie['path']}"


def _expiry(cookie: _Cookie) -> str:
    expires = cookie["expires"]
    if not isinstance(expires, int) or expires < 0:
        return ""
    return f"Expires={format_datetime(datetime.fromtimestamp(expires, UTC), usegmt=True)}"


def _line(cookie: _Cookie, expiry: str) -> str:
    """Return the ``Set-Cookie`` field that sets ``cookie``."""
    domain = str(cookie["domain"])
    parts = [
        f"{cookie['name']}={cookie['value']}",
        f"Path={cookie['path']}",
        f"Domain={domain.removeprefix('.')}" if domain.startswith(".") else "",
        expiry,
        "Secure" if cookie["secure"] else "",
        "HttpOnly" if cookie["httpOnly"] else "",
        f"SameSite={cookie['sameSite']}",
    ]
    return "; ".join(part for part in parts if part)
