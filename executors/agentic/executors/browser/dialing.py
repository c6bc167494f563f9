"""Connects to hosts, only at allowed addresses."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import SecretStr

from agentic.core.http import AddressGuard, FailureClass
from agentic.core.http.errors import PROXY, PrivateAddressError
from agentic.core.http.transports.port import NO_LOGIN, NO_PROXY, PROXY_LOGIN
from agentic.core.http.transports.wire import Resolver

CONNECT_S = 10.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Refused(Exception):  # noqa: N818 - the outcome of a call, which never leaves this package
    """A connection was refused; ``detail`` is as in :class:`~agentic.core.http.FetchError`."""

    def __init__(self, failure_class: FailureClass, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.detail = detail
        self.failure_class = failure_class
        self.reason = reason


class Dialer:
    """Connects one page to hosts.

    Args:
        guard: Decides which addresses are allowed.
        proxy: The proxy for all connections, if any; it then resolves names, and only hosts that are
            private by themselves can be refused here.
    """

    def __init__(self, guard: AddressGuard, proxy: SecretStr | None = None) -> None:
        self._guard = guard
        self._proxy = proxy
        self._resolver = Resolver(guard)

    async def connect(self, host: str, port: int) -> Connection:
        """Return a direct connection to ``host``, at its first allowed address that answers.

        Raises:
            Refused: No address is allowed and answers.
        """
        try:
            self._guard.check_host(host, port, is_proxied=self._proxy is not None)
            if self._proxy is not None:
                return await _through(urlsplit(self._proxy.get_secret_value()), host, port)
            addresses = await self._resolver.addresses(host, port)
        except PrivateAddressError as exc:
            raise Refused(FailureClass.PRIVATE_ADDRESS, str(exc)) from exc
        except (OSError, UnicodeError) as exc:
            reason = f"{host!r} cannot be resolved ({getattr(exc, 'strerror', exc)}); check its spelling"
            raise Refused(FailureClass.DNS, reason) from exc
        return await _first_to_answer(addresses, port)


async def _first_to_answer(addresses: list[str], port: int) -> Connection:
    last: OSError = OSError("it has no address")
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_S):
                return await asyncio.open_connection(address, port)
        except OSError as exc:  # a TimeoutError is one, too
            last = exc
    raise Refused(FailureClass.CONNECT, f"no connection: {_why(last)}") from last


async def _through(proxy: SplitResult, host: str, port: int) -> Connection:
    """Return a connection that the user's proxy makes."""
    try:
        async with asyncio.timeout(CONNECT_S):
            is_secure = True if proxy.scheme == "https" else None
            reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port, ssl=is_secure)
            writer.write(_wish(proxy, f"[{host}]:{port}" if ":" in host else f"{host}:{port}"))
            status = (await reader.readuntil(b"\r\n\r\n")).split(maxsplit=2)[1].decode("ascii")
    except (OSError, EOFError, ValueError, IndexError, asyncio.LimitOverrunError) as exc:
        raise Refused(FailureClass.CONNECT, f"{NO_PROXY}: {_why(exc)}", PROXY) from exc
    if status == "200":
        return reader, writer
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    if status == str(PROXY_LOGIN):
        raise Refused(FailureClass.CONNECT, NO_LOGIN, PROXY)
    raise Refused(FailureClass.CONNECT, f"the proxy refused with status {status}")


def _wish(proxy: SplitResult, place: str) -> bytes:
    pair = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    credential = f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{credential if pair != ':' else ''}\r\n".encode()


def _why(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return f"no answer within {CONNECT_S:g} s"
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
