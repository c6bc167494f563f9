"""Ways to a server: a process, HTTP, or an object in this process."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

STDERR_CHARS = 2_000
CONNECT_TIMEOUT_S = 30.0
STREAM_TIMEOUT_S = 300.0
"""The longest silence of a server that streams an answer."""


class ServerWay(ABC):
    """A way to a server."""

    label: str = ""

    @abstractmethod
    def target(self) -> Any:  # noqa: ANN401  # one of the kinds that the SDK's client takes
        """Return the target of a client of the SDK: a transport or a server object, for one connection."""

    def last_words(self) -> str:
        """Return facts that explain the end of a connection."""
        return ""


class ObjectWay(ServerWay):
    """A server, or a transport factory, in this process.

    Args:
        server: The server of the SDK.
    """

    def __init__(self, server: Any) -> None:  # noqa: ANN401  # of the SDK
        self._server = server
        self.label = str(getattr(server, "name", "") or type(server).__name__)

    def target(self) -> Any:  # noqa: ANN401
        """Return the server."""
        return self._server


class HttpWay(ServerWay):
    """A server at a URL.

    Args:
        url: The URL.
        headers: Sent with each request.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.label = url.partition("?")[0]
        self._url = url
        self._headers = dict(headers)
        self._status = 0

    def target(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Return a transport with a client of its own."""
        return self._opened()

    def last_words(self) -> str:
        """Return the last refusal of the server."""
        hints = {401: "; check its token", 403: "; check its token", 404: "; check its URL"}
        return f"HTTP {self._status}{hints.get(self._status, '')}" if self._status else ""

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[TransportStreams]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=STREAM_TIMEOUT_S)
        hooks = {"response": [self._seen]}
        async with (
            httpx2.AsyncClient(headers=self._headers, timeout=timeout, event_hooks=hooks) as http,
            streamable_http_client(self._url, http_client=http) as streams,
        ):
            yield streams

    async def _seen(self, response: Any) -> None:  # noqa: ANN401  # of httpx2
        self._status = response.status_code if response.status_code >= 400 else 0


class ProcessWay(ServerWay):
    """A program that speaks on its standard input and output.

    It gets no environment but a path, a home and a few like them, and ``env``.

    Args:
        command: The program and its arguments.
        env: More of its environment.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.label = Path(command[0]).name
        self._command = tuple(command)
        self._env = dict(env)
        self._said: deque[str] = deque(maxlen=STDERR_CHARS)

    def target(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Return a transport that starts the program."""
        return self._opened()

    def last_words(self) -> str:
        """Return the end of the standard error of the program."""
        said = " ".join("".join(self._said).split())
        return f"its last words were: {said[-300:]}" if said else ""

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[TransportStreams]:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        program = StdioServerParameters(
            command=self._command[0], args=list(self._command[1:]), env=self._env or None
        )
        self._said.clear()
        with _Listening(self._said) as errors:
            async with stdio_client(program, errlog=errors) as streams:
                yield streams


class _Listening:
    """Reads the standard error of a program as it comes, so that the program never blocks on it."""

    def __init__(self, said: deque[str]) -> None:
        self._said = said

    def __enter__(self) -> Any:  # noqa: ANN401  # a file, as the SDK wants it
        self._end, written = os.pipe()
        os.set_blocking(self._end, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._end, self._read)
        self._file = os.fdopen(written, "w")
        return self._file

    def __exit__(self, *_: object) -> None:
        self._read()
        self._loop.remove_reader(self._end)
        self._file.close()
        os.close(self._end)

    def _read(self) -> None:
        try:
            data = os.read(self._end, 65_536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._end)
        self._said.extend(data.decode(errors="replace"))
