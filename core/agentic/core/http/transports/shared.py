"""Shared connections, opened at the first use, closed when idle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from pydantic import SecretStr

from agentic.core.http.errors import MissingProxyError
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.transports.choice import open_transport
from agentic.core.http.transports.port import Transport

IDLE_S = 30.0
"""How long idle connections are kept."""


ReadSecret = Callable[[str], Awaitable[SecretStr]]
"""Reads a secret by its name."""


class SharedTransport:
    """Implements :class:`~agentic.core.http.Transport`; belongs to the event loop that uses it first.

    Args:
        policy: Limits and politeness.
        secret: Reads a secret by name, for a proxy that is a secret.
        idle_s: Idle connections are closed after this number of seconds; the next request opens new ones.
    """

    def __init__(
        self,
        policy: HttpPolicy,
        *,
        secret: ReadSecret | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        self._policy = policy
        self._secret = secret
        self._idle_s = idle_s
        self._transport: Transport | None = None
        self._opened = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._users = 0
        self._idle: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        """See :meth:`Transport.send`."""
        self._users += 1
        self._keep_open()
        try:
            transport = self._transport or await self._open()
            return await transport.send(request, timeout_s=timeout_s, max_bytes=max_bytes)
        finally:
            self._users -= 1
            if not self._users:
                self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._let_go)

    async def aclose(self) -> None:
        """Close the connections."""
        self._keep_open()
        self._let_go()
        await asyncio.gather(*self._closing)

    async def _open(self) -> Transport:
        async with self._opening:
            if self._transport is None:
                policy = await whole_policy(self._policy, self._secret)
                self._transport = await self._opened.enter_async_context(open_transport(policy))
            return self._transport

    def _keep_open(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _let_go(self) -> None:
        """Close the connections; requests meanwhile open new ones."""
        opened, self._opened, self._transport = self._opened, AsyncExitStack(), None
        closing = asyncio.create_task(opened.aclose(), name="idle-connections")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


async def whole_policy(policy: HttpPolicy, secret: ReadSecret | None) -> HttpPolicy:
    """Return a policy with the proxy itself, if it only names the secret of the proxy.

    Raises:
        MissingProxyError: Secrets cannot be read.
    """
    name = policy.proxy_secret
    if name is None:
        return policy
    if secret is None:
        raise MissingProxyError(name)
    return HttpPolicy.model_validate({**dict(policy), "proxy": await secret(name)})
