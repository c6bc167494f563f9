"""Chooses the client library: loaded at its first use, and named in the error when it is missing."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import assert_never

from agentic.core.errors import SettingsError
from agentic.core.http.errors import HttpError
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.transports.port import Transport

EXTRAS = {"httpx2": "httpx2", "curl_cffi": "curl"}


class MissingTransportError(HttpError, ImportError):
    """The client library that a policy names is not installed."""

    def __init__(self, transport: str) -> None:
        super().__init__(
            f"the transport {transport!r} is not installed; "
            f"`pip install 'agentic-pipelines[{EXTRAS.get(transport, transport)}]'`"
        )
        self.transport = transport


def open_transport(policy: HttpPolicy) -> AbstractAsyncContextManager[Transport]:
    """Return the transport of ``policy``, to be used with ``async with``.

    Raises:
        MissingTransportError: Its library is not installed.
        SettingsError: The policy has several proxies.
    """
    if policy.proxies:
        raise SettingsError("a transport uses a single proxy; use open_fetcher for a policy with proxies")
    try:
        return _made(policy)
    except ImportError as exc:
        raise MissingTransportError(policy.transport) from exc


def _made(policy: HttpPolicy) -> AbstractAsyncContextManager[Transport]:
    match policy.transport:
        case "aiohttp":
            from agentic.core.http.transports.aiohttp_transport import AiohttpTransport

            return AiohttpTransport(policy)
        case "httpx2":
            from agentic.core.http.transports.httpx2_transport import Httpx2Transport

            return Httpx2Transport(policy)
        case "curl_cffi":
            from agentic.core.http.transports.curl_transport import CurlTransport

            return CurlTransport(policy)
        case _:
            assert_never(policy.transport)
