"""The parts of the API of Docker that a sandbox needs."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, cast

from agentic.core.sandbox.errors import SandboxError, SandboxUnavailableError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

API = "v1.41"
CALL_S = 60.0
_HEADER = struct.Struct(">BxxxI")
_MAX_ANSWER_BYTES = 1024 * 1024


class EngineError(SandboxError):
    """The engine refused a call."""

    def __init__(self, call: str, status: int, reason: str) -> None:
        super().__init__(f"the container engine refused {call} (HTTP {status}): {reason}")
        self.status = status
        self.reason = reason


class Engine:
    """A connection to a container engine.

    Args:
        url: ``unix:///path`` of its socket, or ``http://host:port`` of an engine on a network that is yours.
    """

    def __init__(self, url: str) -> None:
        scheme, mark, rest = url.partition("://")
        if not mark or scheme not in {"unix", "http", "https"} or not rest:
            raise SandboxUnavailableError(
                "docker",
                f"{url!r} is not an address of a container engine",
                "use unix:///var/run/docker.sock",
            )
        self.url = url
        self._socket = rest if scheme == "unix" else None
        self._base = "http://engine" if scheme == "unix" else url.rstrip("/")
        self._session: ClientSession | None = None

    async def call(self, method: Literal["GET", "POST", "DELETE"], path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """Call the engine and return its answer; None if that is empty.

        Raises:
            EngineError: It refused, or its answer is not JSON of at most 1 MiB.
            SandboxUnavailableError: It cannot be reached.
        """
        async with self._asked(method, path, content=_json(body)) as response:
            text = await _at_most(response, _MAX_ANSWER_BYTES)
            try:
                return json.loads(text) if text.strip() else None
            except ValueError as exc:
                raise EngineError(f"{method} {path}", response.status, "its answer is not JSON") from exc

    async def put(self, path: str, content: bytes) -> None:
        """Send an archive."""
        async with self._asked("PUT", path, content=content, content_type="application/x-tar"):
            pass

    @asynccontextmanager
    async def output(
        self, path: str, body: object
    ) -> AsyncGenerator[AsyncGenerator[tuple[int, bytes], None], None]:
        """Open a stream of output: pieces of stdout (1) and stderr (2)."""
        async with self._asked("POST", path, content=_json(body), is_long=True) as response:
            pieces = _pieces(response)
            try:
                yield pieces
            finally:
                await pieces.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @asynccontextmanager
    async def _asked(
        self,
        method: str,
        path: str,
        *,
        content: bytes = b"",
        content_type: str = "application/json",
        is_long: bool = False,
    ) -> AsyncGenerator[ClientResponse, None]:
        import aiohttp

        # A file is sent in pieces: aiohttp would send long bytes at once and hold up all else meanwhile.
        data, headers = (BytesIO(content), {"Content-Type": content_type}) if content else (None, None)
        timeout = aiohttp.ClientTimeout(total=None if is_long else CALL_S, sock_connect=CALL_S)
        try:
            async with self._opened().request(
                method, f"{self._base}/{API}{path}", timeout=timeout, data=data, headers=headers
            ) as response:
                if response.status >= 400:
                    raise EngineError(f"{method} {path}", response.status, await _reason(response))
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise SandboxUnavailableError(
                "docker", f"the engine at {self.url} does not answer: {type(exc).__name__}", "start it"
            ) from exc

    def _opened(self) -> ClientSession:
        if self._session is None:
            import aiohttp

            connector = (
                aiohttp.TCPConnector() if self._socket is None else aiohttp.UnixConnector(self._socket)
            )
            self._session = aiohttp.ClientSession(connector=connector, trust_env=False)
        return self._session


def _json(body: object) -> bytes:
    return b"" if body is None else json.dumps(body).encode()


async def _reason(response: ClientResponse) -> str:
    text = (await _at_most(response, 10_000)).decode("utf-8", "replace")
    try:
        said = cast("Mapping[str, object]", json.loads(text))
        return str(said["message"])[:400]
    except (ValueError, KeyError, TypeError):
        return text.strip()[:400]


async def _pieces(response: ClientResponse) -> AsyncGenerator[tuple[int, bytes], None]:
    content = response.content
    while header := await _exactly(response, _HEADER.size):
        stream, left = _HEADER.unpack(header)
        while left and (piece := await content.read(min(left, 65_536))):
            left -= len(piece)
            yield stream, piece


async def _exactly(response: ClientResponse, count: int) -> bytes:
    """Return ``count`` bytes; none if the answer ends before."""
    found = await _at_most(response, count)
    return found if len(found) == count else b""


async def _at_most(response: ClientResponse, count: int) -> bytes:
    """Return ``count`` bytes; fewer at the end of the answer. A read may return one piece of it."""
    found = bytearray()
    while len(found) < count and (piece := await response.content.read(count - len(found))):
        found += piece
    return bytes(found)
