"""Listens for HTTP: on loopback, or elsewhere with TLS or behind a proxy that has it."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.executors.serving.errors import ServeError, missing_library

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

MAX_HEADER_BYTES = 64 * 1024
MAX_CONNECTIONS = 1_000
"""Further ones are answered with 503."""

STOP_S = 2
BACKLOG = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a server listens.

    Attributes:
        host: Address; everything but loopback needs a certificate, or ``is_behind_proxy``.
        port: 0 takes a free one.
        certificate: File with the certificate.
        key: File with its key, if that is another file.
        is_behind_proxy: Whether a proxy in front of the server has TLS.
    """

    host: str = "127.0.0.1"
    port: int = 8720
    certificate: Path | None = None
    key: Path | None = None
    is_behind_proxy: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        """``http``, or ``https`` with a certificate."""
        return "http" if self.certificate is None else "https"

    def bind(self) -> socket.socket:
        """Return a listening socket.

        Raises:
            ServeError: The address is taken or does not exist, or the token would travel without TLS.
        """
        if not (self.is_loopback or self.certificate or self.is_behind_proxy):
            raise ServeError(
                f"{self.host} can be reached from other machines, and the token would travel in the clear; "
                "give --tls-cert, or --behind-proxy if a proxy in front of this server has TLS"
            )
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, self.port))
            bound.listen(BACKLOG)
        except OSError as exc:
            bound.close()
            raise ServeError(
                f"cannot listen on {self.host}:{self.port}: {exc.strerror}; choose another --port or --host"
            ) from exc
        return bound

    def url(self, bound: socket.socket) -> str:
        """Return the address of a socket as a URL, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{bound.getsockname()[1]}"


async def serve_until_signal(app: ASGIApp, bound: socket.socket, listening: Listening) -> None:
    """Answer until SIGINT or SIGTERM; open streams are then cut, and their clients resume later.

    Args:
        app: The application, which has been started.
        bound: Its socket.
        listening: How it listens.

    Raises:
        ServeError: The certificate cannot be used.
    """
    loop, is_over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, is_over.set)
    async with serving(app, bound, listening):
        await is_over.wait()


@asynccontextmanager
async def serving(app: ASGIApp, bound: socket.socket, listening: Listening) -> AsyncIterator[None]:
    """Answer while the block runs. Arguments and errors as for :func:`serve_until_signal`."""
    server = _make_server(app, listening)
    task = asyncio.create_task(server.serve(sockets=[bound]), name="http-server")
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait([task])


def _make_server(app: ASGIApp, listening: Listening) -> uvicorn.Server:
    try:
        import uvicorn

        from agentic.executors.serving.connections import IDLE_S, PromptProtocol
    except ModuleNotFoundError as exc:
        raise missing_library(exc) from None

    class Quiet(uvicorn.Server):
        """Leaves signals to the process."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    # Neither the access log nor tracebacks of uvicorn: paths and errors are ours to mask.
    config = uvicorn.Config(
        app,
        http=PromptProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=STOP_S,
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
    )
    try:
        config.load()
    except OSError as exc:
        raise ServeError(
            f"the certificate {listening.certificate} cannot be used ({exc.strerror or exc}); check "
            "--tls-cert and --tls-key"
        ) from exc
    return Quiet(config)
