"""The cookies that sites set during a run: a jar for each site, without a login."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from agentic.core.http.sessions.cookies import CookieJar, registered_domain

MAX_SITES = 1_000
"""Sites whose cookies are kept; the one that was not used for the longest time goes first."""


class SiteCookies:
    """The cookies of a run in this process, in memory. Thread-safe.

    Each registered domain has its own jar, so that no site can fill or empty the jar of another one. The jar
    decides which hosts and paths of the site get a cookie (RFC 6265).
    """

    __slots__ = ("_jars", "_lock", "_through")

    def __init__(self) -> None:
        self._through: dict[str, SiteCookies] = {}
        self._jars: OrderedDict[str, CookieJar] = OrderedDict()
        self._lock = Lock()

    def through(self, proxy_id: str) -> SiteCookies:
        """Return the cookies of one of several proxies: to sites, each is another visitor."""
        with self._lock:
            return self._through.setdefault(proxy_id, SiteCookies())

    def header_for(self, url: str) -> str | None:
        """Return the ``Cookie`` field for a request to ``url``; None if no cookie matches."""
        if not self._jars:  # most sites need none
            return None
        site = registered_domain(url)
        with self._lock:
            jar = self._jars.get(site)
            if jar is None:
                return None
            self._jars.move_to_end(site)
        return jar.header_for(url)

    def store(self, url: str, set_cookies: Sequence[str]) -> None:
        """Store the ``Set-Cookie`` fields from ``url`` that it may set."""
        if not set_cookies:
            return
        with self._lock:
            jar = self._jars.setdefault(registered_domain(url), CookieJar())
            if len(self._jars) > MAX_SITES:
                self._jars.popitem(last=False)
        jar.store(url, set_cookies)

    def __repr__(self) -> str:
        return f"SiteCookies({len(self._jars)} sites)"
