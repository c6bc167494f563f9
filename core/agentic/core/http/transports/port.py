"""The port between the fetcher and an HTTP client library."""

from __future__ import annotations

from typing import Protocol

from agentic.core.http.messages import HttpRequest, HttpResponse

PROXY_LOGIN = 407
NO_PROXY_NAME = "the proxy's name cannot be resolved"
NO_PROXY = "no connection to the proxy"
NO_LOGIN = f"the proxy refused with status {PROXY_LOGIN}; check its user name and password"


class Transport(Protocol):
    """Sends one request and reads one answer: no redirects, no waiting, no check of the status.

    An implementation keeps connections open between requests, checks every address it connects to with an
    :class:`~agentic.core.http.guard.addresses.AddressGuard`, ignores proxy settings of the environment and
    keeps no cookies.
    """

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        """Return the answer with any status.

        Args:
            request: The request; a user agent is added if it has none.
            timeout_s: From connecting to the last byte.
            max_bytes: Largest body after decompression; reading stops there.

        Raises:
            FetchError: ``timeout``, ``dns``, ``connect``, ``tls``, ``private_address``, ``too_large``,
                ``decode`` or ``invalid_url``.
        """
        ...
