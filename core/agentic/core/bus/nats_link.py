"""One connection to NATS: made when needed, made again when lost, and clear about why it does not work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import nats
import nats.errors
from nats.aio.client import Client
from nats.js.errors import ServiceUnavailableError

from agentic.core.bus.errors import BusUnavailableError
from agentic.core.bus.nats_stream import MIN_API_LEVEL, ensure_stream
from agentic.core.logging import get_logger

log = get_logger(__name__)

NATS_FAULTS = (nats.errors.Error, OSError)
"""Everything the client raises when a server is away, slow or unwilling."""


class NatsLink:
    """Holds the client of one event loop.

    Attributes:
        reconnect_count: How often the connection came back; what the server kept in memory may be gone.
    """

    def __init__(self, url: str) -> None:
        self.reconnect_count = 0
        self._url = url
        self._client: Client | None = None
        self._has_stream = False
        self._last_error = ""
        self._connecting = asyncio.Lock()
        self._is_closing = False
        self._guards: set[asyncio.Timeout] = set()

    async def client(self) -> Client:
        """Return a connected client, with the stream in place.

        Raises:
            BusUnavailableError: There is no usable connection now. While a lost one is being made again this
                is raised at once: the client would take messages, but not tell what becomes of them.
        """
        async with self._connecting:
            if self._is_closing:
                raise BusUnavailableError(self._url, "this bus was closed")
            if self._client is None or self._client.is_closed:
                self._client = await self._connect()
                self._has_stream = False
            if not self._client.is_connected:
                raise BusUnavailableError(self._url, self._last_error or "the connection was lost")
            if not self._has_stream:
                await self._prepare(self._client)
                self._has_stream = True
            return self._client

    @asynccontextmanager
    async def requesting(self) -> AsyncGenerator[Client, None]:
        """Give a client for requests, and end the block as soon as the connection is lost.

        The client by itself lets requests of a lost connection wait until their time is over.

        Raises:
            BusUnavailableError: For whatever goes wrong with the connection in the block.
        """
        client = await self.client()
        try:
            async with asyncio.timeout(None) as guard:
                self._guards.add(guard)
                try:
                    yield client
                finally:
                    self._guards.discard(guard)
        except NATS_FAULTS as exc:
            raise self.failed(exc) from exc

    def failed(self, fault: Exception) -> BusUnavailableError:
        """Return the error that tells of ``fault``, and have the stream looked at before the next use."""
        self._has_stream = False
        reason = str(fault) or self._last_error or type(fault).__name__
        # A permission refused reaches the caller as a mere timeout; the reason comes on the side.
        if self._last_error and self._last_error not in reason:
            reason = f"{reason} (last error: {self._last_error})"
        return BusUnavailableError(self._url, reason)

    async def aclose(self) -> None:
        """Close the connection."""
        self._is_closing = True
        if self._client is not None:
            await self._client.close()

    async def _connect(self) -> Client:
        self._last_error = ""
        try:
            client = await nats.connect(
                servers=[server.strip() for server in self._url.split(",")],
                name="agentic",
                connect_timeout=2,
                reconnect_time_wait=0.25,
                max_reconnect_attempts=1,
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnected,
                reconnected_cb=self._on_reconnected,
            )
        except NATS_FAULTS as exc:
            raise self.failed(exc) from exc
        # One limit serves the first connection, which should fail soon, and later ones, which should not.
        client.options["max_reconnect_attempts"] = -1
        self._last_error = ""
        return client

    async def _prepare(self, client: Client) -> None:
        try:
            level = (await client.jetstream().account_info()).api.level or 0
            if level >= MIN_API_LEVEL:
                await ensure_stream(client)
                return
        except ServiceUnavailableError as exc:
            raise BusUnavailableError(self._url, "JetStream is not available there") from exc
        except NATS_FAULTS as exc:
            raise self.failed(exc) from exc
        found = client.connected_server_version
        raise BusUnavailableError(
            self._url, f"it runs version {found.major}.{found.minor}, and 2.12 or newer is needed"
        )

    async def _on_error(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        log.debug("bus.faulted", error=text)
        # While connecting the first error tells most: later ones only say that the server hung up.
        if not (self._connecting.locked() and self._last_error):
            self._last_error = text

    async def _on_disconnected(self) -> None:
        guards, self._guards = self._guards, set()
        for guard in guards:
            guard.reschedule(asyncio.get_running_loop().time())
        if not self._is_closing:
            log.warning("bus.disconnected", error=self._last_error or "the server closed the connection")

    async def _on_reconnected(self) -> None:
        self.reconnect_count += 1
        self._last_error = ""
        log.warning("bus.reconnected")
