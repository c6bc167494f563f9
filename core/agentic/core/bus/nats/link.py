"""One connection to NATS: opened when needed, opened again when lost, with clear errors."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import nats.errors
from nats.aio.client import Client
from nats.js.api import StreamConfig
from nats.js.errors import APIError, ServiceUnavailableError

from agentic.core.bus.errors import BusDeniedError, BusUnavailableError
from agentic.core.bus.nats import load_websockets
from agentic.core.bus.nats.access import NatsAccess
from agentic.core.bus.nats.streams import MIN_API_LEVEL, ensure_stream, name_of
from agentic.core.logging import get_logger

log = get_logger(__name__)

_NO_ROOM = 10047
_DENIED = "permissions violation"

_CONNECT_S = 5.0
"""Two attempts per server. If a certificate is refused, the client never stops closing the connection."""

_PREPARE_S = 2.0
"""A server that just started accepts connections before JetStream answers; earlier messages are lost."""

_CLOSE_S = 5.0
"""When closing, the client waits forever for a server that does not read."""

NATS_FAULTS = (nats.errors.Error, OSError)
"""All errors of the client about an unavailable, slow or unwilling server."""

_HUNG_UP = (BrokenPipeError, ConnectionResetError, nats.errors.UnexpectedEOF)


class NatsLink:
    """Holds the client of one event loop.

    Attributes:
        has_been_connected: Whether there was a connection before.
        last_error: The last complaint of the server or the client.
        reconnect_count: How often the connection came back; the server's memory may be gone.
    """

    def __init__(self, url: str, access: NatsAccess | None = None) -> None:
        self.has_been_connected = False
        self.reconnect_count = 0
        self._url = url
        self._access = access or NatsAccess()
        self._client: Client | None = None
        self._prepared: set[str] = set()
        self.last_error = ""
        self._connecting = asyncio.Lock()
        self._is_closing = False
        self._guards: set[asyncio.Timeout] = set()

    async def client(self, stream: StreamConfig | None = None) -> Client:
        """Return a connected client, with the stream in place if one is needed.

        Raises:
            BusUnavailableError: The connection is not usable now. During a reconnect this is raised at
                once: the client would accept messages, but not report their result.
        """
        async with self._connecting:
            if self._is_closing:
                raise BusUnavailableError(self._url, "this bus was closed")
            if self._client is None or self._client.is_closed:
                self._client = await self._connect()
                self._prepared.clear()
            if not self._client.is_connected:
                raise BusUnavailableError(self._url, self.last_error or "the connection was lost")
            if stream is not None and name_of(stream) not in self._prepared:
                await self._prepare(self._client, stream)
                self._prepared.add(name_of(stream))
            return self._client

    @asynccontextmanager
    async def requesting(self, stream: StreamConfig | None = None) -> AsyncGenerator[Client, None]:
        """Yield a client for requests, and end the block as soon as the connection is lost.

        Without this, requests of a lost connection wait until their timeout.

        Raises:
            BusUnavailableError: For any fault of the connection in the block.
        """
        client = await self.client(stream)
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
        """Return the error for ``fault``, and check all streams before the next use."""
        self._prepared.clear()
        # The caller sees a refused permission only as a timeout; the reason arrives separately.
        if _DENIED in self.last_error.lower():
            denied, self.last_error = self.last_error, ""
            return BusDeniedError(self._url, denied)
        reason = str(fault) or self.last_error or type(fault).__name__
        if self.last_error and self.last_error not in reason:
            reason = f"{reason} (last error: {self.last_error})"
        return BusUnavailableError(self._url, reason)

    def _lacks_certificate(self, error: Exception) -> bool:
        """Whether the server may have ended a TLS handshake because this client has no certificate.

        It says so only after the handshake. A client that is quicker to write finds a closed connection
        instead, and never reads the reason.
        """
        is_secured = self._access.ca_file is not None or "tls://" in self._url
        if not is_secured or self._access.cert_file is not None:
            return False
        if isinstance(error, ssl.SSLError):
            return "CERTIFICATE_REQUIRED" in (error.reason or "")
        return self._connecting.locked() and isinstance(error, _HUNG_UP)

    async def aclose(self) -> None:
        """Close the connection; a server that does not read delays this for a few seconds at most."""
        self._is_closing = True
        if self._client is not None:
            # Not `asyncio.timeout`: the client swallows a cancellation while it ends a reconnection.
            closing = asyncio.ensure_future(self._client.close())
            try:
                done, _ = await asyncio.wait({closing}, timeout=_CLOSE_S)
            finally:
                closing.cancel()
            if done:
                await closing
            else:
                log.warning("bus.not_closed", after_s=_CLOSE_S)

    async def _connect(self) -> Client:
        self.last_error = ""
        # nats-py says "whole seconds", and takes parts of them.
        options = {"reconnect_time_wait": 0.25, **self._access.options()}
        servers = [server.strip() for server in self._url.split(",")]
        if any(server.startswith(("ws://", "wss://")) for server in servers):
            load_websockets()
        client = ListeningClient()
        try:
            async with asyncio.timeout(_CONNECT_S * len(servers)):
                await client.connect(
                    servers=servers,
                    name="agentic",
                    connect_timeout=2,
                    max_reconnect_attempts=1,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_reconnected,
                    **options,
                )
        except NATS_FAULTS as exc:
            raise self.failed(exc) from exc
        # One limit is for the first connection, which should fail soon, and for later ones, which should not.
        client.options["max_reconnect_attempts"] = -1
        self.has_been_connected = True
        self.last_error = ""
        return client

    async def _prepare(self, client: Client, stream: StreamConfig) -> None:
        try:
            level = (await client.jetstream(timeout=_PREPARE_S).account_info()).api.level or 0
            if level >= MIN_API_LEVEL:
                await ensure_stream(client, stream)
                return
        except ServiceUnavailableError as exc:
            raise BusUnavailableError(self._url, "JetStream is not available there") from exc
        except APIError as exc:
            if exc.err_code != _NO_ROOM:
                raise self.failed(exc) from exc
            reason = "it has no space for another stream; give each project 2 GiB of max_file in `jetstream`"
            raise BusUnavailableError(self._url, reason) from exc
        except NATS_FAULTS as exc:
            raise self.failed(exc) from exc
        found = client.connected_server_version
        raise BusUnavailableError(
            self._url, f"it runs version {found.major}.{found.minor}, but 2.12 or newer is needed"
        )

    async def _on_error(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        log.debug("bus.faulted", error=text)
        if self._lacks_certificate(error):
            text = f"{text}; it may require a client certificate: set AGENTIC_NATS_CERT_FILE"
        # While connecting, the first error says most: later ones only say that the server hung up. But a
        # client without a certificate gets that error first, and the reason after it.
        is_late = self._connecting.locked() and self.last_error
        if not is_late or isinstance(error, ssl.SSLError):
            self.last_error = text

    async def _on_disconnected(self) -> None:
        guards, self._guards = self._guards, set()
        for guard in guards:
            guard.reschedule(asyncio.get_running_loop().time())
        if not self._is_closing:
            log.warning("bus.disconnected", error=self.last_error or "the server closed the connection")

    async def _on_reconnected(self) -> None:
        self.reconnect_count += 1
        self.last_error = ""
        log.warning("bus.reconnected")


class ListeningClient(Client):
    """Reads on after a late pong, and connects again when its reader ends for another reason.

    The client of nats-py (2.16) gives a result to each ping that the server answers. If its caller stopped
    waiting before (a timeout, a cancelled task), this is an error, and any unforeseen error ends the reader
    for good. Such a connection sends, but hears nothing, until unanswered pings end it minutes later.
    """

    async def _process_pong(self) -> None:
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()

    async def _read_loop(self) -> None:
        await super()._read_loop()
        task = asyncio.current_task()
        was_cancelled = task is not None and task.cancelling() > 0
        if self.is_connected and self._reading_task is task and not was_cancelled:
            await self._process_op_err(nats.errors.UnexpectedEOF())
