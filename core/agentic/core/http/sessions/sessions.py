"""Sessions: the headers and cookies of a login, and where they may go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from agentic.core.http.guard.hosts import HostSet
from agentic.core.http.sessions.cookies import CookieJar
from agentic.core.http.urls import DEFAULT_PORTS
from agentic.core.types import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSession:
    """A login, separate from the requests that use it. Its values are never shown.

    The cookies are the only part that changes: answers set them.

    Attributes:
        name: Its name for references.
        hosts: ``host`` (any port) or ``host:port``; ``headers`` go nowhere else.
        headers: Sent with each request to those hosts.
        cookies: Sent where their own rules allow.
        storage: A browser's local storage; None without one.
        keeps_answers: Its answers may be kept, for sessions of the same name. They are always revalidated, so
            a user who has lost access does not see a kept answer.
    """

    name: str
    hosts: frozenset[str] = frozenset()
    headers: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)
    cookies: CookieJar = field(default_factory=CookieJar)
    storage: JSONValue = field(default=None, repr=False)
    keeps_answers: bool = False

    def headers_for(self, url: str, *, is_secure: bool = False) -> dict[str, str]:
        """Return the fields for a request to ``url``, including ``cookie``. The values are secret.

        Args:
            url: The URL of the request.
            is_secure: The first URL of the fetch was https: ``headers`` then do not go to plain http.
        """
        found: dict[str, str] = {}
        if self._takes_headers(urlsplit(url), is_secure):
            found = {name.lower(): value.get_secret_value() for name, value in self.headers.items()}
        if cookie := self.cookies.header_for(url):
            found["cookie"] = cookie
        return found

    def _takes_headers(self, parts: SplitResult, is_secure: bool) -> bool:
        if is_secure and parts.scheme != "https":
            return False
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
        return HostSet(self.hosts).names(parts.hostname or "", port)
